// The hooks as LLVM IR: one scalar function each, all with the same arguments, no side effects, no loops that
// are not counted. This is the only form in which later stages see a hook.
//
//   float @score_mod(float %score, i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx, <uniforms>)
//   i1    @mask_mod (float %score, i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx, <uniforms>)
//   float @sink     (float %score, i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx, <uniforms>)   of b and h alone
//
// <uniforms>, in this order: i32 %batch, %num_q_heads, %num_kv_heads, %group_size, %q_len, %kv_len, float
// %scale; then one argument per param (i32 or float, `%p.NAME`), then one pointer per captured tensor
// (`%t.NAME`, readonly, row-major, contiguous). Bool and i8 tensors are bytes in memory, f16 and bf16 two
// bytes.
//
// The analysis adds what kernels evaluate, on the raw dot product s = q.k, in base 2 and with the scale
// folded in:
//   float @logit(float %s, ...)     of a general score_mod: log2(e) * score_mod(scale * s)
//   float @logit_multiplier(...)    of an affine one: logit = multiplier * s + addend (+ row_addend)
//   float @logit_addend(...)
//   float @logit_row_addend(...)    the terms of the addend that do not depend on kv_idx, where there are any;
//                                   @logit_addend is without them
//   float @logit_addend_slope(...)  c, where the addend is c * kv_idx + what does not depend on kv_idx
// with the constants log2(e) and scale pushed to where they cost least (the factor that depends on least).
// Contract of every caller: 0 <= b < batch, 0 <= h < num_q_heads, 0 <= q_idx < q_len, 0 <= kv_idx < kv_len.
// Lengths are at most 2^24, so an index converts to float exactly.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/spec/spec.h"

namespace llvm {
class Function;
class LLVMContext;
class Module;
}  // namespace llvm

namespace fa {

constexpr int kMaxLength = 1 << 24;

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
};

/// The argument list all hooks of a spec share.
std::vector<HookArg> hook_args(const CheckedSpec& spec);

/// A read whose index could not be proved in range; it is clamped in the IR.
struct ClampedRead {
  std::string tensor;
  int dimension = 0;
  int line = 0, column = 0;
};

struct HookIr {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
  llvm::Function* score_mod = nullptr;         // null: identity
  llvm::Function* mask_mod = nullptr;          // null: keep everything
  llvm::Function* sink = nullptr;              // null: none
  llvm::Function* logit = nullptr;             // set by analyse where score_mod is general
  llvm::Function* logit_multiplier = nullptr;  // set by analyse where score_mod is affine (both)
  llvm::Function* logit_addend = nullptr;
  llvm::Function* logit_row_addend =
      nullptr;  // set by analyse where the addend has terms that no key changes
  llvm::Function* logit_addend_slope = nullptr;  // set by analyse where the addend is linear in kv_idx
  std::vector<HookArg> args;
  std::vector<ClampedRead> clamped;

  HookIr();
  HookIr(HookIr&&) noexcept;
  HookIr& operator=(HookIr&&) noexcept;
  ~HookIr();
  std::string print() const;  // textual LLVM IR
};

/// Lowers the checked hooks by IRBuilder, then proves or clamps every index, then simplifies; verified after
/// each pass.
HookIr lower(const CheckedSpec& spec);

/// i1 @NAME(...), with the arguments of all hooks, added to `hooks.module`: a condition as a function.
llvm::Function* lower_condition(const CheckedSpec& spec, HookIr& hooks, const char* name,
                                const Expr& condition);

}  // namespace fa
