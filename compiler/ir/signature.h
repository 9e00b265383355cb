// The arguments that all hooks of a spec share: what differs from element to element first, then what is the
// same for the whole call (the uniforms). No other file counts arguments or compares their names.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/spec/spec.h"

namespace llvm {
class Argument;
class Function;
}  // namespace llvm

namespace fa {

/// In the order of the arguments. Those before `param` every hook has, each once, in its own place.
enum class HookArgKind {
  score,
  b,
  h,
  q_idx,
  kv_idx,
  batch,
  num_q_heads,
  num_kv_heads,
  group_size,
  q_len,
  kv_len,
  scale,
  param,
  tensor
};

struct HookArg {
  HookArgKind kind = HookArgKind::score;
  int index = 0;             // which param or tensor
  std::string name;          // the LLVM argument's name
  Type type = Type::i32;     // scalars
  DType dtype = DType::f32;  // tensors: element type in memory

  /// Whether it is the same for the whole call.
  bool is_uniform() const { return kind > HookArgKind::kv_idx; }
};

/// Where an argument stands that every hook has.
constexpr unsigned place_of(HookArgKind kind) { return static_cast<unsigned>(kind); }
/// Where the uniforms begin.
constexpr unsigned kFirstUniform = place_of(HookArgKind::kv_idx) + 1;

/// An argument of a function with a hook's arguments, of a kind before `param`.
llvm::Argument* hook_argument(const llvm::Function& hook, HookArgKind kind);
/// Whether `value` is that argument.
bool is_hook_argument(const llvm::Argument& value, HookArgKind kind);

class HookSignature {
 public:
  HookSignature() = default;
  explicit HookSignature(const CheckedSpec& spec);

  auto begin() const { return args_.begin(); }
  auto end() const { return args_.end(); }
  std::size_t size() const { return args_.size(); }
  const HookArg& operator[](std::size_t place) const { return args_[place]; }
  /// The place of a param or tensor, by its number, or of another kind.
  unsigned place(HookArgKind kind, int index = 0) const;

 private:
  std::vector<HookArg> args_;
};

}  // namespace fa
