// Builds that are the same in every suite: what NVRTC, g++ and LLVM do takes long, is not ours to sanitise, and is the same
// whichever suite asks for it.
#pragma once

#include <functional>
#include <string>

#include "compiler/emit/cuda/source.h"
#include "runtime/build/nvrtc.h"

namespace fa::tests {

/// What `make` returns, which `key` stands for. It is called once by all tests of all processes that share the folder
/// FA_TEST_BUILDS, as the suites that scripts/test runs beside each other do: who comes second waits for the first and reads
/// what that one made. Without the folder every call makes it. What it throws is thrown, and nothing is kept.
std::string make_once(const std::string& key, const std::function<std::string()>& make);

/// What build_source says of `source`: its log and figures, with "built" for a cubin; throws its BuildError. Each source
/// is compiled once (make_once).
Built build_once(const Source& source);

}  // namespace fa::tests
