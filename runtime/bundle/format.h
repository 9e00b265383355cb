// A bundle's bytes (docs/bundles.md): a header, a manifest in JSON, the cubins. Nothing is believed before
// its checksum has been.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/program/bucket.h"
#include "fa/bundle.h"
#include "runtime/cuda/binary.h"

namespace fa {

/// A plan for the calls of one bucket.
struct BundleBucket {
  Bucket bucket;
  std::string plan;
  Binary binary;
};

/// A kernel's backward pass.
struct BundleBackward {
  std::string plan;
  Binary binary;
};

struct BundleKernel {
  std::size_t spec = 0;  // which of the bundle's
  std::string arch;      // what the cubins were built for: "sm_80"
  std::string plan;      // for all calls that no bucket holds
  Binary binary;
  std::vector<BundleBucket> buckets =
      {};  // of calls that have other plans; the first that holds a call counts
  std::optional<BundleBackward> backward = {};
};

/// Calls `take` with each of a kernel's binaries, in the order in which a bundle has them.
template <class Kernel, class Take>
void for_each_binary(Kernel& kernel, Take take) {
  take(kernel.binary);
  for (auto& bucket : kernel.buckets) take(bucket.binary);
  if (kernel.backward) take(kernel.backward->binary);
}

/// All that a bundle carries.
struct BundleContents {
  std::string facet;        // the version that built it: "0.1.0"
  int nvrtc = 0;            // 1300 for 13.0
  std::vector<Spec> specs;  // read back, they are without hooks
  std::vector<BundleKernel> kernels;
};

/// The file's bytes.
std::string encode_bundle(const BundleContents& contents);

/// Where the manifest ends, of which a file begins with `start` (64 bytes, or all that it has) and has
/// `bytes`. Throws BundleError where this is no bundle, or not of this size.
std::uint64_t manifest_end(std::string_view start, std::uint64_t bytes, const std::string& path);
/// Checks the manifest of which a file begins with `start`, up to manifest_end. Throws BundleError.
void check_manifest(std::string_view start, const std::string& path);

/// The contents of a file's bytes. Throws BundleError, its message beginning with `path`, where they are not
/// exactly what encode_bundle wrote.
BundleContents decode_bundle(std::string_view bytes, const std::string& path);

}  // namespace fa
