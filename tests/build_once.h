// Builds that are the same in every suite: NVRTC's work is long, not ours to sanitise, and the same whichever suite asks for it.
#pragma once

#include "compiler/emit/cuda/source.h"
#include "runtime/build/nvrtc.h"

namespace fa::tests {

/// What build_source says of `source`: its log and figures, with "built" for a cubin; throws its BuildError. Each source
/// is compiled once by all tests of all processes that share the folder FA_TEST_BUILDS, as the suites that scripts/test
/// runs beside each other do: who comes second waits for the first and reads what NVRTC said. Without the folder every
/// call compiles.
Built build_once(const Source& source);

}  // namespace fa::tests
