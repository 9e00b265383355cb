// The plans that a search chooses from, in the order in which it should try them.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "compiler/schedule/plan.h"

namespace fa {

/// What the mask leaves of a plan's tiles at one of the sizes.
using ShareOfTiles = std::function<double(const Plan& plan, const ProblemSize& size)>;

/// Every tile that is legal, the default plan first. The target's model orders the rest, by the tiles that a mask leaves where
/// `share_of_tiles` is given and, on a GPU, Facts do not know them. At the end the first of them stand again, with the other
/// search_first, where they may have it.
std::vector<Plan> tuning_candidates(const CheckedSpec& spec, const Facts& facts, const Target& target,
                                    const ProblemSize& size, const ShareOfTiles& share_of_tiles = {});

/// Those that differ from plan `of` in one field, by one step among the values that the others have; in tile_kv also by the
/// step to the next multiple of 64, since tiles between two of these may take a tenth longer than both (sm_75, d64).
/// Not in min_ctas, which is the model's answer to the other fields.
std::vector<std::size_t> plans_next_to(const std::vector<Plan>& plans, std::size_t of);

/// The first plan of each family, tile_q and number of warps.
std::vector<std::size_t> first_of_kinds(const std::vector<Plan>& plans);

}  // namespace fa
