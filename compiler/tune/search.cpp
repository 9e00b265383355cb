#include "compiler/tune/search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace fa {
namespace {

constexpr std::size_t kCenters = 3;  // plans whose neighbours join
// The last comparison, of the best plan with the default: so many turns of so many runs, or more turns where they are shorter.
constexpr int kDuelTurns = 4;
constexpr int kMostRunsOfDuelTurn = 16;

/// One comparison of two plans.
struct Turn {
  double ratio = 0;  // of their seconds, as a logarithm
  double runs = 1;   // its weight
};

/// The mean of the middle half of the runs, by ratio.
double middle_half(std::vector<Turn> turns) {
  std::ranges::sort(turns, {}, &Turn::ratio);
  double all = 0, before = 0, sum = 0;
  for (const Turn& turn : turns) all += turn.runs;
  for (const Turn& turn : turns) {
    const double from = std::max(before, all / 4), to = std::min(before + turn.runs, all * 3 / 4);
    sum += std::max(0.0, to - from) * turn.ratio;
    before += turn.runs;
  }
  return sum / (all / 2);
}

class Search {
 public:
  Search(const SearchSpace& space, const SearchSettings& settings, PlanTimer& timer,
         const std::vector<PlanScore>& known)
      : space_(space),
        settings_(settings),
        timer_(timer),
        scores_(space.count),
        turns_(space.count),
        fastest_(space.count, std::numeric_limits<double>::infinity()) {
    const std::size_t count = space.count;
    for (std::size_t i = 0; i < count; ++i) scores_[i].candidate = i;
    for (const PlanScore& score : known)
      if (score.candidate < count && (score.runs > 0 || score.failed)) {
        scores_[score.candidate] = score;
        if (score.runs > 0)
          turns_[score.candidate] = {
              {.ratio = std::log(score.ratio), .runs = static_cast<double>(score.runs)}};
      }
    if (count == 0) return;
    while (default_ + 1 < count && scores_[default_].failed) ++default_;
    leader_ = proven_ = default_;
    for (const PlanScore& score : scores_)
      if (is_timed(score.candidate) && score.ratio < scores_[leader_].ratio) leader_ = score.candidate;
    // What several rounds have compared already holds, even if this search ends at once.
    if (scores_[leader_].runs > settings.first_runs && is_faster(leader_)) proven_ = leader_;
    most_ = settings.exhaustive
                ? count
                : std::min(count, std::max(settings.least, static_cast<std::size_t>(
                                                               static_cast<double>(count) * settings.share)));
  }

  SearchResult run() {
    SearchResult result;
    result.is_finished = !scores_.empty() && rounds() && duel();
    for (const PlanScore& score : scores_) {
      if (score.failed) ++result.failed;
      if (is_timed(score.candidate)) ++result.timed;
    }
    if (!scores_.empty()) {
      const PlanScore& best = scores_[proven_];
      result.best = proven_;
      result.gain = scores_[default_].ratio / best.ratio;
      result.seconds = best.seconds;
    }
    result.scores = std::move(scores_);
    return result;
  }

