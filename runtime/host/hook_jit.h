// Runs the functions of a HookIr on this machine, one call at a time: for commands and tests that ask about
// single elements or tiles outside a kernel (explain, check). Kernels are host_jit's.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "compiler/ir/module.h"

namespace fa {

/// One argument or result: an i32, a float or a pointer in eight bytes.
struct Slot {
  std::uint64_t bits = 0;

  static Slot of(std::int32_t value) { return from(value); }
  static Slot of(float value) { return from(value); }
  static Slot of(const void* value) { return from(value); }
  std::int32_t i32() const { return static_cast<std::int32_t>(static_cast<std::uint32_t>(bits)); }
  float f32() const {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

 private:
  template <class T>
  static Slot from(T value) {
    Slot slot;
    std::memcpy(&slot.bits, &value, sizeof value);
    return slot;
  }
};

class HookJit {
 public:
  /// Compiles every function of `module` that has a body, and changes the module: pass one that merge_modules
  /// made. Throws BuildError with LLVM's words where the code generator refuses.
  explicit HookJit(std::shared_ptr<llvm::Module> module);
  ~HookJit();
  HookJit(HookJit&&) noexcept;
  HookJit& operator=(HookJit&&) noexcept;

  /// Arguments in the function's order; an i1 result is 0 or 1. Thread-safe.
  using Function = void (*)(const Slot* arguments, Slot* result);
  /// "mask_mod", "tile_class", ...; throws InternalError where there is none.
  Function find(const std::string& name) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fa
