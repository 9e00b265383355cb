#include "runtime/call/extent.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "fa/error.h"

namespace fa {
namespace {

/// A value of any type; which member holds it follows from the expression.
struct Number {
  std::int32_t i = 0;  // i32, boolean
  float f = 0;
};

/// The reductions around an expression, innermost first.
struct Loop {
  int id = 0;
  std::int32_t value = 0;
  const Loop* outer = nullptr;
};

std::int32_t wrap(std::int64_t value) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(value)); }

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

std::int32_t truncate(float x) {
  if (std::isnan(x)) return 0;
  return static_cast<std::int32_t>(std::clamp(static_cast<double>(std::trunc(x)),
                                              static_cast<double>(std::numeric_limits<std::int32_t>::min()),
                                              static_cast<double>(std::numeric_limits<std::int32_t>::max())));
}

template <class T>
bool compare(Op op, T a, T b) {
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

std::int64_t int_binary(Op op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return a * b;
    case Op::div:
      return floor_div(a, b);
    case Op::mod:
      return b == 0 ? 0 : a - floor_div(a, b) * b;
    case Op::shl:
      return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) << (b & 31));
    case Op::shr:
      return a >> (b & 31);
    case Op::bit_and:
    case Op::logical_and:
      return a & b;
    case Op::bit_or:
    case Op::logical_or:
      return a | b;
    default:
      return a ^ b;
  }
}

