// The cost model: how long one forward pass would take under a legal plan for a GPU.
#pragma once

#include <optional>

#include "compiler/schedule/plan.h"

namespace fa {

/// Clock cycles of one SM for one step of one CTA (tile_q x tile_kv), by the unit that spends them.
struct StepCost {
  double tensor = 0;   // the products, on tensor cores or by FFMA
  double smem = 0;     // fragments read from shared memory
  double softmax = 0;  // exp2, fp32 arithmetic, hooks, dropout, the rescaling of O
  double l2 = 0;       // K and V on their way into shared memory
  double total = 0;    // how long the SM is busy, with `ctas` CTAs that take turns
};

struct Cost {
  StepCost step;
  int ctas = 0;   // CTAs on an SM
  double ms = 0;  // the whole problem
};

StepCost step_cost(const Plan& plan, const CheckedSpec& spec, const Facts& facts, const Target& target,
                   int ctas);
/// `plan` must be legal. `share_of_tiles` is what the mask leaves of them, evenly over the rows; each costs a
/// whole step. Without it, what is known of the mask (share_of_tiles_kept).
Cost predict(const Plan& plan, const CheckedSpec& spec, const Facts& facts, const Target& target,
             const ProblemSize& size, std::optional<double> share_of_tiles = {});

/// What a built kernel takes of an SM, where it has been built: registers then are no estimate.
struct AsBuilt {
  int registers = 0;      // of a thread
  int shared_memory = 0;  // of a CTA, static and dynamic
  int spill_bytes = 0;    // written and read
  int looped_spills = 0;  // instructions of a loop that write or read them
  bool operator==(const AsBuilt&) const = default;

  /// A value that is put aside before the loops and taken up behind them costs nothing that can be measured.
  bool has_costly_spills() const { return looped_spills > 0; }
};

/// CTAs of a built plan that one SM holds; 0 where not even one fits.
int ctas_as_built(const Plan& plan, const AsBuilt& built, const Target& target);
/// The same as above for a kernel that is built: as many CTAs as its registers and shared memory leave room
/// for, and slower where it spills, not where the estimate says that it may.
Cost predict(const Plan& plan, const AsBuilt& built, const CheckedSpec& spec, const Facts& facts,
             const Target& target, const ProblemSize& size, double share_of_tiles);

/// The shortest time that the function above can return for a plan, whatever ptxas makes of it: without spills, and
/// with the best number of CTAs on an SM among those that accumulators, shared memory and threads leave room for.
double least_ms_as_built(const Plan& plan, const CheckedSpec& spec, const Facts& facts, const Target& target,
                         const ProblemSize& size, double share_of_tiles);

}  // namespace fa
