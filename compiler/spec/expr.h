// Typed expressions: what the checker makes of the syntax tree. Every node has its type, every name its
// meaning, every mixed operation its explicit cast. Shared sub-trees (a `let` used twice) are shared nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace fa {

enum class Type : std::uint8_t { boolean, i32, f32 };

/// Names every expression may use. i0..i5 exist only in a tensor's example.
enum class Builtin : std::uint8_t {
  score,
  b,
  h,
  q_idx,
  kv_idx,  // the element
  batch,
  q_len,
  kv_len,
  num_q_heads,
  num_kv_heads,
  group_size,
  head_dim,  // the problem (head_dim is a constant)
  i0,
  i1,
  i2,
  i3,
  i4,
  i5  // a tensor's example only
};

enum class ExprKind : std::uint8_t {
  literal,   // int_value / float_value by `type`; a boolean is int_value 0 or 1
  builtin,   // `builtin`
  param,     // `index` into CheckedSpec::params
  loop_var,  // `index`: id of the enclosing reduction
  unary,     // `op`: neg, logical_not, bit_not; args[0]
  binary,    // `op`; both args have one type (i32 or f32; boolean for logical_and/or, eq, ne)
  call,      // `func`; args promoted to the function's type
  cast,      // args[0] to `type`: i32->f32; f32->i32 truncates, saturates, NaN -> 0; boolean -> 0 / 1
  where,     // args: condition, then, otherwise
  read,   // `index` into CheckedSpec::tensors; args are i32 indices; i8, u8 and i64 read as i32 (of i64 the
          // low half; with `count` 1, which checked probes alone make, the high one), f16/bf16 as f32
  reduce  // `reduction`, `index` = loop id, `count` iterations (var = 0..count-1), args[0] = body; where
          // there is an args[1], an i32 that is the same for a whole call, at most that many
};

enum class Op : std::uint8_t {
  neg,
  logical_not,
  bit_not,
  add,
  sub,
  mul,
  div,
  mod,  // i32 div and mod round toward -infinity; by zero they give 0; i32 wraps around
  shl,
  shr,  // amount taken modulo 32; shr is arithmetic
  bit_and,
  bit_or,
  bit_xor,
  lt,
  le,
  gt,
  ge,
  eq,
  ne,
  logical_and,
  logical_or,  // both sides may be evaluated
  power        // of the syntax alone: the checker makes products of it, or a call of pow
};

enum class Func : std::uint8_t {
  min,
  max,  // i32 or f32; exactly two args here, however many were written
  clamp,
  abs,  // i32 or f32; clamp(x, low, high) is min(max(x, low), high)
  floor,
  ceil,
  round,
  trunc,  // f32 -> f32, these four in a row; round takes halves to even
  exp,
  exp2,
  log,
  log2,
  tanh,
  sigmoid,
  sqrt,
  rsqrt,
  erf,
  sin,
  cos,
  atan,
  log1p,
  expm1,     // f32
  atan2,     // f32: atan2(y, x)
  pow,       // f32, as C's powf
  ceil_div,  // i32: -((-a) / b)
  popcount   // i32: the one bits of a
};

enum class Reduction : std::uint8_t { any, all, sum, min, max };

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

struct Expr {
  ExprKind kind = ExprKind::literal;
  Type type = Type::i32;
  Op op = Op::add;
  Func func = Func::min;
  Reduction reduction = Reduction::any;
  Builtin builtin = Builtin::score;
  int index = 0;
  int count = 0;
  std::int64_t int_value = 0;
  double float_value = 0;
  std::vector<ExprPtr> args{};
  int line = 0, column = 0;  // where it stands in the spec, for later stages' messages
};

}  // namespace fa
