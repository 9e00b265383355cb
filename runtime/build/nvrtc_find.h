// Finds NVIDIA's run-time compiler on this machine. Looks at files only; nothing is loaded.
#pragma once

#include <string>
#include <vector>

#include "runtime/system/options.h"

namespace fa {

/// The folders looked in, best first, with what to call each in a message.
std::vector<std::string> nvrtc_folders(const GetEnv& get);

/// The result of a search. `library` is empty where nothing was found; then `problem` says what was looked
/// for, where, and how to get it.
struct NvrtcSearch {
  std::string library;  // a path, or a bare name where only the system's loader knows the folder
  std::string problem;
};

/// `forced`: FA_NVRTC, a library or its folder; then nothing else is looked at.
NvrtcSearch find_nvrtc(const std::string& forced, const GetEnv& get);

/// The process' NVRTC; searched for once.
const NvrtcSearch& nvrtc_search();

/// Its library. Throws ArgumentError where FA_NVRTC names none, BuildError where none was found.
const std::string& nvrtc_library();

/// Identifies an NVRTC without loading it, which would take longer than a whole hit in the disk cache: the
/// real path's name, size and time of change.
std::string nvrtc_identity(const std::string& library);

}  // namespace fa
