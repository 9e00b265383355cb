#include "tests/compiler/derive/evaluate.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

namespace fa::test {
namespace {

std::int32_t wrapped(std::int64_t x) { return static_cast<std::int32_t>(static_cast<std::uint32_t>(x)); }

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  return a / b - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
}

double whole_binary(Op op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case Op::add:
      return wrapped(a + b);
    case Op::sub:
      return wrapped(a - b);
    case Op::mul:
      return wrapped(a * b);
    case Op::div:
      return wrapped(floor_div(a, b));
    case Op::mod:
      return b == 0 ? 0 : wrapped(a - floor_div(a, b) * b);
    case Op::shl:
      return wrapped(a << (b & 31));
    case Op::shr:
      return wrapped(a >> (b & 31));
    case Op::bit_and:
      return wrapped(a & b);
    case Op::bit_or:
      return wrapped(a | b);
    case Op::bit_xor:
      return wrapped(a ^ b);
    default:
      throw std::logic_error("no operation on i32");
  }
}

}  // namespace

Point::Point(const tools::Problem& problem, double with_score, int b, int h, int q_idx, int kv_idx)
    : builtins(tools::problem_environment(problem).builtins), score(with_score) {
  (*this)[Builtin::b] = b;
  (*this)[Builtin::h] = h;
  (*this)[Builtin::q_idx] = q_idx;
  (*this)[Builtin::kv_idx] = kv_idx;
  for (const Scalar& param : problem.params)
    params.push_back(std::visit([](auto number) { return static_cast<double>(number); }, param));
  for (const tools::HostTensor& tensor : problem.tensors) {
    shapes.push_back(tensor.shape);
    std::vector<double>& elements = tensors.emplace_back();
    for (std::int64_t i = 0; i < tensor.elements(); ++i) elements.push_back(tensor.get(i));
  }
}

Evaluator::Scope& Evaluator::scope_of(const Expr& expr) {
  const std::vector<int>& ids = free_loops_.of(expr);
  for (std::size_t i = scopes_.size(); i-- > 1;)
    if (std::ranges::find(ids, scopes_[i].loop) != ids.end()) return scopes_[i];
  return scopes_.front();
}

double Evaluator::value(const Expr& expr) {
  if (const auto& known = scope_of(expr).known; known.contains(&expr)) return known.at(&expr);
  const double result = evaluate(expr);
  return scope_of(expr).known[&expr] = result;
}

double Evaluator::evaluate(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::literal:
      return expr.type == Type::f32 ? expr.float_value : static_cast<double>(expr.int_value);
    case ExprKind::builtin:
      return expr.builtin == Builtin::score ? point_.score
                                            : point_.builtins[static_cast<std::size_t>(expr.builtin)];
    case ExprKind::param:
      return point_.params[static_cast<std::size_t>(expr.index)];
    case ExprKind::loop_var:
      return scope_of(expr).index;
    case ExprKind::unary: {
      const double x = value(*expr.args[0]);
      if (expr.op == Op::logical_not) return x == 0 ? 1 : 0;
      if (expr.op == Op::bit_not) return -x - 1;
      return expr.type == Type::i32 ? wrapped(-static_cast<std::int64_t>(x)) : -x;
    }
    case ExprKind::binary:
      return binary(expr, value(*expr.args[0]), value(*expr.args[1]));
    case ExprKind::call:
      return call(expr);
    case ExprKind::cast: {
      const double x = value(*expr.args[0]);
      if (expr.type == Type::f32 || expr.args[0]->type != Type::f32) return x;
      return decided(std::isnan(x) ? 0 : std::trunc(std::clamp(x, -2147483648.0, 2147483647.0)));
    }
    case ExprKind::where:  // one side alone: the other may be infinite
      return value(*expr.args[value(*expr.args[0]) != 0 ? 1 : 2]);
    case ExprKind::read:
      return read(expr);
    case ExprKind::reduce:
      return reduce(expr);
  }
  throw std::logic_error("no such expression");
}

double Evaluator::binary(const Expr& expr, double a, double b) {
  switch (expr.op) {
    case Op::lt:
      return decided(a < b);
    case Op::le:
      return decided(a <= b);
    case Op::gt:
      return decided(a > b);
    case Op::ge:
      return decided(a >= b);
    case Op::eq:
      return decided(a == b);
    case Op::ne:
      return decided(a != b);
    case Op::logical_and:
      return a != 0 && b != 0;
    case Op::logical_or:
      return a != 0 || b != 0;
    default:
      break;
  }
  if (expr.type != Type::f32)
    return whole_binary(expr.op, static_cast<std::int64_t>(a), static_cast<std::int64_t>(b));
  if (expr.op == Op::add) return a + b;
  if (expr.op == Op::sub) return a - b;
  return expr.op == Op::mul ? a * b : a / b;
}

