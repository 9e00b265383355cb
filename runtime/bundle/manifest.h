// The manifest of a bundle: JSON text from its contents and back, the cubins by place and checksum.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/bundle/format.h"
#include "runtime/system/hash.h"

namespace fa {

/// The place of a cubin in the file. Its offset is from the byte after the manifest's padding.
struct ImagePlace {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  Key check;
};

struct Manifest {
  BundleContents contents;         // images empty
  std::vector<ImagePlace> places;  // one a cubin, as for_each_binary has them
};

std::string print_manifest(const BundleContents& contents, const std::vector<ImagePlace>& places);

/// Throws BundleError that names the field: "PATH: manifest: kernels[3].threads: ...".
Manifest parse_manifest(std::string_view text, const std::string& path);

}  // namespace fa
