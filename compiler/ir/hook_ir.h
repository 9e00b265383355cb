// The hooks as LLVM IR: one scalar function each, all with the same arguments, no side effects, no loops that
// are not counted. This is the only form in which later stages see a hook.
//
//   float @score_mod(float %score, i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx, <uniforms>)
//   i1    @mask_mod (float %score, i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx, <uniforms>)
//   float @sink     (float %score, i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx, <uniforms>)   of b and h alone
//
// <uniforms>, in this order (compiler/ir/signature.h): i32 %batch, %num_q_heads, %num_kv_heads, %group_size,
// %q_len, %kv_len, float %scale; then one argument per param (i32 or float, `%p.NAME`), then one pointer per
// captured tensor (`%t.NAME`, readonly, row-major, contiguous). Bool and i8 tensors are bytes in memory, f16
// and bf16 two bytes.
//
// Contract of every caller: 0 <= b < batch, 0 <= h < num_q_heads, 0 <= q_idx < q_len, 0 <= kv_idx < kv_len.
// Lengths are at most 2^24, so an index converts to float exactly.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/module.h"
#include "compiler/ir/signature.h"
#include "compiler/spec/spec.h"

namespace fa {

/// A read whose index could not be proved in range; it is clamped in the IR.
struct ClampedRead {
  std::string tensor;
  int dimension = 0;
  int line = 0, column = 0;
};

struct HookIr {
  IrModule module;
  const llvm::Function* score_mod = nullptr;  // null: identity
  const llvm::Function* mask_mod = nullptr;   // null: keep everything
  const llvm::Function* sink = nullptr;       // null: none
  HookSignature args;
  std::vector<ClampedRead> clamped;

  std::string print() const { return print_module(module.get()); }
};

/// Lowers the checked hooks by IRBuilder, then proves or clamps every index, then simplifies; verified after
/// each pass.
HookIr lower(const CheckedSpec& spec);

/// A condition with the arguments of all hooks.
struct ConditionIr {
  IrModule module;
  const llvm::Function* function = nullptr;  // i1 @NAME(...)
};

/// Lowers a condition of the spec whose hooks are `hooks`.
ConditionIr lower_condition(const CheckedSpec& spec, const HookIr& hooks, const char* name,
                            const Expr& condition);

}  // namespace fa
