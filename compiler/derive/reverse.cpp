// A reduction is a region of its own: the nodes that change with its index. What they pass on to nodes
// outside is added up over the iterations by another reduction of the same range, so that every gradient
// outside is free of the index. A read inside keeps its gradient by iteration.
#include "compiler/derive/reverse.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "compiler/derive/rules.h"
#include "compiler/spec/check/gradient.h"
#include "compiler/spec/walk.h"

namespace fa {
namespace {

using Loops = std::vector<const Expr*>;

/// Of one spec. A score_mod in use takes a hundred nodes, and a spec as long as the language allows stays
/// below, unless many reductions nest: each is copied for each that it stands in.
constexpr std::size_t kMostMade = std::size_t{1} << 18;
constexpr int kDeepestMade = 2048;

/// Nodes in the order they were met, each with its gradient so far.
struct Sums {
  std::vector<ExprPtr> nodes;
  std::unordered_map<const Expr*, Sum> gradients;

  void add(const ExprPtr& node, const ExprPtr& gradient, Algebra& algebra) {
    if (!gradient) return;
    const auto [at, is_new] = gradients.try_emplace(node.get());
    if (is_new) nodes.push_back(node);
    at->second.add(gradient, algebra);
  }
};

class Reverse {
 public:
  Reverse(const CheckedSpec& spec, Algebra& algebra) : spec_(spec), algebra_(algebra) {}

  Gradients run(const ExprPtr& hook) {
    Loops loops;
    sweep(algebra_.unified(hook), algebra_.number(1), loops);
    return std::move(result_);
  }

 private:
  bool is_wanted(const Expr& leaf) const {
    if (leaf.kind == ExprKind::builtin) return leaf.builtin == Builtin::score;
    const auto at = static_cast<std::size_t>(leaf.index);
    if (leaf.kind == ExprKind::param) return spec_.params[at].grad;
    return leaf.kind == ExprKind::read && spec_.tensors[at].info.grad;
  }

  /// Whether a wanted gradient passes through the node.
  bool is_active(const Expr& expr) {
    if (const auto found = active_.find(&expr); found != active_.end()) return found->second;
    const auto unknown_args = [&](const Expr* node) {
      std::vector<const Expr*> args;
      for (const ExprPtr& arg : differentiable_args(*node))
        if (!active_.contains(arg.get())) args.push_back(arg.get());
      return args;
    };
    visit_operands_first(&expr, unknown_args, [&](const Expr* node) {
      bool active = is_wanted(*node);
      for (const ExprPtr& arg : differentiable_args(*node)) active = active_.at(arg.get()) || active;
      active_[node] = active;
    });
    return active_.at(&expr);
  }

  bool is_inside(const Expr& node, const Loops& loops) {
    return loops.empty() || algebra_.depends_on_loop(node, loops.back()->index);
  }

  /// The active nodes outside a reduction that its body reads, each once.
  const std::vector<ExprPtr>& outside(const ExprPtr& reduce) {
    if (const auto found = outside_.find(reduce.get()); found != outside_.end()) return found->second;
    std::vector<ExprPtr> nodes;
    visit_users_first(reduce->args[0], [&](const ExprPtr& node) {
      if (!is_active(*node)) return std::vector<ExprPtr>();
      if (algebra_.depends_on_loop(*node, reduce->index)) return operands(node);
      nodes.push_back(node);
      return std::vector<ExprPtr>();
    });
    return outside_[reduce.get()] = std::move(nodes);
  }

  /// What the node passes gradients on to; a reduction does to what stands outside of it.
  std::vector<ExprPtr> operands(const ExprPtr& node) {
    return node->kind == ExprKind::reduce ? outside(node) : differentiable_args(*node);
  }

  /// The nodes of a region, operands before their users.
  std::vector<ExprPtr> in_order(const ExprPtr& root, const Loops& loops) {
    std::vector<ExprPtr> nodes;
    const auto is_of_region = [&](const ExprPtr& node) {
      return is_active(*node) && is_inside(*node, loops);
    };
    const auto operands_inside = [&](const ExprPtr& node) {
      std::vector<ExprPtr> inside = operands(node);
      std::erase_if(inside, [&](const ExprPtr& operand) { return !is_of_region(operand); });
      return inside;
    };
    if (is_of_region(root))
      visit_operands_first(root, operands_inside, [&](const ExprPtr& node) { nodes.push_back(node); });
    return nodes;
  }

  /// Where what was made is too long, or nests too deep for those that walk it by recursion.
  void bound(const Expr& node) const {
    const bool is_long = algebra_.num_made() > kMostMade;
    if (!is_long && algebra_.deepest() <= kDeepestMade) return;
    throw_too_long(spec_, node.line, node.column,
                   is_long ? fmt::format("takes more than {} operations", kMostMade)
                           : fmt::format("nests more than {} deep", kDeepestMade));
  }

