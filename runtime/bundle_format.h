// A bundle's bytes (docs/bundles.md): a header, a manifest in JSON, the cubins. Nothing is believed before
// its checksum has been.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fa/bundle.h"
#include "runtime/binary.h"

namespace fa {

/// The file's name in a folder.
constexpr std::string_view kBundleFile = "kernels.facet-bundle";

struct BundleKernel {
  std::size_t spec = 0;  // which of the bundle's
  std::string arch;      // what the cubin was built for: "sm_80"
  std::string plan;
  Binary binary;
};

/// All that a bundle carries.
struct BundleContents {
  std::string facet;        // the version that built it: "0.1.0"
  int nvrtc = 0;            // 1300 for 13.0
  std::vector<Spec> specs;  // read back, they are without hooks
  std::vector<BundleKernel> kernels;
};

/// The file's bytes.
std::string encode_bundle(const BundleContents& contents);

/// The contents of a file's bytes. Throws BundleError, its message beginning with `path`, where they are not
/// exactly what encode_bundle wrote.
BundleContents decode_bundle(std::string_view bytes, const std::string& path);

/// Writes a bundle to a file, whole or not at all; a folder (or a path that ends in '/', which is made) takes
/// it under kBundleFile. Returns the file's path. Throws Error where the disk refuses.
std::string write_bundle(const std::string& path, const BundleContents& contents);

}  // namespace fa
