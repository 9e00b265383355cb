// The buckets that the cost model asks for. It is asked about sample shapes, from an eighth of a CTA an SM to 16 and
// from 512 keys to 32,768, self-attention where the work allows it. What it finds most often: a GPU that large tiles
// would leave half empty should take smaller ones.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "compiler/schedule/buckets/plan_table.h"
#include "compiler/schedule/cost.h"
#include "compiler/schedule/mask_tiles.h"

namespace fa {
namespace {

// Buckets end at one of these.
constexpr std::array kCtasAnSm{0.125, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 4.0, 16.0};
constexpr std::array kKvLens{512, 1024, 4096, 32768};
constexpr std::size_t kNumSamples = kCtasAnSm.size() * kKvLens.size();
constexpr std::size_t kLeastSamples = 4;  // of a bucket: with fewer it would be fitted to single shapes
constexpr int kMostColumnsOfMask =
    128;                    // wider tiles, which the model likes for few CTAs, cross masks too often
constexpr int kHeads = 16;  // of a sample with that many or more, over its batch entries

int ctas_of(std::size_t row, const Target& target) {
  return std::max(1, static_cast<int>(kCtasAnSm[row] * target.num_sms));
}

/// The shape of about `ctas` CTAs of work over `kv_len` keys.
ProblemSize sample(int ctas, int kv_len) {
  const int q_len = std::min(kv_len, ctas * kRowsOfCta);
  const int heads = std::max(1, ctas * kRowsOfCta / q_len);
  const int batch = std::max(1, heads / kHeads);
  const int of_one = std::min(heads, kHeads);
  return {.batch = batch, .num_q_heads = of_one, .num_kv_heads = of_one, .q_len = q_len, .kv_len = kv_len};
}

/// A plan, and the logarithm of its time at each sample, as choose.cpp ranks plans: rows of kCtasAnSm, columns of kKvLens.
struct Timed {
  Plan plan;
  std::array<double, kNumSamples> log_ms;
};

/// Samples, ends included.
struct Samples {
  std::size_t first_row = 0, last_row = kCtasAnSm.size() - 1;
  std::size_t first_column = 0, last_column = kKvLens.size() - 1;

  std::size_t count() const { return (last_row - first_row + 1) * (last_column - first_column + 1); }
  /// The largest calls belong to the plan for all others.
  bool has_largest() const { return last_row + 1 == kCtasAnSm.size() && last_column + 1 == kKvLens.size(); }

  void for_each(const auto& take) const {
    for (std::size_t row = first_row; row <= last_row; ++row)
      for (std::size_t column = first_column; column <= last_column; ++column)
        take(row * kKvLens.size() + column);
  }
};

struct Leaf {
  Samples samples;
  std::size_t plan = 0;
};

/// A part of a leaf that another plan should have.
struct Cut {
  std::size_t leaf = 0;
  Samples part, rest;
  std::size_t plan = 0;
  double gain = 0;  // the sum of the samples' logarithms
};

class Tree {
 public:
  /// The first of `plans` is the one for all calls.
  explicit Tree(const std::vector<Timed>& plans) : plans_(plans) {
    while (leaves_.size() < kMostBuckets) {
      const std::optional<Cut> cut = best_cut();
      if (!cut) break;
      leaves_[cut->leaf].samples = cut->rest;
      leaves_.push_back({.samples = cut->part, .plan = cut->plan});
    }
  }

  const std::vector<Leaf>& leaves() const { return leaves_; }

 private:
  void consider(std::size_t leaf, const Samples& part, const Samples& rest, std::optional<Cut>& best) const {
    if (part.has_largest() || part.count() < kLeastSamples) return;
    const Timed& now = plans_[leaves_[leaf].plan];
    const double least = std::log(kLeastGain) * static_cast<double>(part.count());
    for (std::size_t plan = 0; plan < plans_.size(); ++plan) {
      double gain = 0;
      part.for_each([&](std::size_t at) { gain += now.log_ms[at] - plans_[plan].log_ms[at]; });
      if (gain >= least && (!best || gain > best->gain))
        best = {.leaf = leaf, .part = part, .rest = rest, .plan = plan, .gain = gain};
    }
  }

  std::optional<Cut> best_cut() const {
    std::optional<Cut> best;
    for (std::size_t leaf = 0; leaf < leaves_.size(); ++leaf) {
      const Samples& all = leaves_[leaf].samples;
      const auto divide = [&](std::size_t Samples::* first, std::size_t Samples::* last) {
        for (std::size_t end = all.*first; end < all.*last; ++end) {
          Samples low = all, high = all;
          low.*last = end;
          high.*first = end + 1;
          consider(leaf, low, high, best);
          consider(leaf, high, low, best);
        }
      };
      divide(&Samples::first_row, &Samples::last_row);
      divide(&Samples::first_column, &Samples::last_column);
    }
    return best;
  }

