// Subgradients, where a function has a corner (docs/backward.md): of equal arguments min and max choose the
// first, clamp passes the gradient on at its bounds, abs has 1 at 0. So max(x, 0) and abs(x) take the same
// side at 0, and softplus, which is made of the two and has no corner, gets its true derivative there.
#include "compiler/derive/rules.h"

#include <numbers>

#include "compiler/spec/check/gradient.h"
#include "fa/error.h"

namespace fa {
namespace {

std::vector<Share> of_unary_call(const ExprPtr& node, const ExprPtr& g, Algebra& make) {
  const ExprPtr& x = node->args[0];
  const auto one = [&] { return make.number(1); };
  const auto square = [&](const ExprPtr& value) { return make.multiply(value, value); };
  const auto times = [&](const ExprPtr& derivative) {
    return std::vector<Share>{{x, make.multiply(g, derivative)}};
  };
  const auto over = [&](const ExprPtr& divisor) { return std::vector<Share>{{x, make.divide(g, divisor)}}; };
  switch (node->func) {
    case Func::abs:
      return {{x, make.choose(make.compare(Op::ge, x, make.number(0)), g, make.negate(g))}};
    case Func::exp:
      return times(node);
    case Func::exp2:
      return times(make.multiply(make.number(std::numbers::ln2), node));
    case Func::log:
      return over(x);
    case Func::log2:
      return {{x, make.divide(make.multiply(make.number(std::numbers::log2e), g), x)}};
    case Func::tanh:
      return times(make.subtract(one(), square(node)));
    case Func::sigmoid:
      return times(make.multiply(node, make.subtract(one(), node)));
    case Func::sqrt:
      return {{x, make.divide(make.multiply(make.number(0.5), g), node)}};
    case Func::rsqrt:
      return times(make.multiply(make.number(-0.5), make.multiply(node, square(node))));
    case Func::erf: {
      const ExprPtr bell = make.call(Func::exp, {make.negate(square(x))});
      return times(make.multiply(make.number(2 * std::numbers::inv_sqrtpi), bell));
    }
    case Func::sin:
      return times(make.call(Func::cos, {x}));
    case Func::cos:
      return times(make.negate(make.call(Func::sin, {x})));
    case Func::atan:
      return over(make.add(one(), square(x)));
    case Func::log1p:
      return over(make.add(one(), x));
    case Func::expm1:
      return times(make.add(node, one()));
    default:
      break;
  }
  throw InternalError("a function without a derivative reached derive");
}

std::vector<Share> of_pow(const ExprPtr& node, const ExprPtr& g, Algebra& make) {
  const ExprPtr &x = node->args[0], &y = node->args[1];
  const ExprPtr zero = make.number(0);
  const ExprPtr less = make.call(Func::pow, {x, make.subtract(y, make.number(1))});
  const ExprPtr by_x = make.multiply(make.multiply(g, y), less);
  const ExprPtr by_y = make.multiply(make.multiply(g, node), make.call(Func::log, {x}));
  // x**0 is constant in x, and 0**y in y, where the formulas would give 0 * inf.
  return {{x, make.choose(make.compare(Op::eq, y, zero), nullptr, by_x)},
          {y, make.choose(make.compare(Op::eq, x, zero), nullptr, by_y)}};
}

std::vector<Share> of_atan2(const ExprPtr& node, const ExprPtr& g, Algebra& make) {
  const ExprPtr &y = node->args[0], &x = node->args[1];
  const ExprPtr radius = make.add(make.multiply(x, x), make.multiply(y, y));  // squared
  return {{y, make.divide(make.multiply(g, x), radius)},
          {x, make.divide(make.negate(make.multiply(g, y)), radius)}};
}

std::vector<Share> of_call(const ExprPtr& node, const ExprPtr& g, Algebra& make) {
  switch (node->func) {
    case Func::min:
    case Func::max: {
      const ExprPtr &a = node->args[0], &b = node->args[1];
      const ExprPtr first = make.compare(node->func == Func::min ? Op::le : Op::ge, a, b);
      return {{a, make.choose(first, g, nullptr)}, {b, make.choose(first, nullptr, g)}};
    }
    case Func::clamp: {  // min(max(x, low), high)
      const ExprPtr &x = node->args[0], &low = node->args[1], &high = node->args[2];
      const ExprPtr raised = make.call(Func::max, {x, low});
      const ExprPtr is_below_high = make.compare(Op::le, raised, high);
      const ExprPtr is_above_low = make.compare(Op::ge, x, low);
      const ExprPtr of_raised = make.choose(is_below_high, g, nullptr);
      return {{x, make.choose(is_above_low, of_raised, nullptr)},
              {low, make.choose(is_above_low, nullptr, of_raised)},
              {high, make.choose(is_below_high, nullptr, g)}};
    }
    case Func::pow:
      return of_pow(node, g, make);
    case Func::atan2:
      return of_atan2(node, g, make);
    default:
      return of_unary_call(node, g, make);
  }
}

std::vector<Share> of_binary(const ExprPtr& node, const ExprPtr& g, Algebra& make) {
  const ExprPtr &a = node->args[0], &b = node->args[1];
  switch (node->op) {
    case Op::add:
      return {{a, g}, {b, g}};
    case Op::sub:
      return {{a, g}, {b, make.negate(g)}};
    case Op::mul:
      return {{a, make.multiply(g, b)}, {b, make.multiply(g, a)}};
    case Op::div: {
      const ExprPtr by_a = make.divide(g, b);
      return {{a, by_a}, {b, make.negate(make.multiply(by_a, node))}};
    }
    default:
      throw InternalError("an operation without a derivative reached derive");
  }
}

}  // namespace

std::vector<Share> shares_of(const ExprPtr& node, const ExprPtr& gradient, Algebra& algebra) {
  if (differentiable_args(*node).empty()) return {};
  switch (node->kind) {
    case ExprKind::unary:
      return {{node->args[0], algebra.negate(gradient)}};
    case ExprKind::binary:
      return of_binary(node, gradient, algebra);
    case ExprKind::call:
      return of_call(node, gradient, algebra);
    case ExprKind::cast:
      return {{node->args[0], gradient}};
    case ExprKind::where:
      return {{node->args[1], algebra.choose(node->args[0], gradient, nullptr)},
              {node->args[2], algebra.choose(node->args[0], nullptr, gradient)}};
    default:
      throw InternalError("an expression without a rule reached derive");
  }
}

}  // namespace fa
