// Numbers with an error radius, for the reference interpreter: `value` is the reference, and a kernel's own
// value lies within `error` of it (running error analysis; Higham, Accuracy and Stability of Numerical
// Algorithms, section 3.3).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace fa::tools {

struct Measured {
  double value = 0;
  double error = 0;
};

/// How an f32 is computed. What decides something (a comparison, an index, a rounding to a whole number) is
/// exact: each operation is rounded to f32 once, on every target. The rest is evaluated in double, and
/// kernels may fuse, reorder products and use approximate functions.
enum class Arithmetic { exact, loose };

/// How far a function's value may be from the exact one. Exact arithmetic has `exact_ulps` units in the last
/// place between two targets, 0 where all compute the nearest f32; loose arithmetic has `ulps`, or in kernels
/// on 16-bit data those of the approximate instructions (templates/common/math.cuh).
struct FunctionError {
  double exact_ulps = 0;
  double ulps = 0;
  double relative = 0;
  double absolute = 0;
};

namespace functions {
constexpr FunctionError kExp{.ulps = 2, .relative = 0x1p-16};  // |x| 2^-23, for |x| up to 88
constexpr FunctionError kLog{.ulps = 2, .relative = 0x1p-21, .absolute = 0x1p-21};
constexpr FunctionError kTanh{.exact_ulps = 3, .ulps = 3, .relative = 0x1p-10};
constexpr FunctionError kSigmoid{.ulps = 3, .relative = 0x1p-20};
constexpr FunctionError kRoot{.ulps = 2, .relative = 0x1p-21};
constexpr FunctionError kErf{.exact_ulps = 3, .ulps = 3, .relative = 0x1p-21};
constexpr FunctionError kSine{.exact_ulps = 1, .ulps = 1, .absolute = 0x1p-19};
// CUDA's own on every kernel: its guide's maximum, and half a unit of the host's.
constexpr FunctionError kLog1p{.exact_ulps = 2, .ulps = 2, .relative = 0x1p-22};
constexpr FunctionError kExpm1{.exact_ulps = 2, .ulps = 2, .relative = 0x1p-22};
constexpr FunctionError kAtan{.exact_ulps = 3, .ulps = 3, .relative = 0x1p-21};
constexpr FunctionError kAtan2{.exact_ulps = 4, .ulps = 4, .relative = 0x1p-21};
constexpr FunctionError kPow{.exact_ulps = 5, .ulps = 5, .relative = 0x1p-20};
}  // namespace functions

/// The spacing of f32 numbers at `value`.
inline double f32_ulp(double value) {
  if (!std::isfinite(value)) return 0;
  int exponent = 0;
  std::frexp(value, &exponent);
  return std::ldexp(1.0, std::max(exponent, -125) - 24);
}

/// A result whose arguments' errors amount to `inherited`. `magnitude` is what a loose operation rounds on
/// its way: |a| + |b| for a sum.
inline Measured rounded(double value, double inherited, double magnitude, Arithmetic arithmetic) {
  constexpr double kLoose = 0x1p-22;  // four roundings: fusing and reordering move a few of them about
  constexpr double kTiny = 0x1p-126;  // below it kernels may flush to zero
  const auto as_f32 = static_cast<double>(static_cast<float>(value));
  if (std::isnan(inherited)) inherited = std::numeric_limits<double>::infinity();
  if (arithmetic == Arithmetic::exact) return {as_f32, inherited == 0 ? 0 : inherited + f32_ulp(as_f32)};
  // Beyond the largest f32 the result is infinity; near it, it may be either.
  if (std::isinf(as_f32) || std::isnan(value)) return {as_f32, 0};
  return {value, inherited + kLoose * magnitude + kTiny};
}

/// The result of a function whose arguments' errors amount to `inherited`.
inline Measured with_own_error(double value, double inherited, const FunctionError& own,
                               Arithmetic arithmetic, bool fast) {
  const bool is_f32 =
      static_cast<double>(static_cast<float>(value)) == value;  // f(0) and the like: all get it
  if (arithmetic == Arithmetic::loose && fast)
    inherited += own.relative * std::fabs(value) + own.absolute;
  else if (std::isfinite(value) && !is_f32)
    inherited += (arithmetic == Arithmetic::exact ? own.exact_ulps : own.ulps) * f32_ulp(value);
  return rounded(value, inherited, std::fabs(value), arithmetic);
}

/// f at `x`. Its error is its own plus that of x, found from the ends of x's interval.
template <class F>
Measured measured_call(F f, const Measured& x, const FunctionError& own, Arithmetic arithmetic, bool fast) {
  const double value = f(x.value);
  double inherited = 0;
  if (x.error > 0) {
    const double low = std::fabs(f(x.value - x.error) - value),
                 high = std::fabs(f(x.value + x.error) - value);
    inherited =
        std::isnan(low) || std::isnan(high) ? std::numeric_limits<double>::infinity() : std::max(low, high);
  }
  return with_own_error(value, inherited, own, arithmetic, fast);
}

/// f at (x, y); the error likewise from the corners of the intervals.
template <class F>
Measured measured_call(F f, const Measured& x, const Measured& y, const FunctionError& own,
                       Arithmetic arithmetic, bool fast) {
  const double value = f(x.value, y.value);
  double inherited = 0;
  for (const double dx : {-x.error, x.error})
    for (const double dy : {-y.error, y.error}) {
      if (x.error == 0 && y.error == 0) continue;
      const double away = std::fabs(f(x.value + dx, y.value + dy) - value);
      inherited = std::isnan(away) ? std::numeric_limits<double>::infinity() : std::max(inherited, away);
    }
  return with_own_error(value, inherited, own, arithmetic, fast);
}

}  // namespace fa::tools
