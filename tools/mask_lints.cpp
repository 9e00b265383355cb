#include "tools/mask_lints.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <tuple>
#include <unordered_set>

#include "compiler/analysis/facts.h"
#include "compiler/analysis/tile_class_constant.h"
#include "tools/interpreter.h"
#include "tools/mask_parts.h"
#include "tools/mask_probe.h"
#include "tools/problem.h"
#include "tools/tiles.h"

namespace fa::tools {

namespace {

/// Where witnesses are looked for: as many queries as keys, more keys (a cache), one query.
constexpr std::pair<int, int> kLengths[] = {{256, 256}, {96, 320}, {1, 200}};

ProblemInputs inputs(int q_len, int kv_len) {
  return {.size = {.batch = 2, .num_q_heads = 4, .num_kv_heads = 2, .q_len = q_len, .kv_len = kv_len},
          .params = {},
          .files = {},
          .dropout = {}};
}

/// Calls `visit` on every node below `expr`, each once.
void for_each_node(const Expr& expr, const std::function<void(const Expr&)>& visit,
                   std::unordered_set<const Expr*>& seen) {
  if (!seen.insert(&expr).second) return;
  visit(expr);
  for (const ExprPtr& arg : expr.args) for_each_node(*arg, visit, seen);
}

/// Whether everything that `expr` reads has an example, so that a witness is the spec's own.
bool has_examples(const CheckedSpec& spec, const Expr& expr) {
  bool all = true;
  std::unordered_set<const Expr*> seen;
  for_each_node(
      expr,
      [&](const Expr& node) {
        if (node.kind == ExprKind::read)
          all = all && spec.tensors[static_cast<std::size_t>(node.index)].example != nullptr;
      },
      seen);
  return all;
}

class Linter {
 public:
  explicit Linter(const Spec& spec) : spec_(spec), checked_(spec.checked()), hooks_(lower(checked_)) {}

  std::vector<Diagnostic> run() {
    for (const ClampedRead& read : hooks_.clamped) clamped_read(read);
    if (checked_.mask_mod != nullptr && !known_already()) {
      mask_ = mask_parts(checked_);
      const std::optional<int> always = constant_class(derive_tile_classes(hooks_));
      if (always == 2)
        warn(mask_, "mask_mod keeps every key, whatever the lengths",
             "leave it out, or say what it should drop");
      else if (always == 0)
        warn(mask_, "mask_mod keeps no key, whatever the lengths: every output is 0", {});
      else if (has_examples(checked_, *checked_.mask_mod))
        by_witness();
    }
    std::stable_sort(found_.begin(), found_.end(), [](const Diagnostic& x, const Diagnostic& y) {
      return std::tie(x.place.line, x.place.column) < std::tie(y.place.line, y.place.column);
    });
    return std::move(found_);
  }

 private:
  /// The checker's own word on constants.
  bool known_already() const { return checked_.mask_mod->kind == ExprKind::literal; }

  void warn(const MaskPart& part, std::string message, std::string remedy) {
    found_.push_back(warning_at(checked_, part.line, part.column, std::move(message), std::move(remedy)));
  }

  void by_witness() {
    for (const auto& [q_len, kv_len] : kLengths) {
      const Problem problem = make_mask_problem(spec_, inputs(q_len, kv_len));
      if (empty_row(problem)) break;
    }
    const Problem problem = make_mask_problem(spec_, inputs(1024, 1024));
    const TileReport report = report_tiles(problem, 128, 64);
    if (report.scattered) {
      found_.push_back(warning_at(
          checked_, report.scattered->line, report.scattered->column,
          fmt::format(
              "{} of {} tiles are computed for {:.1f}% of their elements at q_len=1024, kv_len=1024: {}",
              report.counts[1], report.tiles(), 100 * report.share_kept, report.scattered->why),
          report.scattered->remedy));
    }
    if (report.counts[0] + report.counts[2] > 0 || report.really_empty + report.really_full == 0) return;
    for (const TileBlocker& blocker : report.blockers) {
      found_.push_back(warning_at(
          checked_, blocker.line, blocker.column,
          fmt::format("every tile counts as partial, though {} of {} at q_len=1024, kv_len=1024 keep {}: {}",
                      report.really_empty + report.really_full, report.partial_checked,
                      report.really_full == 0    ? "nothing"
                      : report.really_empty == 0 ? "everything"
                                                 : "all or nothing",
                      blocker.why),
          blocker.remedy));
      return;
    }
  }

