// Two rewrites that keep the element's work small. Both are exact.
//
// Comparisons: `q_idx - kv_idx < window` compares a sum of row terms with a sum of column terms, so it
// becomes `kv_idx > q_idx - window`, whose right side is computed once a row. The sums must not wrap: every
// term's interval is known to be small, except at most one, which is clamped to where it can no longer change
// the outcome.
//
// Conversions: f32(kv_idx - q_idx) becomes f32(kv_idx) - f32(q_idx), likewise through abs, min, max, clamp
// and where, as long as every value stays within 2^24, where floats hold integers exactly. The element then
// needs no int-to-float conversion, which GPUs run at a quarter of the rate of an addition or less.
#include "compiler/ir/llvm.h"
// after llvm.h
#include <algorithm>
#include <utility>

#include "compiler/ir/lower/expr.h"

namespace fa {
namespace {

constexpr std::int64_t kSmall = std::int64_t{1} << 26;  // a term that needs no clamp
constexpr std::size_t kMostTerms = 6;

bool is_row(DependsOn depends) { return depends.has(DependsOn::q); }
bool is_column(DependsOn depends) { return depends.has(DependsOn::kv); }

Op mirrored(Op op) {
  switch (op) {
    case Op::lt:
      return Op::gt;
    case Op::le:
      return Op::ge;
    case Op::gt:
      return Op::lt;
    case Op::ge:
      return Op::le;
    default:
      return op;
  }
}

llvm::CmpInst::Predicate predicate_of(Op op) {
  switch (op) {
    case Op::lt:
      return llvm::CmpInst::ICMP_SLT;
    case Op::le:
      return llvm::CmpInst::ICMP_SLE;
    case Op::gt:
      return llvm::CmpInst::ICMP_SGT;
    case Op::ge:
      return llvm::CmpInst::ICMP_SGE;
    case Op::eq:
      return llvm::CmpInst::ICMP_EQ;
    default:
      return llvm::CmpInst::ICMP_NE;
  }
}

}  // namespace

/// constant + a sum of signed terms that does not wrap, except that `large` may be any i32.
struct ExprLowering::Sum {
  struct Term {
    const Expr* expr = nullptr;
    int sign = 1;
    DependsOn depends;
    Interval range;
  };
  std::vector<Term> terms;
  std::int64_t constant = 0;
  const Expr* large = nullptr;
  std::int64_t reach = 0;  // how far everything but `large` can get from 0
  bool separates =
      false;  // rows and columns both occur, no term mixes them, and `large` is the only large one

  void add(Bounds& bounds, const Expr& expr, int term_sign) {
    if (terms.size() > kMostTerms) return;  // a sum of shared sums can be exponentially long
    if (expr.kind == ExprKind::literal) {
      constant += term_sign * expr.int_value;
      return;
    }
    const bool splits = !bounds.may_wrap(expr);
    if (splits && expr.kind == ExprKind::unary && expr.op == Op::neg)
      return add(bounds, *expr.args[0], -term_sign);
    if (splits && expr.kind == ExprKind::binary && (expr.op == Op::add || expr.op == Op::sub)) {
      add(bounds, *expr.args[0], term_sign);
      return add(bounds, *expr.args[1], expr.op == Op::add ? term_sign : -term_sign);
    }
    terms.push_back({&expr, term_sign, bounds.depends_on(expr), bounds.range(expr)});
  }

  void finish() {
    // Uniform terms first, so that their sum is computed once.
    std::stable_sort(terms.begin(), terms.end(),
                     [](const Term& x, const Term& y) { return x.depends.sides() < y.depends.sides(); });
    DependsOn all;
    reach = std::abs(constant);
    separates = terms.size() <= kMostTerms;
    for (const Term& term : terms) {
      all |= term.depends;
      if (term.depends.is_of_element()) separates = false;
      if (term.range.magnitude() <= kSmall)
        reach += term.range.magnitude();
      else if (std::exchange(large, term.expr) != nullptr)
        separates = false;
    }
    separates = separates && is_row(all) && is_column(all) && reach <= 8 * kSmall;
  }

