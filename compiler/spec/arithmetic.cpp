#include "compiler/spec/arithmetic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace fa {
namespace {

double min_of(double a, double b) { return std::isnan(b) ? a : std::isnan(a) ? b : std::min(a, b); }
double max_of(double a, double b) { return std::isnan(b) ? a : std::isnan(a) ? b : std::max(a, b); }

}  // namespace

std::int32_t int_binary(Op op, std::int32_t left, std::int32_t right) {
  const std::int64_t a = left, b = right;
  switch (op) {
    case Op::add:
      return wrap(a + b);
    case Op::sub:
      return wrap(a - b);
    case Op::mul:
      return wrap(a * b);
    case Op::div:
      return wrap(floor_div(a, b));
    case Op::mod:
      return wrap(floor_mod(a, b));
    case Op::shl:
      return wrap(static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << (b & 31)));
    case Op::shr:
      return wrap(a >> (b & 31));
    case Op::bit_and:
    case Op::logical_and:
      return left & right;
    case Op::bit_or:
    case Op::logical_or:
      return left | right;
    default:
      return left ^ right;
  }
}

double float_binary(Op op, double a, double b) {
  switch (op) {
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return a * b;
    default:
      return a / b;
  }
}

std::int32_t int_call(Func func, std::span<const std::int32_t> args) {
  switch (func) {
    case Func::min:
      return std::min(args[0], args[1]);
    case Func::max:
      return std::max(args[0], args[1]);
    case Func::clamp:
      return std::min(std::max(args[0], args[1]), args[2]);
    case Func::abs:
      return wrap(std::abs(std::int64_t{args[0]}));
    case Func::popcount:
      return std::popcount(static_cast<std::uint32_t>(args[0]));
    default:  // ceil_div
      return wrap(-floor_div(wrap(-std::int64_t{args[0]}), args[1]));
  }
}

double float_call(Func func, std::span<const double> args) {
  const double x = args[0];
  switch (func) {
    case Func::min:
      return min_of(x, args[1]);
    case Func::max:
      return max_of(x, args[1]);
    case Func::clamp:
      return min_of(max_of(x, args[1]), args[2]);
    case Func::abs:
      return std::abs(x);
    case Func::floor:
      return std::floor(x);
    case Func::ceil:
      return std::ceil(x);
    case Func::round:
      return std::nearbyint(x);
    case Func::trunc:
      return std::trunc(x);
    case Func::exp:
      return std::exp(x);
    case Func::exp2:
      return std::exp2(x);
    case Func::log:
      return std::log(x);
    case Func::log2:
      return std::log2(x);
    case Func::tanh:
      return std::tanh(x);
    case Func::sigmoid:
      return 1 / (1 + std::exp(-x));
    case Func::sqrt:
      return std::sqrt(x);
    case Func::rsqrt:
      return 1 / std::sqrt(x);
    case Func::erf:
      return std::erf(x);
    case Func::sin:
      return std::sin(x);
    case Func::cos:
      return std::cos(x);
    case Func::atan:
      return std::atan(x);
    case Func::log1p:
      return std::log1p(x);
    case Func::expm1:
      return std::expm1(x);
    case Func::atan2:
      return std::atan2(x, args[1]);
    case Func::pow:
      return std::pow(x, args[1]);
    case Func::ceil_div:
    case Func::popcount:
      break;
  }
  return x;
}

std::int32_t to_i32(double x) {
  if (std::isnan(x)) return 0;
  constexpr double kLow = std::numeric_limits<std::int32_t>::min(),
                   kHigh = std::numeric_limits<std::int32_t>::max();
  return static_cast<std::int32_t>(std::clamp(std::trunc(x), kLow, kHigh));
}

}  // namespace fa
