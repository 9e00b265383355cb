// What the reports of `facet build` and `facet bundle` have in common.
#pragma once

#include <nlohmann/json.hpp>

#include "runtime/bundle/format.h"

namespace fa::tools {

/// The plans for calls of their own; empty for a kernel with one plan.
inline nlohmann::json buckets_json(const BundleKernel& kernel) {
  nlohmann::json buckets = nlohmann::json::array();
  for (const BundleBucket& bucket : kernel.buckets)
    buckets.push_back({{"calls", bucket.bucket.print()},
                       {"plan", bucket.plan},
                       {"registers", bucket.binary.registers},
                       {"spill_bytes", bucket.binary.spill_bytes},
                       {"cubin_bytes", bucket.binary.image.size()}});
  return buckets;
}

}  // namespace fa::tools