  const std::vector<Timed>& plans_;
  std::vector<Leaf> leaves_ = std::vector<Leaf>(1);
};

class Buckets {
 public:
  Buckets(const CheckedSpec& spec, const Facts& facts, const Target& target, const Choice& choice)
      : spec_(spec), facts_(facts), target_(target), single_(choice) {
    for (const Plan& plan : candidates()) plans_.push_back(timed(plan));
  }

  PlanTable table() const {
    const Tree tree(plans_);
    PlanTable lines;
    for (std::size_t leaf = 1; leaf < tree.leaves().size(); ++leaf)
      lines.push_back(line(tree.leaves()[leaf]));
    PlanOfBucket& rest = lines.emplace_back(single_plan(single_).front());
    rest.choice = single_;
    return lines;
  }

 private:
  /// The chosen plan, then those that `choose` would consider. Of plans that the model finds alike the plainest.
  std::vector<Plan> candidates() {
    struct Candidate {
      Plan plan;
      double ms;
    };
    std::vector<Candidate> kept;
    const auto is_alike = [](const Plan& a, const Plan& b) {
      return a.family == b.family && a.tile_q == b.tile_q && a.tile_kv == b.tile_kv && a.warps == b.warps &&
             a.min_ctas == b.min_ctas;
    };
    const auto complexity = [](const Plan& plan) { return 2 * plan.stages + (plan.q_in_registers ? 1 : 0); };
    const bool is_masked = facts_.has_mask && !facts_.mask_is_always_true;
    for (const Plan& plan : legal_plans(spec_, target_)) {
      if (!is_preferable(plan, spec_, facts_) || (is_masked && plan.tile_kv > kMostColumnsOfMask)) continue;
      const double ms = predict(plan, spec_, facts_, target_, {}).ms;
      const auto alike =
          std::ranges::find_if(kept, [&](const Candidate& other) { return is_alike(other.plan, plan); });
      if (alike == kept.end()) {
        kept.push_back({plan, ms});
      } else if (ms < alike->ms || (ms == alike->ms && complexity(plan) < complexity(alike->plan))) {
        *alike = {plan, ms};
      }
    }
    std::vector<Plan> plans{single_.plan};
    for (const Candidate& candidate : kept)
      if (candidate.plan != single_.plan) plans.push_back(candidate.plan);
    return plans;
  }

  Timed timed(const Plan& plan) const {
    Timed result{.plan = plan, .log_ms = {}};
    Samples{}.for_each([&](std::size_t at) {
      result.log_ms[at] =
          std::log(predict(plan, spec_, facts_, target_, shape(at)).ms * excess_at_edges(facts_, plan));
    });
    return result;
  }

  ProblemSize shape(std::size_t at) const {
    return sample(ctas_of(at / kKvLens.size(), target_), kKvLens[at % kKvLens.size()]);
  }

  PlanOfBucket line(const Leaf& leaf) const {
    const auto& [samples, of] = leaf;
    PlanOfBucket result;
    if (samples.first_row > 0) result.bucket.ctas.least = ctas_of(samples.first_row - 1, target_) + 1;
    if (samples.last_row + 1 < kCtasAnSm.size()) result.bucket.ctas.most = ctas_of(samples.last_row, target_);
    if (samples.first_column > 0) result.bucket.kv_len.least = kKvLens[samples.first_column - 1] + 1;
    if (samples.last_column + 1 < kKvLens.size()) result.bucket.kv_len.most = kKvLens[samples.last_column];
    // The sample whose gain is the median stands for the others.
    std::vector<std::pair<double, std::size_t>> gains;
    samples.for_each(
        [&](std::size_t at) { gains.emplace_back(plans_.front().log_ms[at] - plans_[of].log_ms[at], at); });
    std::ranges::nth_element(gains, gains.begin() + static_cast<std::ptrdiff_t>(gains.size() / 2));
    result.shape = shape(gains[gains.size() / 2].second);
    result.single_ms = predict(single_.plan, spec_, facts_, target_, result.shape).ms;
    result.choice = explain_plan(plans_[of].plan, spec_, facts_, target_, result.shape,
                                 "the model's best for these calls");
    return result;
  }

  const CheckedSpec& spec_;
  const Facts& facts_;
  const Target& target_;
  const Choice& single_;
  std::vector<Timed> plans_;
};

}  // namespace

PlanTable choose_plans(const CheckedSpec& spec, const Facts& facts, const Target& target,
                       const Choice& choice) {
  if (target.is_host()) return single_plan(choice);
  return Buckets(spec, facts, target, choice).table();
}

}  // namespace fa
