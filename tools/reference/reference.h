// The fp64 reference: attention by the definition, one row at a time, written from the language's reference
// and sharing nothing with the compiler's lowering. Slow and plain on purpose.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "tools/problem/problem.h"

namespace fa::tools {

struct RowId {
  int b = 0, h = 0, q_idx = 0;
  bool operator==(const RowId&) const = default;
};

/// An element for which two correct targets may decide differently (tools/reference/interpreter.h), and that
/// decision.
struct DoubtfulElement {
  RowId row;
  int kv_idx = 0;
  int line = 0, column = 0;  // of the decision in the spec; 0: in a hook's file
  double left = 0, right = 0;
  bool is_undefined = false;  // the hook's file leaves the value open (C's uninitialised variables)
};

/// Rows of o and lse, and what their error bounds are made of (tools/reference/error_bound.h).
struct ReferenceRows {
  std::vector<RowId> rows;
  int head_dim_v = 0;
  std::vector<double> o;          // rows x head_dim_v, with dropout
  std::vector<double> magnitude;  // rows x head_dim_v: sum over kv of prob * |v|, with dropout's factor
  std::vector<double> lse;        // natural log, without dropout; -inf on an empty row
  std::vector<double> max_logit;  // largest finite |logit| among the scores kept; 0 on an empty row
  std::vector<double> hook_lse;   // how far errors of score_mod may move lse: sum over kv of prob * error
  std::vector<double> hook_o;     // rows x head_dim_v: and o
  std::vector<std::optional<DoubtfulElement>> doubts;  // of each row, the first
  std::vector<std::int64_t> kept;                      // scores the mask keeps
  /// rows x head_dim_v: whether a kernel may make NaN of it, because v has a NaN or an infinity in the column
  /// where the probability is 0, or rounds to it
  std::vector<std::uint8_t> may_be_nan{};

  bool is_empty(std::size_t row) const { return kept[row] == 0 || lse[row] == -kInfinity; }
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();
};

/// Every row where there are at most `limit`; else `limit` of them spread over heads and positions, always
/// the same ones, with the first and the last row of the problem among them.
std::vector<RowId> sample_rows(const ProblemSize& size, std::int64_t limit);

/// Called with the share that is done, in [0, 1], from any thread. May be empty.
using OnProgress = std::function<void(double done)>;

/// Computes `rows` of the problem, on all cores.
ReferenceRows reference_forward(const Problem& problem, const std::vector<RowId>& rows,
                                const OnProgress& on_progress = {});

/// How many scores the mask keeps in each row: the mask alone, without q, k and v.
std::vector<std::int64_t> count_kept(const Spec& spec, const Environment& environment,
                                     const std::vector<RowId>& rows, const OnProgress& on_progress = {});

}  // namespace fa::tools