double Evaluator::call(const Expr& expr) {
  const double x = value(*expr.args[0]);
  const auto arg = [&](std::size_t i) { return value(*expr.args[i]); };
  const auto lower = [&](double a, double b) { return decided(b < a) != 0 ? b : a; };
  const auto higher = [&](double a, double b) { return decided(b > a) != 0 ? b : a; };
  switch (expr.func) {
    case Func::min:
      return lower(x, arg(1));
    case Func::max:
      return higher(x, arg(1));
    case Func::clamp:
      return lower(higher(x, arg(1)), arg(2));
    case Func::abs:
      return decided(x < 0) != 0 ? -x : x;
    case Func::floor:
      return decided(std::floor(x));
    case Func::ceil:
      return decided(std::ceil(x));
    case Func::round:
      return decided(std::nearbyint(x));
    case Func::trunc:
      return decided(std::trunc(x));
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
      return std::atan2(x, arg(1));
    case Func::pow:
      return std::pow(x, arg(1));
    case Func::ceil_div:
      return wrapped(-floor_div(-static_cast<std::int64_t>(x), static_cast<std::int64_t>(arg(1))));
    case Func::popcount:
      return std::popcount(static_cast<std::uint32_t>(static_cast<std::int64_t>(x)));
  }
  throw std::logic_error("no such function");
}

double Evaluator::read(const Expr& expr) {
  const auto tensor = static_cast<std::size_t>(expr.index);
  std::int64_t element = 0;
  for (std::size_t d = 0; d < expr.args.size(); ++d) {
    const std::int64_t extent = point_.shapes[tensor][d];
    const auto index = static_cast<std::int64_t>(value(*expr.args[d]));
    element = element * extent + std::clamp<std::int64_t>(index, 0, extent - 1);
  }
  decided(static_cast<double>(element));
  return point_.tensors[tensor][static_cast<std::size_t>(element)];
}

double Evaluator::reduce(const Expr& expr) {
  const double steps = expr.args.size() > 1 ? std::min<double>(value(*expr.args[1]), expr.count) : expr.count;
  const bool is_float = expr.type == Type::f32;
  const double most = is_float ? std::numeric_limits<double>::infinity() : 2147483647.0;
  const double least = is_float ? -most : -2147483648.0;
  const Reduction kind = expr.reduction;
  double total = kind == Reduction::all   ? 1
                 : kind == Reduction::min ? most
                 : kind == Reduction::max ? least
                                          : 0;
  for (int i = 0; i < steps; ++i) {
    open_loop(expr.index, i);
    const double next = value(*expr.args[0]);
    close_loop();
    if (kind == Reduction::sum)
      total = is_float ? total + next : wrapped(static_cast<std::int64_t>(total + next));
    if (kind == Reduction::any && next != 0) total = 1;
    if (kind == Reduction::all && next == 0) total = 0;
    if (kind == Reduction::min && decided(next < total) != 0) total = next;
    if (kind == Reduction::max && decided(next > total) != 0) total = next;
  }
  return total;
}

std::vector<ElementGradient> element_gradients(const Point& point, const HookDerivatives& derivatives) {
  std::vector<ElementGradient> result;
  Evaluator evaluator(point);
  for (const Adjoint& adjoint : derivatives.adjoints) {
    if (adjoint.of != Adjoint::Of::tensor) continue;
    const std::vector<std::int64_t>& shape = point.shapes[static_cast<std::size_t>(adjoint.index)];
    const std::function<void(std::size_t)> iterate = [&](std::size_t depth) {
      if (depth < adjoint.loops.size()) {
        const DerivedLoop& loop = adjoint.loops[depth];
        const double range = loop.range ? evaluator.value(*loop.range) : loop.count;
        for (int i = 0; i < std::min<double>(range, loop.count); ++i) {
          evaluator.open_loop(loop.id, i);
          iterate(depth + 1);
          evaluator.close_loop();
        }
        return;
      }
      std::int64_t element = 0;
      for (std::size_t d = 0; d < adjoint.indices.size(); ++d) {
        const double index = evaluator.value(*adjoint.indices[d].expr);
        if (index < 0 || index >= static_cast<double>(shape[d])) throw std::out_of_range(adjoint.name);
        element = element * shape[d] + static_cast<std::int64_t>(index);
      }
      result.push_back({adjoint.index, element, evaluator.value(*adjoint.value.expr)});
    };
    iterate(0);
  }
  return result;
}

}  // namespace fa::test
