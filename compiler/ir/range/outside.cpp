// Each node's condition is that of the nodes that use it, or-ed, with what the use itself asks for: one walk
// from the hooks' roots to their leaves, users before what they use. A condition that names a reduction's
// index is closed by `any` where it goes on to something that does not.
#include "compiler/ir/range/outside.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/ir/lower/free_loops.h"
#include "compiler/ir/range/bounds.h"
#include "compiler/spec/check/fold.h"

namespace fa {
namespace {

ExprPtr binary(Op op, ExprPtr a, ExprPtr b) {
  const bool is_logical = op >= Op::lt && op <= Op::logical_or;
  const Type type = is_logical ? Type::boolean : a->type;
  return fold({.kind = ExprKind::binary, .type = type, .op = op, .args = {std::move(a), std::move(b)}});
}
/// Null stands for true.
ExprPtr both(const ExprPtr& a, const ExprPtr& b) {
  return a == nullptr ? b : b == nullptr ? a : binary(Op::logical_and, a, b);
}
ExprPtr opposite(const ExprPtr& a) {
  return fold({.kind = ExprKind::unary, .type = Type::boolean, .op = Op::logical_not, .args = {a}});
}
bool is_false(const ExprPtr& condition) {
  return condition != nullptr && is_literal(*condition) && condition->int_value == 0;
}

class Walk {
 public:
  explicit Walk(const CheckedSpec& spec) : spec_(spec), bounds_(spec) {}

  std::vector<OutsideRead> run() {
    if (spec_.mask_mod) add_root(spec_.mask_mod, nullptr);
    if (spec_.score_mod) add_root(spec_.score_mod, spec_.mask_mod);
    if (spec_.sink) add_root(spec_.sink, nullptr);
    for (auto node = order_.rbegin(); node != order_.rend(); ++node) reach_arguments(**node);
    for (const ExprPtr& node : order_) {
      const Reach& reach = reaches_[node.get()];
      if (!reach.is_reached) continue;
      if (node->kind == ExprKind::read) read(node, reach.when);
      if (node->kind == ExprKind::reduce && node->args.size() > 1) range(*node, reach.when);
    }
    return std::move(found_);
  }

 private:
  struct Reach {
    bool is_reached = false;
    ExprPtr when;  // null: always
  };

  void add_root(const ExprPtr& root, const ExprPtr& when) {
    collect(root);
    if (may_leave(*root)) reach(root, when);
  }

  /// Whether there is a read or a run-time range in it.
  bool may_leave(const Expr& x) {
    if (const auto known = may_leave_.find(&x); known != may_leave_.end()) return known->second;
    bool any = x.kind == ExprKind::read || (x.kind == ExprKind::reduce && x.args.size() > 1);
    for (const ExprPtr& arg : x.args) any |= may_leave(*arg);
    return may_leave_[&x] = any;
  }

  /// The nodes in order: each stands after those that it uses.
  void collect(const ExprPtr& x) {
    if (!may_leave(*x) || !seen_.insert(x.get()).second) return;
    if (x->kind == ExprKind::reduce) loops_[x->index] = x.get();
    for (const ExprPtr& arg : x->args) collect(arg);
    order_.push_back(x);
  }

  void reach_arguments(const Expr& x) {
    const auto found = reaches_.find(&x);
    if (found == reaches_.end()) return;  // only where the score decides
    const ExprPtr when = found->second.when;
    const auto& args = x.args;
    const bool is_logical = x.kind == ExprKind::binary && (x.op == Op::logical_and || x.op == Op::logical_or);
    if (x.kind == ExprKind::where) {
      reach(args[0], when);
      reach(args[1], both(when, args[0]));
      reach(args[2], both(when, opposite(args[0])));
    } else if (is_logical) {
      const bool is_and = x.op == Op::logical_and;
      reach(args[0], both(when, is_and ? args[1] : opposite(args[1])));
      reach(args[1], both(when, is_and ? args[0] : opposite(args[0])));
    } else if (x.kind == ExprKind::reduce && args.size() > 1) {
      const ExprPtr variable =
          std::make_shared<const Expr>(Expr{.kind = ExprKind::loop_var, .type = Type::i32, .index = x.index});
      reach(args[0], both(when, binary(Op::lt, variable, args[1])));
      reach(args[1], when);
    } else {
      for (const ExprPtr& arg : args) reach(arg, when);
    }
  }

  void reach(const ExprPtr& x, ExprPtr when) {
    if (!may_leave(*x)) return;
    if (when != nullptr) {
      when = closed(std::move(when), *x);
      if (is_false(when) || bounds_.depends_on(*when).has(DependsOn::score)) return;
      if (is_literal(*when)) when = nullptr;
    }
    Reach& known = reaches_[x.get()];
    if (!known.is_reached) {
      known = {.is_reached = true, .when = std::move(when)};
    } else if (known.when != nullptr && when != nullptr) {
      known.when = kept(binary(Op::logical_or, known.when, when));
    } else {
      known.when = nullptr;
    }
  }

