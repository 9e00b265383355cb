// The passes of the backward pass (templates/common/backward/).
#pragma once

#include <string_view>
#include <vector>

#include "compiler/emit/cuda/passes/passes.h"
#include "compiler/schedule/backward/backward_plan.h"

namespace fa {

/// lse and D of each query row. `overlap`: the passes after it may start while it runs.
PrintedPass print_row_stats_pass(const CheckedSpec& spec, const BackwardNeeds& needs, bool overlap);

/// The tile map of the walk `of` ("keys", "queries"); `classes.map` is there.
PrintedPass print_backward_map_pass(const TileClasses& classes, const ScoreClass& score_class,
                                    const TilePass& tiles, std::string_view of);

/// dK and dV, in one pass or two; what is captured goes with dK.
std::vector<PrintedPass> print_keys_passes(const CheckedSpec& spec, const Facts& facts,
                                           const BackwardPlan& plan, const BackwardNeeds& needs);

/// dQ, of what the keys' pass has summed.
PrintedPass print_query_sums_pass(const CheckedSpec& spec);
/// dQ, by a walk of its own.
PrintedPass print_queries_pass(const CheckedSpec& spec, const Facts& facts, const BackwardPlan& plan);

/// Captured gradients, of their exact sums.
PrintedPass print_exact_sums_pass(std::vector<ExactGradient> gradients);

}  // namespace fa
