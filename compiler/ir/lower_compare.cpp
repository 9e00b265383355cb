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

#include "compiler/ir/lower_expr.h"

namespace fa {
namespace {

constexpr unsigned kQ = 4, kKv = 8, kScore = 16;        // DependsOn bits
constexpr std::int64_t kExact = std::int64_t{1} << 24;  // floats hold these integers
constexpr std::int64_t kSmall = std::int64_t{1} << 26;  // a term that needs no clamp
constexpr std::size_t kMostTerms = 6;

struct SumTerm {
  const Expr* expr = nullptr;
  int sign = 1;
  unsigned depends = 0;
  Interval range;
};

struct Sum {
  std::vector<SumTerm> terms;
  std::int64_t constant = 0;
};

// Stops soon after kMostTerms: a sum of shared sums can be exponentially long.
void gather(Bounds& bounds, const Expr& expr, int sign, Sum& sum) {
  if (sum.terms.size() > kMostTerms) return;
  if (expr.kind == ExprKind::literal) {
    sum.constant += sign * expr.int_value;
    return;
  }
  const bool splits = !bounds.may_wrap(expr);
  if (splits && expr.kind == ExprKind::unary && expr.op == Op::neg)
    return gather(bounds, *expr.args[0], -sign, sum);
  if (splits && expr.kind == ExprKind::binary && (expr.op == Op::add || expr.op == Op::sub)) {
    gather(bounds, *expr.args[0], sign, sum);
    return gather(bounds, *expr.args[1], expr.op == Op::add ? sign : -sign, sum);
  }
  sum.terms.push_back({&expr, sign, bounds.depends_on(expr), bounds.range(expr)});
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

llvm::Value* ExprLowering::lower_int_compare(const Expr& expr) {
  const Expr& left = *expr.args[0];
  const Expr& right = *expr.args[1];
  if (const std::optional<bool> decided = bounds_.decide(expr.op, left, right))
    return builder_.getInt1(*decided);
  if (llvm::Value* split = compare_by_side(expr)) return split;
  llvm::Value* a = lower(left);
  return builder_.CreateICmp(predicate_of(expr.op), a, lower(right));
}

/// Null where the comparison does not mix row and column terms, or cannot be split exactly.
llvm::Value* ExprLowering::compare_by_side(const Expr& expr) {
  Sum sum;  // left - right, compared with 0
  gather(bounds_, *expr.args[0], 1, sum);
  gather(bounds_, *expr.args[1], -1, sum);
  if (sum.terms.size() > kMostTerms) return nullptr;
  unsigned all = 0;
  const SumTerm* large = nullptr;
  std::int64_t reach = std::abs(sum.constant);  // how far everything but `large` can get from 0
  for (const SumTerm& term : sum.terms) {
    all |= term.depends;
    if ((term.depends & kQ && term.depends & kKv) || term.depends & kScore) return nullptr;
    if (term.range.magnitude() <= kSmall)
      reach += term.range.magnitude();
    else if (std::exchange(large, &term) != nullptr)
      return nullptr;
  }
  if (!(all & kQ) || !(all & kKv) || reach > 8 * kSmall) return nullptr;

  // Uniform terms first, so that their sum is computed once.
  std::stable_sort(sum.terms.begin(), sum.terms.end(), [](const SumTerm& x, const SumTerm& y) {
    return (x.depends & (kQ | kKv)) < (y.depends & (kQ | kKv));
  });
  large = nullptr;
  for (const SumTerm& term : sum.terms)
    if (term.range.magnitude() > kSmall) large = &term;
  const SumTerm& first_column = *std::find_if(sum.terms.begin(), sum.terms.end(),
                                              [](const SumTerm& term) { return (term.depends & kKv) != 0; });
  const int column_sign = first_column.sign;  // the column side is written without a leading minus

  const auto side = [&](bool column, int side_sign, std::int64_t constant) {
    llvm::Value* total = nullptr;
    const bool is_sum =
        constant != 0 || std::count_if(sum.terms.begin(), sum.terms.end(), [&](const SumTerm& term) {
                           return ((term.depends & kKv) != 0) == column;
                         }) > 1;
    for (const SumTerm& term : sum.terms) {
      if (((term.depends & kKv) != 0) != column) continue;
      llvm::Value* value = lower(*term.expr);
      const bool plus = term.sign * side_sign > 0;
      if (&term == large && (is_sum || !plus))
        value = min_max(false, min_max(true, value, int_constant(-reach - 1)), int_constant(reach + 1));
      if (total == nullptr)
        total = plus ? value : builder_.CreateSub(int_constant(0), value, "side", false, true);
      else
        total = plus ? builder_.CreateAdd(total, value, "side", false, true)
                     : builder_.CreateSub(total, value, "side", false, true);
    }
    if (total == nullptr) return int_constant(constant);
    return constant == 0 ? total : builder_.CreateAdd(total, int_constant(constant), "side", false, true);
  };
  // column + row (op) 0: either `column (op) -row`, or with a negative column `row (op) -column`.
  llvm::Value* row = side(false, -column_sign, -column_sign * sum.constant);
  llvm::Value* column = side(true, column_sign, 0);
  return column_sign > 0 ? builder_.CreateICmp(predicate_of(expr.op), column, row)
                         : builder_.CreateICmp(predicate_of(expr.op), row, column);
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
  const auto is_exact = [&](const Expr& arg) { return bounds_.range(arg).within(-kExact, kExact); };
  const unsigned depends = bounds_.depends_on(expr);
  const bool per_element = (depends & kQ) && (depends & kKv);
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
