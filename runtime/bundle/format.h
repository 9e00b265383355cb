// A bundle's bytes (docs/bundles.md): a header, a manifest in JSON, the cubins. Nothing is believed before
// its checksum has been.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fa/bundle.h"
#include "runtime/cuda/binary.h"

namespace fa {

/// A kernel's backward pass.
struct BundleBackward {
  std::string plan;
  Binary binary;
};

struct BundleKernel {
  std::size_t spec = 0;  // which of the bundle's
  std::string arch;      // what the cubin was built for: "sm_80"
  std::string plan;
  Binary binary;
  std::optional<BundleBackward> backward = {};
};

/// All that a bundle carries.
struct BundleContents {
  std::string facet;        // the version that built it: "0.1.0"
  int nvrtc = 0;            // 1300 for 13.0
  std::vector<Spec> specs;  // read back, they are without hooks
  std::vector<BundleKernel> kernels;
};

/// A cubin and the kernel that it is of.
struct BundleImage {
  Binary* binary = nullptr;
  std::size_t kernel = 0;
};
/// In the order in which they lie in the file: a kernel's, then that of its backward pass.
std::vector<BundleImage> images_of(BundleContents& contents);

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
