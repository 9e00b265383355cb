// The plans of one kernel: a table of at most four, each with the bucket of call sizes that it is for.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/program/bucket.h"
#include "compiler/schedule/plan.h"

namespace fa {

/// A line of the table.
struct PlanOfBucket {
  Bucket bucket;
  Choice choice;  // predicted_ms: at the shape below; 0 where no model was asked
  // A shape of the bucket that stands for it, and how long the plan for all other calls would take there.
  ProblemSize shape = {};
  double single_ms = 0;
};

/// 1 to kMostBuckets lines. A call takes the first line whose bucket holds it. The last line's bucket holds every
/// call: its plan is the one that the kernel would have if it had only one.
using PlanTable = std::vector<PlanOfBucket>;

PlanTable single_plan(Choice choice);
CallSize size_of(const ProblemSize& size);
const PlanOfBucket& line_for(const PlanTable& table, const CallSize& size);

/// A plan of its own must make a bucket's shapes faster by this factor, in the geometric mean, to be worth a second
/// cubin: more than the model errs by between plans that differ as much as these do.
constexpr double kLeastGain = 1.2;

/// The table by the cost model, `choice` being the plan for large calls (`choose`). One line on the host, which has no
/// model, and wherever no other plan promises kLeastGain.
PlanTable choose_plans(const CheckedSpec& spec, const Facts& facts, const Target& target,
                       const Choice& choice);

/// A plan that is known to be the fastest at one size, better than the model knows.
struct KnownPlan {
  ProblemSize size;
  Choice choice;
  bool is_measured = false;  // else predicted from built kernels
  // The table's own plan was found to be the best, and stands for the size whatever it is: `choice` says why alone.
  bool is_own = false;
};

/// The table with what is known, the latest first. A line takes the plan that is known for one of its sizes; where
/// several are, its bucket is divided between them, in the middle of their sizes on a logarithmic scale. Lines of
/// which nothing is known stay. What was measured comes before what was predicted in the same bucket.
PlanTable refine(const PlanTable& table, std::span<const KnownPlan> known);

}  // namespace fa
