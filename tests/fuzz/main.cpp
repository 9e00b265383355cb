// One libFuzzer program per target: FA_FUZZ_TARGET is the function of targets.h.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fa::fuzz::FA_FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
