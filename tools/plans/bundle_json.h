// What the reports of `facet build` and `facet bundle` have in common.
#pragma once

#include <nlohmann/json.hpp>

#include "runtime/bundle/format.h"

namespace fa::tools {

inline nlohmann::json binary_json(const std::string& plan, const Binary& binary) {
  return {{"plan", plan},
          {"registers", binary.registers},
          {"spill_bytes", binary.spill_bytes},
          {"cubin_bytes", binary.image.size()}};
}

/// The plans for calls of their own; empty for a kernel with one plan.
inline nlohmann::json buckets_json(const BundleKernel& kernel) {
  nlohmann::json buckets = nlohmann::json::array();
  for (const BundleBucket& bucket : kernel.buckets) {
    buckets.push_back(binary_json(bucket.plan, bucket.binary));
    buckets.back()["calls"] = bucket.bucket.print();
  }
  return buckets;
}

/// The backward pass; null for a kernel that was built without.
inline nlohmann::json backward_json(const BundleKernel& kernel) {
  return kernel.backward ? binary_json(kernel.backward->plan, kernel.backward->binary) : nlohmann::json();
}

}  // namespace fa::tools
