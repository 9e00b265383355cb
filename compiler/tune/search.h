// The search for the fastest plan: which candidate to time next, for how long, and when to stop. It is an
// algorithm over an interface that times a plan, so it knows neither a clock nor a device.
//
// Candidates come in the order of their promise; the first is the default. Each is timed in turns with the
// leader, and only the ratio of the two counts: a clock that drifts, or another process that takes half of
// the machine, slows both. A turn in which that process came or went says nothing: of a plan's turns, the mean
// of the middle half counts. Successive halving: after each round the better half stays and is timed for twice
// as many runs. Plans next to the best three join while the share of plans that may be timed is not used up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace fa {

struct SearchSettings {
  double budget_seconds = 60;  // no turn begins after that
  double share = 0.25;         // of the candidates may be timed at all, but always `least`
  std::size_t least = 8;
  bool exhaustive = false;  // times every candidate in the first round
  int first_runs = 3;       // of each candidate in the first round
  // Runs of a plan before the other one's turn comes. A GPU's clock follows the power that a plan takes, and in long turns each
  // would have a clock of its own.
  int runs_of_turn = 16;
  // The last comparison is of the fastest runs of this search, not of turns: where what disturbs a plan only makes it slower, and
  // some plans more than others, as on a CPU.
  bool fastest_counts = false;
  double margin = 0.01;  // a plan replaces the default only where it is faster by more than this share
};

/// What is known of one candidate. Timings of an earlier search go on counting: see `search`.
struct PlanScore {
  std::size_t candidate = 0;
  int runs = 0;         // 0: not timed
  double ratio = 1;     // its seconds over those of the default
  double seconds = 0;   // the fastest measured; for people, no comparison uses it
  bool failed = false;  // it could not be built or run
};

class PlanTimer {
 public:
  virtual ~PlanTimer() = default;
  /// Seconds that one run of the candidate takes, found by that many runs. Nothing where it cannot be built or
  /// run, or where the search is stopped meanwhile.
  virtual std::optional<double> time(std::size_t candidate, int runs) = 0;
  /// These candidates will be timed next, in this order: what can be made ready for them may begin.
  virtual void expect(const std::vector<std::size_t>&) {}
  /// Seconds since the search began.
  virtual double elapsed() = 0;
  /// Whether the user wants the search to end now.
  virtual bool is_stopped() { return false; }
  /// After each candidate: what is known of it now. What this keeps, a later search can begin with.
  virtual void note(const PlanScore&) {}
  /// After each round and after each step of the last comparison: the best plan so far.
  virtual void leads(const PlanScore&) {}
};

struct SearchResult {
  std::size_t best = 0;
  double gain = 1;        // the default's seconds over the best plan's
  double seconds = 0;     // of the best plan
  std::size_t timed = 0;  // candidates that were timed, by this search or before
  std::size_t failed = 0;
  bool is_finished = false;  // else the budget ended it, or the user
  std::vector<PlanScore> scores;
};

/// What is searched: candidates by index, in the order of their promise.
struct SearchSpace {
  std::size_t count = 0;
  /// The candidates next to one.
  std::function<std::vector<std::size_t>(std::size_t candidate)> next_to = [](std::size_t) {
    return std::vector<std::size_t>{};
  };
  /// The most promising candidate of each kind, ascending: the order may be wrong about a kind as a whole.
  std::vector<std::size_t> first_of_kinds = {};
};

/// Searches the candidates. `known`: what an earlier search of the same ones noted; rounds that it has finished
/// are not repeated.
SearchResult search(const SearchSpace& space, const SearchSettings& settings, PlanTimer& timer,
                    const std::vector<PlanScore>& known = {});

}  // namespace fa