  bool empty_row(const Problem& problem) {
    const MaskProbe probe(checked_, problem);
    const ProblemSize& size = problem.size;
    for (int b = 0; b < (probe.depends_on_b() ? size.batch : 1); ++b) {
      for (int h = 0; h < (probe.depends_on_h() ? size.num_q_heads : 1); ++h) {
        for (int q_idx = 0; q_idx < size.q_len; ++q_idx) {
          if (probe.brute_force(b, h, {q_idx, q_idx, 0, size.kv_len - 1}) != TileClass::empty) continue;
          std::string where = fmt::format("q_idx={}", q_idx);
          if (probe.depends_on_h()) where = fmt::format("h={} ", h) + where;
          if (probe.depends_on_b()) where = fmt::format("b={} ", b) + where;
          warn(mask_,
               fmt::format("a row can be empty: {} of q_len={}, kv_len={} keeps no key", where, size.q_len,
                           size.kv_len),
               "its output is 0 and its lse -inf; where that is not meant, let it keep a key, such as its "
               "own");
          return true;
        }
      }
    }
    return false;
  }

  void clamped_read(const ClampedRead& read) {
    std::string message = fmt::format("index {} of tensor '{}' cannot be proved in range and is clamped",
                                      read.dimension, read.tensor);
    for (const auto& [q_len, kv_len] : kLengths) {
      if (const auto witness = out_of_range(read, make_mask_problem(spec_, inputs(q_len, kv_len)))) {
        message = fmt::format("index {} of tensor '{}' can be out of range and is clamped: {}",
                              read.dimension, read.tensor, *witness);
        break;
      }
    }
    found_.push_back(warning_at(checked_, read.line, read.column, std::move(message),
                                "where the mask excludes the others anyway, nothing is wrong"));
  }

  /// An element where the index leaves the tensor, in words.
  std::optional<std::string> out_of_range(const ClampedRead& read, const Problem& problem) const {
    std::optional<std::string> witness;
    std::unordered_set<const Expr*> seen;
    const auto visit = [&](const Expr& node) {
      const auto dimension = static_cast<std::size_t>(read.dimension);
      if (witness || node.kind != ExprKind::read || dimension >= node.args.size()) return;
      const CheckedTensor& tensor = checked_.tensors[static_cast<std::size_t>(node.index)];
      const ExprPtr& index = node.args[dimension];
      if (tensor.info.name != read.tensor || index->line != read.line || index->column != read.column) return;
      const int extent = evaluate_scalar(tensor.extents[dimension], problem_environment(problem));
      witness = leaves(index, extent, problem);
    };
    if (checked_.score_mod) for_each_node(*checked_.score_mod, visit, seen);
    if (checked_.mask_mod) for_each_node(*checked_.mask_mod, visit, seen);
    return witness;
  }

  std::optional<std::string> leaves(const ExprPtr& index, int extent, const Problem& problem) const {
    bool plain = has_examples(checked_, *index);
    std::unordered_set<const Expr*> seen;
    for_each_node(
        *index,
        [&](const Expr& node) {
          plain = plain && node.kind != ExprKind::loop_var &&
                  !(node.kind == ExprKind::builtin && node.builtin == Builtin::score);
        },
        seen);
    if (!plain) return {};
    Interpreter interpreter(index);
    Environment environment = problem_environment(problem);
    const ProblemSize& size = problem.size;
    for (int q_idx = 0; q_idx < size.q_len; ++q_idx) {
      environment[Builtin::q_idx] = q_idx;
      for (int first = 0; first < size.kv_len; first += Interpreter::kLanes) {
        environment[Builtin::kv_idx] = first;
        const int lanes = std::min(Interpreter::kLanes, size.kv_len - first);
        const auto values = interpreter.evaluate_i32(environment, lanes);
        for (int i = 0; i < lanes; ++i) {
          const std::int32_t value = values[static_cast<std::size_t>(i)];
          if (value >= 0 && value < extent) continue;
          return fmt::format("it is {} of {} at b=0 h=0 q_idx={} kv_idx={}, q_len={} kv_len={}", value,
                             extent, q_idx, first + i, size.q_len, size.kv_len);
        }
      }
    }
    return {};
  }

  const Spec& spec_;
  const CheckedSpec& checked_;
  HookIr hooks_;
  MaskPart mask_;
  std::vector<Diagnostic> found_;
};

}  // namespace

std::vector<Diagnostic> lint(const Spec& spec) { return Linter(spec).run(); }

}  // namespace fa::tools
