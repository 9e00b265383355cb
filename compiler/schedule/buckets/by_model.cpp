// The buckets that the cost model asks for. It is asked about sample shapes, from 16 CTAs of work to 8,192 and from 512
// keys to 32,768, self-attention where the work allows it. What it finds most often: a GPU that large tiles
// would leave half empty should take smaller ones.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "compiler/schedule/buckets/plan_table.h"
#include "compiler/schedule/cost.h"
#include "compiler/schedule/mask_tiles.h"
#include "compiler/spec/rounding.h"

namespace fa {
namespace {

// Buckets end at one of these. Calls mostly have as many CTAs of work, whatever number of SMs they then fill.
constexpr std::array kCtas{16, 32, 64, 96, 128, 192, 256, 384, 512, 1024, 2048, 8192};
constexpr std::array kKvLens{512, 1024, 2048, 4096, 8192, 32768};
constexpr std::size_t kNumSamples = kCtas.size() * kKvLens.size();
constexpr std::size_t kLeastSamples = 4;  // of a plan: with fewer it would be fitted to single shapes
// What a second plan must gain where calls of few CTAs have one: another plan, beside theirs too; and theirs.
constexpr double kLeastGainOfMore = 1.1, kLeastGainOfShared = 1.05;
// Blocks end where a row or column more gains less than this.
constexpr double kLeastGainAtEnd = 1.05;
constexpr int kMostColumnsOfMask =
    128;  // wider tiles, which the model likes for few CTAs, cross masks too often
constexpr int kHeads =
    16;  // of a batch entry of a sample; fewer where the CTAs are few, some more where 16 do not divide them

/// The shape of `ctas` CTAs of work over `kv_len` keys.
ProblemSize sample(int ctas, int kv_len) {
  const int heads = ceil_div(ctas * kRowsOfCta, kv_len);
  const int q_len = ctas * kRowsOfCta / heads;
  const int batch = std::max(1, heads / kHeads);
  const int of_one = heads / batch;
  return {.batch = batch, .num_q_heads = of_one, .num_kv_heads = of_one, .q_len = q_len, .kv_len = kv_len};
}

/// A plan, and the logarithm of its time at each sample, as choose.cpp ranks plans: rows of kCtas, columns of kKvLens.
struct Timed {
  Plan plan;
  std::array<double, kNumSamples> log_ms;
};

/// Samples: some rows of kCtas, the first columns of kKvLens. Ends are excluded.
struct SampleBlock {
  std::size_t first_row = 0, end_row = 0, end_column = 0;

  std::size_t count() const { return (end_row - first_row) * end_column; }
  void for_each(const auto& take) const {
    for (std::size_t row = first_row; row < end_row; ++row)
      for (std::size_t column = 0; column < end_column; ++column) take(row * kKvLens.size() + column);
  }
};

/// A block's plan, and the sum of the logarithms of what its samples gain by it.
struct PlanOfBlock {
  SampleBlock block;
  std::size_t plan = 0;
  double gain = 0;
};

/// Which calls have plans of their own: those of few CTAs, whatever their length; some of more CTAs that would leave SMs
/// without work at their end, as 256 CTAs of work do with tiles of 192 rows, with the plan of the few; and short ones.
struct Division {
  std::optional<PlanOfBlock> few, more, brief;  // a call belongs to the first that has it

  /// The sum of what the blocks gain beyond kLeastGainAtEnd.
  double gain() const {
    double sum = 0;
    for (const std::optional<PlanOfBlock>& one : {few, more, brief})
      if (one) sum += one->gain - std::log(kLeastGainAtEnd) * static_cast<double>(one->block.count());
    return sum;
  }
};

/// The division of the samples that gains most. The first of `plans` is the one for all other calls.
class Divider {
 public:
  explicit Divider(const std::vector<Timed>& plans) : plans_(plans) {}

  Division best() const {
    Division best;
    for (std::size_t rows = 0; rows < kCtas.size(); ++rows) {
      const SampleBlock of_few{.first_row = 0, .end_row = rows, .end_column = kKvLens.size()};
      Division division{.few = best_of(of_few, kLeastGain), .more = {}, .brief = {}};
      if (rows > 0 && !division.few) continue;
      if (division.few) division.more = more_like(*division.few);
      for (std::size_t columns = 0; columns < kKvLens.size(); ++columns) {
        const SampleBlock of_brief{.first_row = rows, .end_row = kCtas.size(), .end_column = columns};
        division.brief = best_beside(division.few, of_brief);
        if (division.brief && division.more) give_up_overlap(*division.brief, *division.more);
        if (division.gain() > best.gain()) best = division;
      }
    }
    return best;
  }

 private:
  double gain_of(std::size_t plan, const SampleBlock& block) const {
    double sum = 0;
    block.for_each([&](std::size_t at) { sum += plans_[0].log_ms[at] - plans_[plan].log_ms[at]; });
    return sum;
  }

