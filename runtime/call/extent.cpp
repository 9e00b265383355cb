#include "runtime/call/extent.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "compiler/spec/arithmetic.h"
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

class Evaluator {
 public:
  Evaluator(const CallExtents& size, std::span<const Scalar> params) : size_(size), params_(params) {}

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
    if (is_compare(e.op)) return {.i = floats ? compare(e.op, a.f, b.f) : compare(e.op, a.i, b.i)};
    if (floats) return {.f = static_cast<float>(float_binary(e.op, a.f, b.f))};
    return {.i = int_binary(e.op, a.i, b.i)};
  }

  Number call(const Expr& e, const Loop* loops) const {
    std::array<std::int32_t, 3> whole{};
    std::array<double, 3> real{};
    for (std::size_t i = 0; i < std::min(e.args.size(), whole.size()); ++i) {
      const Number arg = value(*e.args[i], loops);
      whole[i] = arg.i;
      real[i] = arg.f;
    }
    if (e.type == Type::f32) return {.f = static_cast<float>(float_call(e.func, real))};
    return {.i = int_call(e.func, whole)};
  }

  static Number cast(const Expr& e, Number x) {
    const Type from = e.args[0]->type;
    if (e.type == Type::f32) return {.f = from == Type::f32 ? x.f : static_cast<float>(x.i)};
    return {.i = from == Type::f32 ? to_i32(x.f) : x.i};
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

  const CallExtents& size_;
  std::span<const Scalar> params_;
};

}  // namespace

std::int32_t evaluate_extent(const Expr& expr, const CallExtents& size, std::span<const Scalar> params) {
  return Evaluator(size, params).value(expr, nullptr).i;
}

}  // namespace fa
