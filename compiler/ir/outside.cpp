// A walk over the hooks' expressions with the condition under which each is looked at.
#include "compiler/ir/outside.h"

#include <set>
#include <unordered_map>

#include "compiler/ir/bounds.h"
#include "compiler/spec/fold.h"

namespace fa {
namespace {

constexpr unsigned kScore = 16;  // a DependsOn bit
// Sub-expressions are shared, conditions are not: past this many visits the rest is looked at without them.
constexpr std::size_t kMostVisits = 20000;

ExprPtr binary(Op op, ExprPtr a, ExprPtr b) {
  return fold(
      {.kind = ExprKind::binary, .type = Type::boolean, .op = op, .args = {std::move(a), std::move(b)}});
}
/// Null stands for true.
ExprPtr both(const ExprPtr& a, const ExprPtr& b) {
  return a == nullptr ? b : b == nullptr ? a : binary(Op::logical_and, a, b);
}
ExprPtr opposite(const ExprPtr& a) {
  return fold({.kind = ExprKind::unary, .type = Type::boolean, .op = Op::logical_not, .args = {a}});
}

class Walk {
 public:
  Walk(const CheckedSpec& spec, std::vector<OutsideRead>& found)
      : spec_(spec), bounds_(spec), found_(found) {}

  void visit(const ExprPtr& x, const ExprPtr& when) {
    if (!has_reads(*x)) return;
    if (++visits_ > kMostVisits && !without_condition_.insert(x.get()).second) return;
    const ExprPtr guard = visits_ > kMostVisits ? nullptr : when;
    const auto& args = x->args;
    if (x->kind == ExprKind::where) {
      visit(args[0], guard);
      visit(args[1], both(guard, args[0]));
      visit(args[2], both(guard, opposite(args[0])));
    } else if (x->kind == ExprKind::binary && (x->op == Op::logical_and || x->op == Op::logical_or)) {
      const bool is_and = x->op == Op::logical_and;
      visit(args[0], both(guard, is_and ? args[1] : opposite(args[1])));
      visit(args[1], both(guard, is_and ? args[0] : opposite(args[0])));
    } else if (x->kind == ExprKind::reduce) {
      const std::size_t before = found_.size();
      visit(args[0], guard);
      for (std::size_t i = before; i < found_.size(); ++i) close_loop(*x, found_[i]);
    } else {
      for (const ExprPtr& arg : args) visit(arg, guard);
      if (x->kind == ExprKind::read) read(*x, guard);
    }
  }

 private:
  void read(const Expr& x, const ExprPtr& when) {
    const CheckedTensor& tensor = spec_.tensors[static_cast<std::size_t>(x.index)];
    for (std::size_t i = 0; i < x.args.size(); ++i) {
      const ExprPtr& index = x.args[i];
      const ExprPtr& extent = tensor.extents[i];
      ExprPtr outside;
      if (!bounds_.non_negative(*index)) outside = binary(Op::lt, index, make_int(0));
      if (!bounds_.below(*index, *extent)) {
        const ExprPtr above = binary(Op::ge, index, extent);
        outside = outside == nullptr ? above : binary(Op::logical_or, outside, above);
      }
      if (outside == nullptr) continue;
      ExprPtr condition = both(when, outside);
      if ((bounds_.depends_on(*condition) & kScore) != 0) continue;
      found_.push_back({.tensor = x.index,
                        .dimension = static_cast<int>(i),
                        .condition = std::move(condition),
                        .index = index,
                        .line = index->line,
                        .column = index->column});
    }
  }

  static void close_loop(const Expr& loop, OutsideRead& read) {
    Expr any = loop;
    any.type = Type::boolean;
    any.reduction = Reduction::any;
    any.args = {read.condition};
    read.condition = std::make_shared<const Expr>(std::move(any));
    read.index = nullptr;
  }

  bool has_reads(const Expr& x) {
    if (x.kind == ExprKind::read) return true;
    if (const auto known = has_reads_.find(&x); known != has_reads_.end()) return known->second;
    bool any = false;
    for (const ExprPtr& arg : x.args) any |= has_reads(*arg);
    return has_reads_[&x] = any;
  }

  const CheckedSpec& spec_;
  Bounds bounds_;
  std::vector<OutsideRead>& found_;
  std::unordered_map<const Expr*, bool> has_reads_;
  std::set<const Expr*> without_condition_;
  std::size_t visits_ = 0;
};

CheckedSpec probe_of(const CheckedSpec& spec, ExprPtr condition, ExprPtr value) {
  CheckedSpec probe = spec;
  probe.score_from = probe.mask_from = {};
  probe.mask_mod = std::move(condition);
  probe.score_mod = std::move(value);
  probe.has_dropout = false;
  return probe;
}

/// `factor` times an i32, as f32.
ExprPtr scaled(double factor, const ExprPtr& x) {
  const ExprPtr number = fold({.kind = ExprKind::cast, .type = Type::f32, .args = {x}});
  return fold(
      {.kind = ExprKind::binary, .type = Type::f32, .op = Op::mul, .args = {number, make_float(factor)}});
}

ExprPtr name(Builtin builtin) {
  return std::make_shared<const Expr>(Expr{.kind = ExprKind::builtin, .type = Type::i32, .builtin = builtin});
}

}  // namespace

std::vector<OutsideRead> outside_reads(const CheckedSpec& spec) {
  std::vector<OutsideRead> found;
  Walk walk(spec, found);
  if (spec.mask_mod) walk.visit(spec.mask_mod, nullptr);
  if (spec.score_mod) walk.visit(spec.score_mod, spec.mask_mod);
  return found;
}

CheckedSpec probe_rows(const CheckedSpec& spec, const std::vector<OutsideRead>& reads) {
  ExprPtr any = make_bool(false);
  for (const OutsideRead& read : reads) any = binary(Op::logical_or, any, read.condition);
  return probe_of(spec, any, scaled(-kProbeStep, name(Builtin::kv_idx)));
}

CheckedSpec probe_element(const CheckedSpec& spec, const OutsideRead& read, const Element& element) {
  const auto is = [](Builtin builtin, int value) { return binary(Op::eq, name(builtin), make_int(value)); };
  const ExprPtr here = both(both(is(Builtin::b, element.b), is(Builtin::h, element.h)),
                            both(is(Builtin::q_idx, element.q_idx), is(Builtin::kv_idx, element.kv_idx)));
  return probe_of(spec, both(here, read.condition), scaled(1, read.index ? read.index : make_int(0)));
}

}  // namespace fa