  /// Nothing where no plan gains that factor in the geometric mean.
  std::optional<PlanOfBlock> best_of(const SampleBlock& block, double least) const {
    if (block.count() < kLeastSamples) return {};
    PlanOfBlock best{.block = block};
    for (std::size_t plan = 1; plan < plans_.size(); ++plan)
      if (const double gain = gain_of(plan, block); gain > best.gain) best = {block, plan, gain};
    if (best.gain < std::log(least) * static_cast<double>(block.count())) return {};
    return best;
  }

  /// The rows further on that gain most by the plan of the few.
  std::optional<PlanOfBlock> more_like(const PlanOfBlock& few) const {
    std::optional<PlanOfBlock> best;
    for (std::size_t first = few.block.end_row + 1; first < kCtas.size(); ++first)
      for (std::size_t end = first + 1; end < kCtas.size(); ++end) {
        const SampleBlock block{.first_row = first, .end_row = end, .end_column = kKvLens.size()};
        const double gain = gain_of(few.plan, block);
        if (gain >= std::log(kLeastGainOfMore) * static_cast<double>(block.count()) &&
            (!best || gain > best->gain))
          best = {block, few.plan, gain};
      }
    return best;
  }

  /// Rows of `more` are not the short calls'.
  void give_up_overlap(PlanOfBlock& brief, const PlanOfBlock& more) const {
    SampleBlock overlap = more.block;
    overlap.end_column = brief.block.end_column;
    brief.gain -= gain_of(brief.plan, overlap);
  }

  /// The same as best_of where calls of few CTAs have a plan already: another must be worth its cubin beside that one, too.
  std::optional<PlanOfBlock> best_beside(const std::optional<PlanOfBlock>& few,
                                         const SampleBlock& block) const {
    const std::optional<PlanOfBlock> own = best_of(block, few ? kLeastGainOfMore : kLeastGain);
    if (!few || block.count() < kLeastSamples) return own;
    const PlanOfBlock shared{block, few->plan, gain_of(few->plan, block)};
    const auto count = static_cast<double>(block.count());
    if (own && own->gain - std::max(0.0, shared.gain) >= std::log(kLeastGainOfMore) * count) return own;
    if (shared.gain >= std::log(kLeastGainOfShared) * count) return shared;
    return {};
  }

  const std::vector<Timed>& plans_;
};

class Buckets {
 public:
  Buckets(const CheckedSpec& spec, const Facts& facts, const Target& target, const Choice& choice)
      : spec_(spec), facts_(facts), target_(target), single_(choice) {
    for (const Plan& plan : candidates()) plans_.push_back(timed(plan));
  }

  PlanTable table() const {
    const Division division = Divider(plans_).best();
    PlanTable lines;
    for (const std::optional<PlanOfBlock>& one : {division.few, division.more, division.brief})
      if (one) add_line(*one, lines);
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
      if (!is_preferable(plan, spec_, facts_, target_) || (is_masked && plan.tile_kv > kMostColumnsOfMask))
        continue;
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
    for (std::size_t at = 0; at < kNumSamples; ++at)
      result.log_ms[at] =
          std::log(predict(plan, spec_, facts_, target_, shape(at)).ms * excess_at_edges(facts_, plan));
    return result;
  }

  ProblemSize shape(std::size_t at) const {
    return sample(kCtas[at / kKvLens.size()], kKvLens[at % kKvLens.size()]);
  }

  /// `lines` so far take their calls first. Adds none where they leave nothing that gains.
  void add_line(const PlanOfBlock& one, PlanTable& lines) const {
    const auto& [block, plan, total] = one;
    PlanOfBucket result;
    if (block.first_row > 0) result.bucket.ctas.least = kCtas[block.first_row - 1] + 1;
    if (block.end_row < kCtas.size()) result.bucket.ctas.most = kCtas[block.end_row - 1];
    if (block.end_column < kKvLens.size()) result.bucket.kv_len.most = kKvLens[block.end_column - 1];
    // Of the samples that gain, the one with the median gain stands for the bucket.
    std::vector<std::pair<double, std::size_t>> gains;
    block.for_each([&](std::size_t at) {
      const double gain = plans_[0].log_ms[at] - plans_[plan].log_ms[at];
      const CallSize size = size_of(shape(at));
      const auto holds = [&](const PlanOfBucket& other) { return other.bucket.holds(size); };
      if (gain > 0 && std::ranges::none_of(lines, holds)) gains.emplace_back(gain, at);
    });
    if (gains.empty()) return;
    std::ranges::nth_element(gains, gains.begin() + static_cast<std::ptrdiff_t>(gains.size() / 2));
    result.shape = shape(gains[gains.size() / 2].second);
    result.single_ms = predict(single_.plan, spec_, facts_, target_, result.shape).ms;
    result.choice = explain_plan(plans_[plan].plan, spec_, facts_, target_, result.shape,
                                 "the model's best for these calls");
    lines.push_back(std::move(result));
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
