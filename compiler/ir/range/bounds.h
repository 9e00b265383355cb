// What can be said about an integer expression before it is lowered: the interval of its values, what it
// depends on, and whether it stays below a bound such as a tensor's extent.
//
// Facts it starts from: the callers' contract of hook_ir.h (0 <= q_idx < q_len, 1 <= kv_len <= 2^24, ...),
// and that a launch is refused where a captured tensor's extent is below 1 (so `tensor t : f32[n]` and
// `tensor t : f32[ceil_div(kv_len, n)]` prove the param n >= 1). Proofs are structural: linear forms over the
// problem's names, floor division, min / max / clamp on either side, `%` and `&`. A value that may wrap
// around is never used in a proof.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/depends_on.h"
#include "compiler/ir/range/linear.h"
#include "compiler/spec/spec.h"

namespace fa {

class Bounds {
 public:
  explicit Bounds(const CheckedSpec& spec);

  /// Reductions of `expr` that are none of the spec's own.
  void add_loops(const Expr& expr) { collect_loops(expr); }

  /// The values an i32 expression may take (booleans are 0..1).
  Interval range(const Expr& expr);
  /// Whether an i32 +, -, *, << or negation may leave the 32-bit range.
  bool may_wrap(const Expr& expr);
  DependsOn depends_on(const Expr& expr);

  /// Proves 0 <= expr.
  bool non_negative(const Expr& expr);
  /// Proves expr < extent. `in_ranges`: a reduction's index stays below its run-time range, as it does in a
  /// loop and wherever the iteration counts, but not in the iterations that expanding adds.
  bool below(const Expr& expr, const Expr& extent, bool in_ranges = true);
  /// The value of an i32 comparison, where it can be proved.
  std::optional<bool> decide(Op op, const Expr& left, const Expr& right);

 private:
  struct Range {
    Interval interval;
    bool wraps = false;
  };
  Range compute_range(const Expr& expr);
  Range binary_range(const Expr& expr);
  Range call_range(const Expr& expr);
  const Range& ranged(const Expr& expr);
  const Linear& linear(const Expr& expr);
  Linear compute_linear(const Expr& expr);
  Linear atom(const Expr& expr);
  Linear floor_div(const Linear& numerator, std::int64_t divisor);
  Linear index_limit(Builtin builtin, bool upper);
  std::optional<Linear> uniform_bound(const Linear& form, bool upper);
  bool has_dynamic_range(const Expr* expr) const;
  Interval linear_range(const Linear& form);
  bool bounded(const Expr& expr, const Linear& limit, bool upper);
  bool bounded(const Linear& form, const Linear& limit, bool upper);
  bool bounded_at(const Linear::Term& part, const Linear& form, const Linear& limit, bool upper);
  bool bounded_by_limits(const Expr& expr, const Linear& limit, bool upper);
  bool structurally_bounded(const Expr& expr, const Linear& limit, bool upper);
  bool quotient_bounded(const Expr& quotient, const Linear& limit);
  void read_extents(const CheckedSpec& spec);
  bool proves_le(const Expr& left, const Expr& right, std::int64_t offset);
  void collect_loops(const Expr& expr);

  int head_dim_ = 0;
  int steps_ = 0;           // left for the present proof
  bool in_ranges_ = false;  // of the present proof
  std::vector<DType> tensor_types_;
  std::unordered_map<const Expr*, Range> ranges_;
  std::unordered_map<const Expr*, DependsOn> depends_;
  std::unordered_map<const Expr*, Linear> linears_;
  std::unordered_map<int, const Expr*> loops_;  // the reduction, by its index's id
  std::unordered_set<const Expr*> visited_;
  std::unordered_map<int, Interval> param_ranges_;
};

}  // namespace fa
