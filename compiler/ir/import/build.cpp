// The folding of build.h: constants by the language's own rules, flags that were widened to bytes and back,
// and chains of one operation, which unrolled loops leave, as balanced trees.
#include "compiler/ir/import/build.h"

#include <algorithm>
#include <unordered_set>

#include "compiler/spec/check/fold.h"

namespace fa {
namespace {

constexpr int kDeepChain = 64;  // a chain of one operation is balanced where it gets deeper than this
constexpr std::size_t kMostOperands = 8192;  // operands of one chain: as many as a hook may have instructions

bool is_true(const ExprPtr& x) { return is_literal(*x) && x->int_value != 0; }
bool is_false(const ExprPtr& x) { return is_literal(*x) && x->int_value == 0; }

bool is_flag_as_number(const ExprPtr& x) {
  return x->kind == ExprKind::cast && x->type == Type::i32 && x->args[0]->type == Type::boolean;
}

bool may_regroup(const Expr& node) {
  if (node.kind == ExprKind::call)
    return node.type == Type::i32 && (node.func == Func::min || node.func == Func::max);
  if (node.kind != ExprKind::binary) return false;
  if (node.op == Op::logical_and || node.op == Op::logical_or) return true;
  return node.type == Type::i32 && (node.op == Op::add || node.op == Op::mul || node.op == Op::bit_and ||
                                    node.op == Op::bit_or || node.op == Op::bit_xor);
}

/// Whether `x op x` is x, so that an operand counts once.
bool is_idempotent(const Expr& node) {
  if (node.kind == ExprKind::call) return true;  // min and max
  return node.op == Op::logical_and || node.op == Op::logical_or || node.op == Op::bit_and ||
         node.op == Op::bit_or;
}

bool same_operation(const Expr& a, const Expr& b) {
  return a.kind == b.kind && a.type == b.type && (a.kind == ExprKind::call ? a.func == b.func : a.op == b.op);
}

}  // namespace

ExprPtr ExprBuilder::keep(ExprPtr expr) {
  int depth = 0;
  for (const ExprPtr& arg : expr->args) depth = std::max(depth, depths_[arg.get()]);
  depths_[expr.get()] = depth + 1;
  kept_.push_back(expr);
  return expr;
}

ExprPtr ExprBuilder::make(Expr node) {
  node.line = line_;
  node.column = column_;
  int depth = 0;
  for (const ExprPtr& arg : node.args) depth = std::max(depth, depths_[arg.get()]);
  if (depth >= kDeepChain && may_regroup(node)) return balanced(std::move(node));
  return keep(fold(std::move(node)));
}

/// The operands of the chain, in order; nothing where they are too many. An operand that is used twice counts
/// twice, so that each repetition of `x = x * x` doubles the operands. Where a second use changes nothing it
/// is left out.
std::optional<std::vector<ExprPtr>> ExprBuilder::operands_of(const Expr& chain) {
  std::vector<ExprPtr> operands, open(chain.args.rbegin(), chain.args.rend());
  std::unordered_set<const Expr*> seen;
  while (!open.empty()) {
    ExprPtr next = std::move(open.back());
    open.pop_back();
    if (is_idempotent(chain) && !seen.insert(next.get()).second) continue;
    if (--operands_left_ < 0) return std::nullopt;
    if (!same_operation(*next, chain))
      operands.push_back(std::move(next));
    else
      open.insert(open.end(), next->args.rbegin(), next->args.rend());
    if (operands.size() + open.size() > kMostOperands) return std::nullopt;
  }
  return operands;
}

/// The same operation over the same operands, no deeper than it must be. A chain of too many operands stays
/// as it is; where that is too deep the hook is refused for its depth.
ExprPtr ExprBuilder::balanced(Expr chain) {
  std::optional<std::vector<ExprPtr>> found = operands_of(chain);
  if (!found) return keep(fold(std::move(chain)));
  std::vector<ExprPtr> operands = *std::move(found);
  while (operands.size() > 1) {
    std::vector<ExprPtr> pairs;
    for (std::size_t i = 0; i + 1 < operands.size(); i += 2) {
      Expr pair = chain;
      pair.args = {operands[i], operands[i + 1]};
      pairs.push_back(keep(fold(std::move(pair))));
    }
    if (operands.size() % 2 == 1) pairs.push_back(operands.back());
    operands = std::move(pairs);
  }
  return operands.front();
}

int ExprBuilder::depth(const ExprPtr& x) const { return depths_.at(x.get()); }

ExprPtr ExprBuilder::integer(std::int64_t value) {
  return keep(make_int(static_cast<std::int32_t>(static_cast<std::uint32_t>(value))));
}
ExprPtr ExprBuilder::real(double value) { return keep(make_float(value)); }
ExprPtr ExprBuilder::boolean(bool value) { return keep(make_bool(value)); }

ExprPtr ExprBuilder::builtin(Builtin builtin, Type type) {
  return make({.kind = ExprKind::builtin, .type = type, .builtin = builtin});
}

ExprPtr ExprBuilder::param(int index, Type type) {
  return make({.kind = ExprKind::param, .type = type, .index = index});
}

ExprPtr ExprBuilder::read(int tensor, Type type, std::vector<ExprPtr> indices) {
  return make({.kind = ExprKind::read, .type = type, .index = tensor, .args = std::move(indices)});
}

ExprPtr ExprBuilder::unary(Op op, ExprPtr x) {
  if (op == Op::logical_not) return not_(std::move(x));
  const Type type = x->type;
  return make({.kind = ExprKind::unary, .type = type, .op = op, .args = {std::move(x)}});
}

ExprPtr ExprBuilder::not_(ExprPtr x) {
  if (x->kind == ExprKind::unary && x->op == Op::logical_not) return x->args[0];
  return make(
      {.kind = ExprKind::unary, .type = Type::boolean, .op = Op::logical_not, .args = {std::move(x)}});
}

/// flag == 1, flag != 0, ...: the flag itself, or its opposite.
ExprPtr ExprBuilder::compare_flag(Op op, const ExprPtr& flag, const ExprPtr& number) {
  const bool is_one = number->int_value == 1;
  if (!is_one && number->int_value != 0) return boolean(op == Op::ne);
  return is_one == (op == Op::eq) ? flag->args[0] : not_(flag->args[0]);
}

ExprBuilder::Signed ExprBuilder::join(const Signed& a, const Signed& b) {
  if (a.value == nullptr) return b;
  if (b.value == nullptr) return a;
  const auto make_binary = [&](Op op, const ExprPtr& x, const ExprPtr& y) {
    return make({.kind = ExprKind::binary, .type = Type::i32, .op = op, .args = {x, y}});
  };
  if (a.negative == b.negative) return {make_binary(Op::add, a.value, b.value), a.negative};
  return {a.negative ? make_binary(Op::sub, b.value, a.value) : make_binary(Op::sub, a.value, b.value),
          false};
}

/// A sum of three or more parts in the order a person writes it: row, what is the same everywhere, mixed,
/// column. Compilers order by other rules, (q_idx + kv_len) - (kv_idx + q_len), where nothing can leave the
/// loops whole. i32 wraps around, so any order has the same value. Null where the sum is short, or too long.
ExprPtr ExprBuilder::regrouped(Op op, const ExprPtr& a, const ExprPtr& b) {
  constexpr std::size_t kMostParts = 8;
  std::vector<Signed> parts, open = {{b, op == Op::sub}, {a, false}};
  std::int64_t constant = 0;
  while (!open.empty()) {
    const auto [x, negative] = open.back();
    open.pop_back();
    if (x->kind == ExprKind::binary && (x->op == Op::add || x->op == Op::sub)) {
      open.push_back({x->args[1], negative != (x->op == Op::sub)});
      open.push_back({x->args[0], negative});
    } else if (x->kind == ExprKind::unary && x->op == Op::neg) {
      open.push_back({x->args[0], !negative});
    } else if (is_literal(*x)) {
      constant += negative ? -x->int_value : x->int_value;
    } else {
      const auto opposite =
          std::find_if(parts.begin(), parts.end(), [&, y = x, sign = negative](const Signed& part) {
            return part.value == y && part.negative != sign;
          });
      if (opposite == parts.end())
        parts.push_back({x, negative});
      else
        parts.erase(opposite);
    }
    if (parts.size() + open.size() > kMostParts) return nullptr;
  }
  if (parts.size() < 3) return nullptr;
  Signed row, uniform, mixed, column;
  for (const bool negative : {false, true})
    for (const Signed& part : parts) {
      if (part.negative != negative) continue;
      const unsigned sides = bounds_.depends_on(*part.value).sides();
      Signed& group = sides == 0               ? uniform
                      : sides == DependsOn::q  ? row
                      : sides == DependsOn::kv ? column
                                               : mixed;
      group = join(group, part);
    }
  if (constant != 0) uniform = join(uniform, {integer(std::abs(constant)), constant < 0});
  Signed sum = row;
  if (row.value == nullptr) std::swap(sum, column);
  sum = join(join(join(sum, uniform), mixed), column);
  if (sum.value == nullptr) return integer(0);
  if (!sum.negative) return sum.value;
  return make({.kind = ExprKind::unary, .type = Type::i32, .op = Op::neg, .args = {sum.value}});
}

ExprPtr ExprBuilder::binary(Op op, ExprPtr a, ExprPtr b) {
  if ((op == Op::add || op == Op::sub) && a->type == Type::i32)
    if (ExprPtr sum = regrouped(op, a, b)) return sum;
  const bool is_compare = op >= Op::lt && op <= Op::ne;
  const bool is_logic = op == Op::logical_and || op == Op::logical_or;
  if ((op == Op::eq || op == Op::ne) && is_flag_as_number(a) && is_literal(*b)) return compare_flag(op, a, b);
  // A comparison with a constant flag is the other side, or its opposite.
  if (is_compare && a->type == Type::boolean && is_literal(*b))
    return is_true(b) == (op == Op::eq) ? a : not_(a);
  if (is_logic && a == b) return a;
  const Type type = is_compare || is_logic ? Type::boolean : a->type;
  return make({.kind = ExprKind::binary, .type = type, .op = op, .args = {std::move(a), std::move(b)}});
}

ExprPtr ExprBuilder::call(Func func, std::vector<ExprPtr> args) {
  const Type type = args[0]->type;
  return make({.kind = ExprKind::call, .type = type, .func = func, .args = std::move(args)});
}

ExprPtr ExprBuilder::cast(Type type, ExprPtr x) {
  if (x->type == type) return x;
  return make({.kind = ExprKind::cast, .type = type, .args = {std::move(x)}});
}

ExprPtr ExprBuilder::where(ExprPtr condition, ExprPtr a, ExprPtr b) {
  if (a == b) return a;
  if (condition->kind == ExprKind::unary && condition->op == Op::logical_not)
    return where(condition->args[0], std::move(b), std::move(a));
  if (a->type == Type::boolean) {
    if (is_true(a)) return is_false(b) ? condition : or_(condition, b);
    if (is_false(a)) return and_(not_(condition), b);
    if (is_false(b)) return and_(condition, a);
    if (is_true(b)) return or_(not_(condition), a);
  }
  const Type type = a->type;
  return make(
      {.kind = ExprKind::where, .type = type, .args = {std::move(condition), std::move(a), std::move(b)}});
}

}  // namespace fa
