// Tiles of 256 rows, twice what others have at most.
#pragma once

#include "compiler/schedule/plan.h"

namespace fa {

/// Whether the plan's tile has 256 rows by eight warps of sm_80's kernels, and the spec suits that: in two stages where there is
/// no score_mod, in one where it adds a table's tile, which has two buffers then.
///
/// They read K and V from the L2 cache half as often, and wait for no copy of theirs or the table's. But all warps of an SM are
/// then at the same barriers, and none has products where the others have something else to do: that suits softmax and products
/// alone. Measured on an H200, 16 bits, d128, beside 128 x 64 in two CTAs of four warps: without a mask 0.94 to 0.97 of the time
/// from N2048 on (1.02 at N512 and N1024), where keys are dropped for all queries 0.95 to 0.98 where thousands are left (1.03 to
/// 1.06 of hundreds); with a table of 16 bits 0.96 at N8192. Causal masks take 0.98 to 1.14, others up to 2.9 times as long, other
/// score_mods 0.98 to 1.2; 32 keys a tile 1.10; d96 1.00 to 1.04, d64 1.00 to 1.14. Other head dims were not timed.
bool suits_many_rows(const Plan& plan, const CheckedSpec& spec, const Facts& facts, const Target& target);

}  // namespace fa
