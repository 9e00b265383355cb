// Runs the functions of a HookIr on this machine, for tests that compare what they compute.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/hook_ir.h"

namespace fa::test {

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
  /// Takes the module over and compiles every function with a body.
  explicit HookJit(HookIr hooks);
  ~HookJit();
  using Function = void (*)(const Slot* arguments, Slot* result);
  Function find(const std::string& name) const;  // e.g. "mask_mod", "tile_class"

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fa::test
