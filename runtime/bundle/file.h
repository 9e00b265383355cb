// Bundles as files: found, read, written.
#pragma once

#include <string>

#include "runtime/bundle/format.h"

namespace fa {

/// The file's name in a folder.
constexpr std::string_view kBundleFile = "kernels.facet-bundle";

/// The file that `path` names: itself, or the one in the folder that it is.
std::string bundle_file(const std::string& path);

/// Reads a bundle's file: its header, then its manifest, then the cubins, so that no more is read than the
/// part before it has vouched for. Throws BundleError, its message beginning with `path`.
BundleContents read_bundle(const std::string& path);

/// Writes a bundle to what `path` names (runtime/system/output.h); a folder (or a path that ends in '/', which is
/// made) takes it under kBundleFile. Returns the file's path. Throws Error where the disk refuses, and
/// InternalError, with nothing written, where the bundle would not be read back.
std::string write_bundle(const std::string& path, const BundleContents& contents);

}  // namespace fa
