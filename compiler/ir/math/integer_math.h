// The spec's integer semantics as IR: everything is total, `/` and `%` round toward negative infinity, x / 0
// = x % 0 = 0, shift amounts count modulo 32, and + - * wrap around.
#pragma once

#include "compiler/ir/range/bounds.h"

namespace llvm {
class IRBuilderBase;
class Value;
}  // namespace llvm

namespace fa {

/// An i32 value with the interval it is known to lie in, which picks the cheapest correct instructions.
struct Known {
  llvm::Value* value = nullptr;
  Interval range;
};

llvm::Value* emit_floor_div(llvm::IRBuilderBase& builder, Known a, Known b);
llvm::Value* emit_floor_mod(llvm::IRBuilderBase& builder, Known a, Known b);
/// -((-a) / b), as the spec defines ceil_div.
llvm::Value* emit_ceil_div(llvm::IRBuilderBase& builder, Known a, Known b);
llvm::Value* emit_shift_left(llvm::IRBuilderBase& builder, Known a, Known amount);
llvm::Value* emit_shift_right(llvm::IRBuilderBase& builder, Known a, Known amount);

}  // namespace fa