  void read(const ExprPtr& node, const ExprPtr& when) {
    const Expr& x = *node;
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
      found({.kind = OutsideRead::Kind::index,
             .tensor = x.index,
             .dimension = static_cast<int>(i),
             .condition = both(when, outside),
             .indices = {index},
             .line = index->line,
             .column = index->column});
    }
    if (tensor.info.dtype != DType::i64) return;
    Expr upper = x;
    upper.count = 1;
    const ExprPtr sign = binary(Op::shr, node, make_int(31));
    found({.kind = OutsideRead::Kind::value,
           .tensor = x.index,
           .condition = both(when, binary(Op::ne, std::make_shared<const Expr>(upper), sign)),
           .indices = x.args,
           .line = x.line,
           .column = x.column});
  }

  void range(const Expr& x, const ExprPtr& when) {
    const ExprPtr& range = x.args[1];
    if (bounds_.range(*range).hi <= x.count) return;
    found({.kind = OutsideRead::Kind::range,
           .count = x.count,
           .condition = both(when, binary(Op::gt, range, make_int(x.count))),
           .indices = {range},
           .line = range->line,
           .column = range->column});
  }

  void found(OutsideRead read) {
    kept(read.condition);
    if (bounds_.depends_on(*read.condition).has(DependsOn::score)) return;
    const bool varies = std::any_of(read.indices.begin(), read.indices.end(),
                                    [&](const ExprPtr& index) { return !free_loops_.of(*index).empty(); });
    if (varies) read.indices.clear();
    static const Expr kNowhere{};
    read.condition = closed(std::move(read.condition), kNowhere);
    if (!is_false(read.condition)) found_.push_back(std::move(read));
  }

  /// `condition` for some value of each reduction's index that it names and `x` does not.
  ExprPtr closed(ExprPtr condition, const Expr& x) {
    kept(condition);
    const std::vector<int> free = free_loops_.of(*condition);
    const std::vector<int>& own = free_loops_.of(x);
    for (const int id : free) {
      if (std::find(own.begin(), own.end(), id) != own.end()) continue;
      Expr any = *loops_.at(id);
      any.type = Type::boolean;
      any.reduction = Reduction::any;
      any.args[0] = std::move(condition);
      condition = kept(std::make_shared<const Expr>(std::move(any)));
    }
    return condition;
  }

  /// Facts about a node are kept by its address, so none may be freed and its place be reused.
  ExprPtr kept(ExprPtr condition) {
    kept_.push_back(condition);
    return condition;
  }

  const CheckedSpec& spec_;
  Bounds bounds_;
  std::vector<ExprPtr> order_;
  std::unordered_set<const Expr*> seen_;
  std::unordered_map<const Expr*, bool> may_leave_;
  std::unordered_map<const Expr*, Reach> reaches_;
  FreeLoops free_loops_;
  std::unordered_map<int, const Expr*> loops_;
  std::vector<ExprPtr> kept_;
  std::vector<OutsideRead> found_;
};

CheckedSpec probe_of(const CheckedSpec& spec, ExprPtr condition, ExprPtr value) {
  CheckedSpec probe = spec;
  probe.score_from = probe.mask_from = {};
  probe.mask_mod = std::move(condition);
  probe.score_mod = std::move(value);
  probe.sink = nullptr;
  probe.has_dropout = false;
  return probe;
}

/// `factor` times an i32, as f32.
ExprPtr scaled(double factor, const ExprPtr& x) {
  const ExprPtr number = fold({.kind = ExprKind::cast, .type = Type::f32, .args = {x}});
  return binary(Op::mul, number, make_float(factor));
}

ExprPtr name(Builtin builtin) {
  return std::make_shared<const Expr>(Expr{.kind = ExprKind::builtin, .type = Type::i32, .builtin = builtin});
}

}  // namespace

std::vector<OutsideRead> outside_reads(const CheckedSpec& spec) { return Walk(spec).run(); }

CheckedSpec probe_rows(const CheckedSpec& spec, const std::vector<OutsideRead>& reads) {
  ExprPtr any = make_bool(false);
  for (const OutsideRead& read : reads) any = binary(Op::logical_or, any, read.condition);
  return probe_of(spec, any, scaled(-kProbeStep, name(Builtin::kv_idx)));
}

CheckedSpec probe_element(const CheckedSpec& spec, const OutsideRead& read, const Element& element,
                          const ExprPtr& shown) {
  const auto is = [](Builtin builtin, int value) { return binary(Op::eq, name(builtin), make_int(value)); };
  const ExprPtr here = both(both(is(Builtin::b, element.b), is(Builtin::h, element.h)),
                            both(is(Builtin::q_idx, element.q_idx), is(Builtin::kv_idx, element.kv_idx)));
  return probe_of(spec, both(here, read.condition), scaled(1, shown ? shown : make_int(0)));
}

}  // namespace fa
