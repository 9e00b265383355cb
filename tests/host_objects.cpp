// Host kernels' machine code that is the same in every suite. What a test compiles for the CPU is emitted by the code under test,
// in either suite; LLVM then makes the object, which takes most of such a test's time, is not ours to sanitise, and is the same for
// the same IR. The linker leads every call of host_object here (--wrap in CMakeLists.txt).
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/host/jit.h"
#include "runtime/system/hash.h"
#include "tests/build_once.h"

namespace fa::tests {

std::string compiled(HostIr code) __asm__("__real_" FA_HOST_OBJECT);
std::string shared(HostIr code) __asm__("__wrap_" FA_HOST_OBJECT);

namespace {

/// Decides the object's bytes.
std::string key_of(const HostIr& code) {
  const std::string text = code.print();
  const std::string_view texts[] = {"host object", llvm_version(),    code.cpu.triple,
                                    code.cpu.name, code.cpu.features, text};
  return hash_texts(texts).hex();
}

}  // namespace

std::string shared(HostIr code) {
  if (std::getenv("FA_TEST_BUILDS") == nullptr) return compiled(std::move(code));
  const std::string key = key_of(code);
  return make_once(key, [&] { return compiled(std::move(code)); });
}

}  // namespace fa::tests