 private:
  bool is_timed(std::size_t candidate) const {
    return scores_[candidate].runs > 0 && !scores_[candidate].failed;
  }
  bool is_touched(std::size_t candidate) const {
    return scores_[candidate].runs > 0 || scores_[candidate].failed;
  }
  bool is_faster(std::size_t candidate) const {
    return scores_[candidate].ratio < scores_[default_].ratio * (1 - settings_.margin);
  }
  std::size_t touched() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(scores_, [&](const PlanScore& score) { return is_touched(score.candidate); }));
  }
  bool must_stop() { return timer_.is_stopped() || timer_.elapsed() >= settings_.budget_seconds; }

  /// Times a candidate; false where it fails.
  bool time(std::size_t candidate, int runs, double& seconds) {
    PlanScore& score = scores_[candidate];
    const std::optional<double> found = timer_.time(candidate, runs);
    if (!found && timer_.is_stopped()) return false;  // it was interrupted, and did not fail
    if (!found || !(*found > 0)) {
      score.failed = true;
      timer_.note(score);
      return false;
    }
    seconds = *found;
    score.seconds = score.seconds > 0 ? std::min(score.seconds, seconds) : seconds;
    fastest_[candidate] = std::min(fastest_[candidate], seconds);
    return true;
  }

  /// A comparison with `other` joins what is known of a candidate.
  void add(std::size_t candidate, std::size_t other, const Turn& turn) {
    PlanScore& score = scores_[candidate];
    turns_[candidate].push_back({.ratio = std::log(scores_[other].ratio) + turn.ratio, .runs = turn.runs});
    score.ratio = std::exp(middle_half(turns_[candidate]));
    score.runs += static_cast<int>(turn.runs);
    timer_.note(score);
  }

  /// One turn of a candidate with the leader, whose seconds just before are `before` (0: it was not timed). False where the
  /// leader fails or the search is stopped.
  bool time_turn(std::size_t candidate, int runs, double& before) {
    double seconds = 0, after = 0;
    if (before == 0 && !time(leader_, runs, before)) return false;
    if (!time(candidate, runs, seconds)) return !timer_.is_stopped();
    // Another process or a changed clock is seen by the two timings of the leader alike, if it lasts.
    if (!time(leader_, runs, after)) return false;
    add(candidate, leader_,
        {.ratio = std::log(seconds / std::sqrt(before * after)), .runs = static_cast<double>(runs)});
    before = after;
    return true;
  }

  /// Brings each of `plans` to `runs` runs, in turns with the leader; of short turns one each, then the next, so that what
  /// lasts for several of them disturbs no plan alone. False where the search has to stop.
  bool time_all(const std::vector<std::size_t>& plans, int runs) {
    timer_.expect(plans);
    // The leader's seconds just before the next candidate; 0: it was not timed just before.
    double before = 0;
    for (bool is_done = false; !is_done;) {
      is_done = true;
      for (const std::size_t candidate : plans) {
        const int missing = runs - scores_[candidate].runs;
        if (candidate == leader_ || scores_[candidate].failed || missing <= 0) continue;
        if (must_stop()) return false;
        if (!time_turn(candidate, std::min(missing, settings_.runs_of_turn), before)) return false;
        is_done = false;
      }
    }
    PlanScore& leader = scores_[leader_];
    if (leader.runs < runs) {
      turns_[leader_].push_back(
          {.ratio = std::log(leader.ratio), .runs = static_cast<double>(runs - leader.runs)});
      leader.runs = runs;
      timer_.note(leader);
    }
    return true;
  }

  /// The first plans of the order, the first ones of other kinds, and whatever an earlier search has timed.
  std::vector<std::size_t> first_pool() const {
    std::set<std::size_t> pool;
    const std::size_t seats = settings_.exhaustive ? most_ : std::max<std::size_t>(1, most_ * 7 / 10);
    const std::size_t most_scouts = most_ / 5;
    for (const std::size_t scout : space_.first_of_kinds)
      if (scout >= seats - most_scouts && pool.size() < most_scouts) pool.insert(scout);
    for (std::size_t i = 0; i < scores_.size() && pool.size() < seats; ++i) pool.insert(i);
    for (const PlanScore& score : scores_)
      if (is_touched(score.candidate)) pool.insert(score.candidate);
    return {pool.begin(), pool.end()};
  }

  /// Plans next to the best of a ranked pool that nobody has timed, as many as still may be.
  std::vector<std::size_t> around_best(const std::vector<std::size_t>& pool) const {
    std::vector<std::size_t> fresh;
    const std::size_t before = touched();
    for (std::size_t i = 0; i < std::min(pool.size(), kCenters); ++i)
      for (const std::size_t candidate : space_.next_to(pool[i]))
        if (!is_touched(candidate) && std::ranges::find(fresh, candidate) == fresh.end() &&
            before + fresh.size() < most_)
          fresh.push_back(candidate);
    return fresh;
  }

  /// Drops plans that failed, puts the fastest first and makes it the leader.
  void rank(std::vector<std::size_t>& pool) {
    std::erase_if(pool, [&](std::size_t candidate) { return !is_timed(candidate); });
    std::ranges::stable_sort(pool, {}, [&](std::size_t candidate) { return scores_[candidate].ratio; });
    if (!pool.empty()) leader_ = pool.front();
  }

  bool rounds() {
    std::vector<std::size_t> pool = first_pool();
    timer_.expect(pool);
    // The default is what all else is compared with: it leads first, and where it fails the next one is the
    // default.
    while (!is_timed(leader_)) {
      double seconds = 0;
      if (must_stop()) return false;
      if (time(leader_, 1, seconds)) {
        add(leader_, leader_, Turn{});
      } else if (timer_.is_stopped() || leader_ + 1 == scores_.size()) {
        return false;
      } else {
        proven_ = default_ = ++leader_;
      }
    }
    for (int runs = settings_.first_runs;; runs *= 2) {
      if (!time_all(pool, runs)) return false;
      rank(pool);
      for (std::vector<std::size_t> fresh = around_best(pool); !fresh.empty(); fresh = around_best(pool)) {
        if (!time_all(fresh, runs)) return false;
        pool.insert(pool.end(), fresh.begin(), fresh.end());
        rank(pool);
      }
      prove(leader_);
      if (pool.size() <= 2) return true;
      pool.resize(std::max<std::size_t>(2, (pool.size() + 1) / 2));
      last_runs_ = runs;
    }
  }

  /// The best plan and the default, alternately: what the gain is said to be, and whether there is one.
  bool duel() {
    const std::size_t best = leader_;
    if (best == default_) return true;
    leader_ = default_;
    const int runs = std::min(last_runs_, settings_.runs_of_turn);
    std::vector<Turn> turns;
    for (int turn = kDuelTurns * std::min(last_runs_, kMostRunsOfDuelTurn) / runs; turn > 0; --turn) {
      if (must_stop()) return false;
      double of_best = 0, of_default = 0;
      // The one that begins changes: what comes second may find a warmer cache.
      const bool ok = turn % 2 == 0 ? time(default_, runs, of_default) && time(best, runs, of_best)
                                    : time(best, runs, of_best) && time(default_, runs, of_default);
      if (!ok) return false;
      turns.push_back({.ratio = std::log(of_best / of_default), .runs = static_cast<double>(runs)});
    }
    turns_[best].clear();  // this comparison alone counts
    const double ratio =
        settings_.fastest_counts ? std::log(fastest_[best] / fastest_[default_]) : middle_half(turns);
    add(best, default_, {.ratio = ratio, .runs = static_cast<double>(turns.size()) * runs});
    prove(best);
    return true;
  }

  /// `candidate` is the best so far, unless it is no better than the default by more than the margin.
  void prove(std::size_t candidate) {
    proven_ = is_faster(candidate) ? candidate : default_;
    timer_.leads(scores_[proven_]);
  }

  const SearchSpace& space_;
  const SearchSettings& settings_;
  PlanTimer& timer_;
  std::vector<PlanScore> scores_;
  std::vector<std::vector<Turn>> turns_;  // of each candidate, with the default
  std::vector<double> fastest_;           // of each candidate, seconds, in this search
  std::size_t leader_ = 0, default_ = 0, proven_ = 0, most_ = 0;
  int last_runs_ = 1;
};

}  // namespace

SearchResult search(const SearchSpace& space, const SearchSettings& settings, PlanTimer& timer,
                    const std::vector<PlanScore>& known) {
  return Search(space, settings, timer, known).run();
}

}  // namespace fa
