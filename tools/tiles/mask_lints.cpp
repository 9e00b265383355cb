#include "tools/tiles/mask_lints.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "compiler/analysis/facts.h"
#include "compiler/analysis/tiles/constant.h"
#include "compiler/ir/import/import.h"
#include "compiler/ir/range/bounds.h"
#include "compiler/ir/range/outside.h"
#include "tools/problem/problem.h"
#include "tools/reference/interpreter.h"
#include "tools/tiles/mask_parts.h"
#include "tools/tiles/mask_probe.h"
#include "tools/tiles/tiles.h"

namespace fa::tools {

namespace {

/// The lengths at which an element that shows a problem (a witness) is searched: as many queries as keys,
/// more keys (a cache), one query.
constexpr std::pair<int, int> kLengths[] = {{256, 256}, {96, 320}, {1, 200}};

/// The most elements of all tensors of a problem in which witnesses are searched.
constexpr std::int64_t kMostLinted = std::int64_t{1} << 27;

/// The highest cost of a condition that is evaluated at every element in search of a witness.
constexpr double kMostCost = 2000;
constexpr double kMostCostOfAll = 10 * kMostCost;  // of all such conditions: some seconds

ProblemInputs inputs(int q_len, int kv_len) {
  return {.size = {.batch = 2, .num_q_heads = 4, .num_kv_heads = 2, .q_len = q_len, .kv_len = kv_len},
          .params = {},
          .files = {},
          .dropout = {}};
}

/// A problem to look for witnesses in; nothing where the spec has none of these lengths, or a huge one.
std::optional<Problem> example(const Spec& spec, int q_len, int kv_len) {
  const ProblemInputs given = inputs(q_len, kv_len);
  if (!tensors_fit(spec, given, kMostLinted)) return std::nullopt;
  return make_mask_problem(spec, given);
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
  explicit Linter(const Spec& spec)
      : spec_(spec),
        checked_(spec.checked()),
        imported_(import_hooks(checked_)),
        outside_(outside_reads(imported_)),
        hooks_(lower(checked_)) {}

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
  /// Whether the mask is a constant, of which the checker has warned already.
  bool known_already() const { return checked_.mask_mod->kind == ExprKind::literal; }

  void warn(const MaskPart& part, std::string message, std::string remedy) {
    found_.push_back(warning_at(checked_, part.line, part.column, std::move(message), std::move(remedy)));
  }

  void by_witness() {
    mask_code_ = std::make_shared<const MaskCode>(checked_);
    for (const auto& [q_len, kv_len] : kLengths) {
      const std::optional<Problem> problem = example(spec_, q_len, kv_len);
      if (problem && empty_row(*problem)) break;
    }
    const std::optional<Problem> problem = example(spec_, 1024, 1024);
    if (!problem) return;
    const TileReport report = report_tiles(*problem, 128, 64, mask_code_);
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
    const MaskProbe probe(mask_code_, problem);
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
    const std::string index = fmt::format("index {} of tensor '{}'", read.dimension, read.tensor);
    for (const auto& [q_len, kv_len] : kLengths) {
      const std::optional<Problem> problem = example(spec_, q_len, kv_len);
      const auto witness = problem ? out_of_range(read, *problem) : std::nullopt;
      if (!witness) continue;
      found_.push_back(
          warning_at(checked_, read.line, read.column,
                     fmt::format("{} can be out of range and is clamped: {}", index, *witness),
                     "the nearest element is read there; where that is not meant, correct the index, "
                     "or choose by where(...)"));
      return;
    }
    found_.push_back(warning_at(
        checked_, read.line, read.column, fmt::format("{} cannot be proved in range and is clamped", index),
        checked_.has_mask_mod() ? "where the mask excludes the others anyway, nothing is wrong"
                                : "min, max, clamp and % are seen by the proof, conditions are not"));
  }

  /// Describes an element where the index leaves the tensor and the value that is read matters.
  std::optional<std::string> out_of_range(const ClampedRead& read, const Problem& problem) {
    for (const OutsideRead& outside : outside_) {
      const bool is_it =
          outside.kind == OutsideRead::Kind::index && outside.dimension == read.dimension &&
          imported_.tensors[static_cast<std::size_t>(outside.tensor)].info.name == read.tensor &&
          outside.line == read.line && outside.column == read.column;
      if (!is_it || !has_examples(imported_, *outside.condition)) continue;
      const double steps = cost(*outside.condition);
      if (steps > kMostCost || steps > cost_left_) continue;
      cost_left_ -= steps;
      if (auto words = witness(outside, problem)) return words;
    }
    return {};
  }

  std::optional<std::string> witness(const OutsideRead& outside, const Problem& problem) const {
    const DependsOn depends = Bounds(imported_).depends_on(*outside.condition);
    const ProblemSize& size = problem.size;
    Interpreter condition(outside.condition);
    Environment environment = problem_environment(problem);
    for (int b = 0; b < (depends.has(DependsOn::b) ? size.batch : 1); ++b)
      for (int h = 0; h < (depends.has(DependsOn::h) ? size.num_q_heads : 1); ++h)
        for (int q_idx = 0; q_idx < size.q_len; ++q_idx)
          for (int first = 0; first < size.kv_len; first += Interpreter::kLanes) {
            environment[Builtin::b] = b;
            environment[Builtin::h] = h;
            environment[Builtin::q_idx] = q_idx;
            environment[Builtin::kv_idx] = first;
            const auto holds =
                condition.evaluate_i32(environment, std::min(Interpreter::kLanes, size.kv_len - first));
            const auto at =
                std::find_if(holds.begin(), holds.end(), [](std::int32_t lane) { return lane != 0; });
            if (at == holds.end()) continue;
            environment[Builtin::kv_idx] += static_cast<std::int32_t>(at - holds.begin());
            return in_words(outside, environment);
          }
    return {};
  }

  std::string in_words(const OutsideRead& outside, Environment environment) const {
    const CheckedTensor& tensor = imported_.tensors[static_cast<std::size_t>(outside.tensor)];
    const int extent =
        evaluate_scalar(tensor.extents[static_cast<std::size_t>(outside.dimension)], environment);
    const std::string what =
        outside.indices.empty()
            ? fmt::format("it leaves 0 to {}", extent - 1)
            : fmt::format("it is {} of {}", evaluate_scalar(outside.indices[0], environment), extent);
    return fmt::format("{} at b={} h={} q_idx={} kv_idx={}, q_len={} kv_len={}", what,
                       environment[Builtin::b], environment[Builtin::h], environment[Builtin::q_idx],
                       environment[Builtin::kv_idx], environment[Builtin::q_len],
                       environment[Builtin::kv_len]);
  }

  /// About how many operations one element takes: nodes, times the steps of the longest reductions in each
  /// other.
  static double cost(const Expr& expr) {
    std::unordered_map<const Expr*, double> steps;
    const std::function<double(const Expr&)> steps_of = [&](const Expr& node) {
      if (const auto known = steps.find(&node); known != steps.end()) return known->second;
      double most = 1;
      for (const ExprPtr& arg : node.args) most = std::max(most, steps_of(*arg));
      if (node.kind == ExprKind::reduce) most *= node.count;
      return steps[&node] = most;
    };
    const double longest = steps_of(expr);
    return longest * static_cast<double>(steps.size());
  }

  const Spec& spec_;
  const CheckedSpec& checked_;
  const CheckedSpec imported_;  // hooks from files as expressions
  const std::vector<OutsideRead> outside_;
  HookIr hooks_;
  MaskPart mask_;
  std::shared_ptr<const MaskCode> mask_code_;  // for all lengths
  double cost_left_ = kMostCostOfAll;
  std::vector<Diagnostic> found_;
};

}  // namespace

std::vector<Diagnostic> lint(const Spec& spec) { return Linter(spec).run(); }

}  // namespace fa::tools
