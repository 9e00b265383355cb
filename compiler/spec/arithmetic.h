// The language's arithmetic on single numbers. Constants are folded with it, and a call finds the extents of
// its tensors with it. i32 wraps around; division rounds down, and by zero it gives 0. f32 operations are
// computed in double, and the caller rounds to f32. (tools/reference has its own, which checks this one.)
#pragma once

#include <cstdint>
#include <span>

#include "compiler/spec/expr.h"

namespace fa {

constexpr std::int32_t wrap(std::int64_t value) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
}

/// Rounds down; 0 where b is 0.
constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
/// What floor_div leaves; 0 where b is 0.
constexpr std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  return b == 0 ? 0 : a - floor_div(a, b) * b;
}

constexpr bool is_compare(Op op) { return op >= Op::lt && op <= Op::ne; }

template <class T>
constexpr bool compare(Op op, T a, T b) {
  switch (op) {
    case Op::lt:
      return a < b;
    case Op::le:
      return a <= b;
    case Op::gt:
      return a > b;
    case Op::ge:
      return a >= b;
    case Op::eq:
      return a == b;
    default:
      return a != b;
  }
}

/// An operator of i32, or of bools as 0 and 1, that is no comparison.
std::int32_t int_binary(Op op, std::int32_t a, std::int32_t b);
/// An arithmetic operator of f32.
double float_binary(Op op, double a, double b);

/// A function of i32 (`args` are its arguments), or of f32. A minimum or maximum drops a NaN.
std::int32_t int_call(Func func, std::span<const std::int32_t> args);
double float_call(Func func, std::span<const double> args);

/// i32(x): towards zero, to the nearest end where there is no such i32, 0 of a NaN.
std::int32_t to_i32(double x);

}  // namespace fa