  int first_column_sign() const {
    for (const Term& term : terms)
      if (is_column(term.depends)) return term.sign;
    return 1;
  }
};

/// left - right
ExprLowering::Sum ExprLowering::gather(const Expr& left, const Expr& right) {
  Sum sum;
  sum.add(bounds_, left, 1);
  sum.add(bounds_, right, -1);
  sum.finish();
  return sum;
}

llvm::Value* ExprLowering::lower_int_compare(const Expr& expr) {
  const Expr& left = *expr.args[0];
  const Expr& right = *expr.args[1];
  if (const std::optional<bool> decided = bounds_.decide(expr.op, left, right))
    return builder_.getInt1(*decided);
  const auto is_magnitude = [&](const Expr& side) {
    return side.kind == ExprKind::call && side.func == Func::abs &&
           bounds_.range(*side.args[0]).lo > Interval{}.lo;
  };
  const auto is_remainder = [](const Expr& side, const Expr& other) {
    return side.kind == ExprKind::binary && side.op == Op::mod && other.kind == ExprKind::literal &&
           other.int_value == 0;
  };
  llvm::Value* split = nullptr;
  if (is_magnitude(left)) split = compare_magnitude(expr.op, *left.args[0], right);
  if (!split && is_magnitude(right)) split = compare_magnitude(mirrored(expr.op), *right.args[0], left);
  if (!split && is_remainder(left, right)) split = compare_remainder(expr.op, left);
  if (!split && is_remainder(right, left)) split = compare_remainder(expr.op, right);
  if (!split)
    if (Sum sum = gather(left, right); sum.separates) split = compare_by_side(expr.op, sum);
  if (split) return split;
  llvm::Value* a = lower(left);
  return builder_.CreateICmp(predicate_of(expr.op), a, lower(right));
}

/// `sign` times the row (and uniform) terms or the column terms of the sum, plus `constant`.
llvm::Value* ExprLowering::side_of(const Sum& sum, bool column, int sign, std::int64_t constant) {
  const auto is_here = [&](const Sum::Term& term) { return is_column(term.depends) == column; };
  const bool is_sum = constant != 0 || std::count_if(sum.terms.begin(), sum.terms.end(), is_here) > 1;
  llvm::Value* total = nullptr;
  for (const Sum::Term& term : sum.terms) {
    if (!is_here(term)) continue;
    llvm::Value* value = lower(*term.expr);
    const bool plus = term.sign * sign > 0;
    if (term.expr == sum.large && (is_sum || !plus))
      value = min_max(false, min_max(true, value, int_constant(-sum.reach - 1)), int_constant(sum.reach + 1));
    if (total == nullptr)
      total = plus ? value : builder_.CreateSub(int_constant(0), value, "side", false, true);
    else
      total = plus ? builder_.CreateAdd(total, value, "side", false, true)
                   : builder_.CreateSub(total, value, "side", false, true);
  }
  if (total == nullptr) return int_constant(constant);
  return constant == 0 ? total : builder_.CreateAdd(total, int_constant(constant), "side", false, true);
}

/// sum (op) 0, as a comparison of the column's side, written without a leading minus, with the row's.
llvm::Value* ExprLowering::compare_by_side(Op op, Sum& sum) {
  const int sign = sum.first_column_sign();
  llvm::Value* row = side_of(sum, false, -sign, -sign * sum.constant);
  llvm::Value* column = side_of(sum, true, sign, 0);
  return sign > 0 ? builder_.CreateICmp(predicate_of(op), column, row)
                  : builder_.CreateICmp(predicate_of(op), row, column);
}

/// |inner| (op) limit as two comparisons by side: |x| < y is x < y and -x < y, |x| > y is x > y or -x > y.
llvm::Value* ExprLowering::compare_magnitude(Op op, const Expr& inner, const Expr& limit) {
  if (op == Op::eq || op == Op::ne) return nullptr;
  Sum positive, negative;
  positive.add(bounds_, inner, 1);
  negative.add(bounds_, inner, -1);
  for (Sum* sum : {&positive, &negative}) {
    sum->add(bounds_, limit, -1);
    sum->finish();
    if (!sum->separates) return nullptr;
  }
  llvm::Value* first = compare_by_side(op, positive);
  llvm::Value* second = compare_by_side(op, negative);
  return op == Op::lt || op == Op::le ? builder_.CreateAnd(first, second) : builder_.CreateOr(first, second);
}

/// (row terms - column terms) % d == 0 exactly where both sides leave the same remainder, also for d = 0.
llvm::Value* ExprLowering::compare_remainder(Op op, const Expr& remainder) {
  const Expr& dividend = *remainder.args[0];
  const Expr& divisor = *remainder.args[1];
  if (op != Op::eq && op != Op::ne) return nullptr;
  if (bounds_.depends_on(divisor).has(DependsOn::q | DependsOn::kv | DependsOn::score)) return nullptr;
  Sum sum;
  sum.add(bounds_, dividend, 1);
  sum.finish();
  if (!sum.separates || sum.large != nullptr) return nullptr;
  const int sign = sum.first_column_sign();
  const Interval reach = {-sum.reach, sum.reach};
  const Known by = known(divisor);
  llvm::Value* row = side_of(sum, false, -sign, -sign * sum.constant);
  llvm::Value* column = side_of(sum, true, sign, 0);
  llvm::Value* row_remainder = emit_floor_mod(builder_, {row, reach}, by);
  return builder_.CreateICmp(predicate_of(op), row_remainder, emit_floor_mod(builder_, {column, reach}, by));
}

/// f32(expr), where every value of `expr` is within 2^24.
llvm::Value* ExprLowering::exact_float(const Expr& expr) {
  if (auto& floats = scope_of(expr).floats; floats.contains(&expr)) return floats[&expr];
  llvm::Value* value = exact_float_new(expr);
  return scope_of(expr).floats[&expr] = value;
}

llvm::Value* ExprLowering::exact_float_new(const Expr& expr) {
  const auto convert = [&] {
    llvm::Value* value = lower(expr);
    const std::string name = value->hasName() ? value->getName().str() + "_f" : std::string();
    return builder_.CreateSIToFP(value, builder_.getFloatTy(), name);
  };
  const auto is_exact = [&](const Expr& arg) {
    return bounds_.range(arg).within(-kExactInFloat, kExactInFloat);
  };
  const bool per_element = bounds_.depends_on(expr).has_all(DependsOn::q | DependsOn::kv);
  const std::size_t first = expr.kind == ExprKind::where ? 1 : 0;
  if (!per_element || bounds_.may_wrap(expr)) return convert();
  for (std::size_t i = first; i < expr.args.size(); ++i)
    if (expr.args[i]->type != Type::i32 || !is_exact(*expr.args[i])) return convert();

  const auto arg = [&](std::size_t i) { return exact_float(*expr.args[i]); };
  if (expr.kind == ExprKind::where) {
    llvm::Value* condition = lower(*expr.args[0]);
    llvm::Value* then = arg(1);
    return builder_.CreateSelect(condition, then, arg(2));
  }
  if (expr.kind == ExprKind::unary && expr.op == Op::neg)  // 0 - x: never -0, which no integer is
    return builder_.CreateFSub(llvm::ConstantFP::get(builder_.getFloatTy(), 0.0), arg(0));
  if (expr.kind == ExprKind::binary && (expr.op == Op::add || expr.op == Op::sub)) {
    llvm::Value* a = arg(0);
    return expr.op == Op::add ? builder_.CreateFAdd(a, arg(1), "sum")
                              : builder_.CreateFSub(a, arg(1), "difference");
  }
  if (expr.kind == ExprKind::call) {
    switch (expr.func) {
      case Func::abs:
        return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, arg(0));
      case Func::min:
      case Func::max: {
        llvm::Value* result = arg(0);
        for (std::size_t i = 1; i < expr.args.size(); ++i)
          result = min_max(expr.func == Func::max, result, arg(i));
        return result;
      }
      case Func::clamp: {
        llvm::Value* raised = min_max(true, arg(0), arg(1));
        return min_max(false, raised, arg(2));
      }
      default:
        break;
    }
  }
  return convert();
}

}  // namespace fa