float float_binary(Op op, float a, float b) {
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

std::int32_t int_call(Func func, std::int64_t a, std::int64_t b, std::int64_t c) {
  switch (func) {
    case Func::min:
      return wrap(std::min(a, b));
    case Func::max:
      return wrap(std::max(a, b));
    case Func::clamp:
      return wrap(std::min(std::max(a, b), c));
    case Func::abs:
      return wrap(a < 0 ? -a : a);
    case Func::popcount:
      return std::popcount(static_cast<std::uint32_t>(a));
    default:  // ceil_div
      return wrap(-floor_div(wrap(-a), b));
  }
}

float float_call(Func func, float x, float b, float c) {
  switch (func) {
    case Func::min:
      return std::fmin(x, b);
    case Func::max:
      return std::fmax(x, b);
    case Func::clamp:
      return std::fmin(std::fmax(x, b), c);
    case Func::abs:
      return std::fabs(x);
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
      return 1.0f / (1.0f + std::exp(-x));
    case Func::sqrt:
      return std::sqrt(x);
    case Func::rsqrt:
      return 1.0f / std::sqrt(x);
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
      return std::atan2(x, b);
    case Func::pow:
      return std::pow(x, b);
    case Func::ceil_div:
    case Func::popcount:
      break;
  }
  return x;
}

class Evaluator {
 public:
  Evaluator(const CallSize& size, std::span<const Scalar> params) : size_(size), params_(params) {}

  Number value(const Expr& e, const Loop* loops) const {
    switch (e.kind) {
      case ExprKind::literal:
        return {.i = wrap(e.int_value), .f = static_cast<float>(e.float_value)};
      case ExprKind::builtin:
        return {.i = builtin(e.builtin)};
      case ExprKind::param: {
        const Scalar& scalar = params_[static_cast<std::size_t>(e.index)];
        if (const auto* whole = std::get_if<std::int32_t>(&scalar)) return {.i = *whole};
        return {.f = std::get<float>(scalar)};
      }
      case ExprKind::loop_var:
        while (loops != nullptr && loops->id != e.index) loops = loops->outer;
        return {.i = loops == nullptr ? 0 : loops->value};
      case ExprKind::unary:
        return unary(e, value(*e.args[0], loops));
      case ExprKind::binary:
        return binary(e, value(*e.args[0], loops), value(*e.args[1], loops));
      case ExprKind::call:
        return call(e, loops);
      case ExprKind::cast:
        return cast(e, value(*e.args[0], loops));
      case ExprKind::where:
        return value(*e.args[value(*e.args[0], loops).i != 0 ? 1 : 2], loops);
      case ExprKind::reduce:
        return reduce(e, loops);
      case ExprKind::read:
        break;
    }
    throw InternalError("a tensor's extent reads a tensor");
  }

 private:
  std::int32_t builtin(Builtin which) const {
    switch (which) {
      case Builtin::batch:
        return size_.batch;
      case Builtin::q_len:
        return size_.q_len;
      case Builtin::kv_len:
        return size_.kv_len;
      case Builtin::num_q_heads:
        return size_.num_q_heads;
      case Builtin::num_kv_heads:
        return size_.num_kv_heads;
      case Builtin::group_size:
        return size_.group_size;
      case Builtin::head_dim:
        return size_.head_dim;
      default:
        throw InternalError("a tensor's extent depends on the element");
    }
  }

  static Number unary(const Expr& e, Number x) {
    if (e.op == Op::logical_not) return {.i = x.i == 0 ? 1 : 0};
    if (e.op == Op::bit_not) return {.i = ~x.i};
    return {.i = wrap(-std::int64_t{x.i}), .f = -x.f};
  }

  static Number binary(const Expr& e, Number a, Number b) {
    const bool floats = e.args[0]->type == Type::f32;
    if (e.op >= Op::lt && e.op <= Op::ne)
      return {.i = floats ? compare(e.op, a.f, b.f) : compare(e.op, a.i, b.i)};
    if (floats) return {.f = float_binary(e.op, a.f, b.f)};
    return {.i = wrap(int_binary(e.op, a.i, b.i))};
  }

  Number call(const Expr& e, const Loop* loops) const {
    Number args[3];
    for (std::size_t i = 0; i < std::min<std::size_t>(e.args.size(), 3); ++i)
      args[i] = value(*e.args[i], loops);
    if (e.type == Type::f32) return {.f = float_call(e.func, args[0].f, args[1].f, args[2].f)};
    return {.i = int_call(e.func, args[0].i, args[1].i, args[2].i)};
  }

  static Number cast(const Expr& e, Number x) {
    const Type from = e.args[0]->type;
    if (e.type == Type::f32) return {.f = from == Type::f32 ? x.f : static_cast<float>(x.i)};
    return {.i = from == Type::f32 ? truncate(x.f) : x.i};
  }

  Number reduce(const Expr& e, const Loop* loops) const {
    Number total = neutral(e.reduction);
    const std::int32_t count = e.args.size() > 1 ? std::min(e.count, value(*e.args[1], loops).i) : e.count;
    for (std::int32_t i = 0; i < count; ++i) {
      const Loop loop = {.id = e.index, .value = i, .outer = loops};
      const Number x = value(*e.args[0], &loop);
      total = i == 0 ? x : combine(e.reduction, total, x);
    }
    return total;
  }

  static Number neutral(Reduction reduction) {
    const bool is_max = reduction == Reduction::max;
    if (reduction == Reduction::all) return {.i = 1};
    if (reduction != Reduction::min && !is_max) return {};
    const float infinity = std::numeric_limits<float>::infinity();
    return is_max ? Number{.i = std::numeric_limits<std::int32_t>::min(), .f = -infinity}
                  : Number{.i = std::numeric_limits<std::int32_t>::max(), .f = infinity};
  }

  static Number combine(Reduction reduction, Number a, Number b) {
    switch (reduction) {
      case Reduction::any:
        return {.i = a.i | b.i};
      case Reduction::all:
        return {.i = a.i & b.i};
      case Reduction::sum:
        return {.i = wrap(std::int64_t{a.i} + b.i), .f = a.f + b.f};
      case Reduction::min:
        return {.i = std::min(a.i, b.i), .f = std::fmin(a.f, b.f)};
      case Reduction::max:
        return {.i = std::max(a.i, b.i), .f = std::fmax(a.f, b.f)};
    }
    return a;
  }

  const CallSize& size_;
  std::span<const Scalar> params_;
};

}  // namespace

std::int32_t evaluate_extent(const Expr& expr, const CallSize& size, std::span<const Scalar> params) {
  return Evaluator(size, params).value(expr, nullptr).i;
}

}  // namespace fa