  /// Passes the gradient of `root` on through the region of the innermost of `loops`. Returns what nodes
  /// outside of the region get in one iteration.
  Sums sweep(const ExprPtr& root, const ExprPtr& gradient, Loops& loops) {
    const std::vector<ExprPtr> nodes = in_order(root, loops);
    Sums inside, outside;
    const auto give = [&](const ExprPtr& node, const ExprPtr& share) {
      if (is_active(*node)) (is_inside(*node, loops) ? inside : outside).add(node, share, algebra_);
    };
    give(root, gradient);
    for (std::size_t i = nodes.size(); i-- > 0;) {
      const ExprPtr& node = nodes[i];
      const ExprPtr total = inside.gradients[node.get()].total(algebra_);
      if (!total) continue;
      bound(*node);
      if (is_wanted(*node)) {
        keep(node, total, loops);
      } else if (node->kind == ExprKind::reduce) {
        const Sums shares = through(node, total, loops);
        for (const ExprPtr& arg : shares.nodes) give(arg, shares.gradients.at(arg.get()).total(algebra_));
      } else {
        for (const auto& [arg, share] : shares_of(node, total, algebra_)) give(arg, share);
      }
    }
    return outside;
  }

  /// Through a reduction, all of its iterations.
  Sums through(const ExprPtr& reduce, const ExprPtr& gradient, Loops& loops) {
    // With an index of its own: the gradient may hold the reduction itself, as that of log(sum(...)) does.
    const ExprPtr copy = algebra_.copy_of(*reduce);
    loops.push_back(copy.get());
    const Sums once = sweep(copy->args[0], gradient_of_iteration(reduce, copy, gradient), loops);
    loops.pop_back();
    Sums all;
    for (const ExprPtr& node : once.nodes)
      all.add(node, algebra_.sum_over(*copy, once.gradients.at(node.get()).total(algebra_)), algebra_);
    return all;
  }

  /// A sum passes its gradient on to every iteration; min and max to the first that has the extreme.
  ExprPtr gradient_of_iteration(const ExprPtr& reduce, const ExprPtr& copy, const ExprPtr& gradient) {
    if (reduce->reduction == Reduction::sum) return gradient;
    const Op op = reduce->reduction == Reduction::min ? Op::le : Op::ge;
    const ExprPtr search = algebra_.copy_of(*reduce);
    const ExprPtr has_it = algebra_.compare(op, search->args[0], reduce);
    const ExprPtr candidate =
        algebra_.choose(has_it, algebra_.loop_index(*search), algebra_.integer(search->count));
    const ExprPtr first = algebra_.over_iterations(*search, Reduction::min, candidate);
    return algebra_.choose(algebra_.compare(Op::eq, algebra_.loop_index(*copy), first), gradient, nullptr);
  }

  void keep(const ExprPtr& leaf, const ExprPtr& gradient, const Loops& loops) {
    if (leaf->kind == ExprKind::builtin) {
      result_.score = gradient;
    } else if (leaf->kind == ExprKind::param) {
      result_.params[leaf->index] = gradient;
    } else {
      keep_read(leaf, gradient, loops);
    }
  }

  /// Iterations that neither the place nor the value depends on are counted, not run.
  void keep_read(const ExprPtr& read, ExprPtr gradient, const Loops& loops) {
    Loops needed;
    for (std::size_t i = loops.size(); i-- > 0;) {
      if (algebra_.depends_on_loop(*read, loops[i]->index))
        needed.insert(needed.begin(), loops[i]);
      else
        gradient = algebra_.sum_over(*loops[i], gradient);
    }
    result_.reads.push_back({.read = read, .value = std::move(gradient), .loops = std::move(needed)});
  }

  const CheckedSpec& spec_;
  Algebra& algebra_;
  Gradients result_;
  std::unordered_map<const Expr*, bool> active_;
  std::unordered_map<const Expr*, std::vector<ExprPtr>> outside_;
};

}  // namespace

void throw_too_long(const CheckedSpec& spec, int line, int column, const std::string& what) {
  throw SpecError({Diagnostic{.place = {.file = spec.file, .line = line, .column = column},
                              .message = "the derivative of the hook, from here on, " + what,
                              .remedy = "let the hook compute less, or mark fewer of its names 'grad'",
                              .source_line = line > 0 ? spec.ast->source->line(line) : ""}});
}

Gradients differentiate(const CheckedSpec& spec, const ExprPtr& hook, Algebra& algebra) {
  return Reverse(spec, algebra).run(hook);
}

}  // namespace fa
