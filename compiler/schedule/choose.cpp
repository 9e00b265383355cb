// Chooses among the legal plans the one that the cost model predicts to be the fastest.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "compiler/schedule/baseline/baseline.h"
#include "compiler/schedule/cost.h"
#include "compiler/schedule/host/host_cost.h"
#include "compiler/schedule/host/host_plan.h"
#include "compiler/schedule/mask_tiles.h"
#include "compiler/schedule/shape.h"
#include "compiler/schedule/support.h"
#include "compiler/schedule/two_stages.h"

namespace fa {
namespace {

constexpr std::string_view kAskedFor = "asked for";
// Among plans with equal costs the simpler one is taken.
bool is_plainer(const Plan& a, const Plan& b) {
  if (a.stages != b.stages) return a.stages < b.stages;
  if (a.q_in_registers != b.q_in_registers) return !a.q_in_registers;
  return a.min_ctas < b.min_ctas;
}

struct Candidate {
  Plan plan;
  Cost cost;
  double rank = 0;  // what plans are compared by
};

struct Question {
  const CheckedSpec& spec;
  const Facts& facts;
  const Target& target;
  const ProblemSize& size;
};

template <typename Accept>
std::optional<Candidate> cheapest(const Question& question, const std::vector<Plan>& plans, Accept accept) {
  std::optional<Candidate> best;
  for (const Plan& plan : plans) {
    if (!accept(plan)) continue;
    const Cost cost = predict(plan, question.spec, question.facts, question.target, question.size);
    const double rank = cost.ms * excess_at_edges(question.facts, plan);
    if (!best || rank < best->rank || (rank == best->rank && is_plainer(plan, best->plan)))
      best = {plan, cost, rank};
  }
  return best;
}

Choice explain(const Question& question, const Candidate& candidate, std::string_view reason) {
  const Plan& plan = candidate.plan;
  const Cost& cost = candidate.cost;
  const ProblemSize& size = question.size;
  const double flops = 2.0 * size.batch * size.num_q_heads * size.q_len * size.kv_len *
                       (question.spec.head_dim + question.spec.head_dim_v) *
                       share_of_tiles_kept(question.facts, plan, size);
  return {.plan = plan,
          .why = fmt::format(
              "{}: {} x {} warps on an SM, {} rows a warp; a step takes products {:.0f}, shared memory "
              "{:.0f}, softmax {:.0f} cycles, {:.0f} together; about {:.3g} TFLOP/s",
              reason, cost.ctas, plan.warps, plan.tile_q / plan.warps, cost.step.tensor, cost.step.smem,
              cost.step.softmax, cost.step.total, flops / (cost.ms * 1e9)),
          .predicted_ms = cost.ms};
}

HostCost cost_on_host(const Question& question, const Plan& plan) {
  return predict_on_host(
      plan, question.spec, question.facts, host_cpu_of(question.target),
      [&](const Plan& any) { return share_of_tiles_kept(question.facts, any, question.size); });
}

Choice explain_on_host(const Question& question, const Plan& plan, std::string_view reason) {
  const HostCost cost = cost_on_host(question, plan);
  return {.plan = plan,
          .why = fmt::format("{}; for a query and a key products take {:.2f}, softmax {:.2f}, the mask "
                             "{:.2f}, sums of O {:.2f}, copies {:.2f}, "
                             "cache misses {:.2f} cycles, with the mask's edges {:.2f}",
                             reason, cost.products, cost.softmax, cost.mask, cost.output, cost.copies,
                             cost.misses, cost.total)};
}

/// All legal plans, the fastest first.
std::vector<Choice> rank_on_host(const Question& question) {
  std::vector<Plan> plans = legal_plans(question.spec, question.target);
  std::ranges::stable_sort(plans, {}, [&](const Plan& plan) { return cost_on_host(question, plan).total; });
  std::vector<Choice> ranked;
  for (const Plan& plan : plans) ranked.push_back(explain_on_host(question, plan, "ranked by the model"));
  return ranked;
}

/// The measured plan of the table, unless blocks of the mask straddle its tiles and the model finds another so much faster that it
/// cannot err by as much. At most 128 rows, so that cores have tiles to share.
Choice choose_on_host(const Question& question) {
  constexpr double kMayErr = 1.15;
  constexpr int kMostRows = 128;
  const HostDefault& line = host_default(question.spec.dtype, host_cpu_of(question.target));
  const MaskBlocks& blocks = question.facts.mask_blocks;
  if (blocks.queries > 1 && blocks.keys > 1) {
    std::vector<Choice> ranked = rank_on_host(question);
    const auto best =
        std::ranges::find_if(ranked, [](const Choice& choice) { return choice.plan.tile_q <= kMostRows; });
    if (cost_on_host(question, line.plan).total > kMayErr * cost_on_host(question, best->plan).total)
      return explain_on_host(question, best->plan,
                             "the model's best: the mask's blocks straddle larger tiles");
  }
  return explain_on_host(question, line.plan, line.why);
}

bool has_default_search(const Plan& plan, const CheckedSpec& spec) {
  return plan.search_first == default_search_first(plan.family, spec);
}

// The best plan of each tile, the fastest first. The plans of one tile stand next to each other and differ only in
// min_ctas and search_first, of which the model knows nothing.
std::vector<Choice> rank_tiles(const Question& question) {
  std::vector<Candidate> tiles;
  std::vector<Plan> plans = legal_plans(question.spec, question.target);
  std::erase_if(plans, [&](const Plan& plan) { return !has_default_search(plan, question.spec); });
  for (auto begin = plans.begin(); begin != plans.end();) {
    const auto end =
        std::find_if(begin + 1, plans.end(), [](const Plan& plan) { return plan.min_ctas == 1; });
    tiles.push_back(*cheapest(question, {begin, end}, [](const Plan&) { return true; }));
    begin = end;
  }
  std::ranges::stable_sort(tiles, {}, &Candidate::rank);
  std::vector<Choice> ranked;
  for (const Candidate& tile : tiles) ranked.push_back(explain(question, tile, "ranked by the model"));
  return ranked;
}

/// Whether the mask keeps or drops a plan's tiles as a whole, but for lines that cut blocks.
bool lies_in_blocks(const Plan& plan, const Facts& facts) {
  return facts.mask_blocks.queries >= plan.tile_q && facts.mask_blocks.keys >= plan.tile_kv;
}

/// Two warps, where a mask takes so long that edges decide: their tiles are smaller (an H100: 2-D neighbourhood and tree take
/// 0.66 to 1.02 of the time, d64 to d256). In blocks there are few edges (BigBird: 1.05 to 1.12 times as long); wider tiles
/// and Q in registers are no smaller, and in 16 bits steps of fewer scores are mostly barriers (sm_75's kernels: 1.08).
/// Where rows list keys, which stand alone, tiles may be half as large, and a warp may have one by itself (an H200: tree takes
/// 0.65 to 0.96 of the time; by 16 x 16 in 16 bits, a step of one product a warp, 0.89 to 1.07).
bool suits_few_warps(const Plan& plan, const CheckedSpec& spec, const Facts& facts) {
  constexpr int kWidest = 32;
  const bool lists = facts.listed_keys.words != nullptr;
  const int least_scores = lists ? 512 : 1024;
  if (!wants_small_tiles(facts) || plan.warps > 2 || plan.tile_kv > kWidest || plan.q_in_registers ||
      lies_in_blocks(plan, facts))
    return false;
  return (plan.warps == 2 || lists) &&
         (spec.dtype == DType::f32 || plan.tile_q * plan.tile_kv >= least_scores);
}

// Measured on an H200, every spec of specs/ at N8192, d64 and d128:
// - Tiles of warpgroups are larger, so that a mask cuts more of their scores; where its code is long, that costs more
//   than faster products bring (tree takes 1.5 times as long).
// - Up to 64 columns the products are too short to hide the softmax of two warpgroups: three take turns. Their 192
//   rows fit a band (causal, windows), which is alike everywhere, not layouts by block or documents; and a wide one
//   (with windows of 128, 512, 768 and 1024 keys they take 1.25, 1.13, 1.04 and 0.95 times as long as the sm_80 kernels).
//   Or each of the three has a CTA of its own, so that one begins and ends while the others work: 0.72 to 0.93 of the
//   time at N512 (an H100), as long at N2048, 1.05 to 1.28 times at N8192, but 0.82 to 0.96 in windows and documents.
//   Where SMs have one CTA or two, 128 columns are faster than 64 (1.0 to 1.4 times as long) and all else.
//   Where a mask is found by diagonals, 16 rows a warp have too few elements on each (dilated: 1.16 times as long).
//   Up to 128 columns of Q and V two such CTAs fit on an SM: where a mask is mostly edge, or CTAs are few, they are faster than
//   two warpgroups with twice the tile (an H100: gpt_oss 0.90 of the time, BigBird 0.84, 32 CTAs of work 0.78 to 0.94).
// - Up to 128, three read K and V from the L2 cache less often: 6 to 10% faster without a mask. With one they are
//   faster in long sequences (causal 6% at N8192) and slower in short ones (15% at N512, 2 to 7% in windows). Where
//   score_mod's code is long (T5's buckets), their few columns a tile cost more than that.
// - Else two warpgroups; without a mask the wider the tile the better, with one a power of two.
bool suits_warpgroups(const Plan& plan, const CheckedSpec& spec, const Facts& facts) {
  constexpr int kNarrow = 64;
  constexpr int kMostOfThree = 128;  // columns of Q, K and V that three warpgroups have registers for
  constexpr int kWidestWithMask = 128;
  constexpr int kTilesOfBand = 3;  // a band of fewer keys than so many tiles' sides is mostly edge
  const bool masked = facts.has_mask && !facts.mask_is_always_true;
  const int dim = std::max(spec.head_dim, spec.head_dim_v);
  if (wants_small_tiles(facts) && !(lies_in_blocks(plan, facts) && plan.warps == 4)) return false;
  if (plan.warps == 12 && dim > kNarrow)
    return dim <= kMostOfThree && !masked && !spec.has_dropout &&
           facts.element_ops + facts.diagonal_ops <= kLongHook;
  const bool is_power = std::has_single_bit(static_cast<unsigned>(plan.tile_kv));
  if (plan.warps == 4)
    return (dim <= kNarrow || (masked && dim <= 2 * kNarrow)) && is_power && plan.tile_kv >= plan.tile_q &&
           plan.tile_kv <= kWidestWithMask && !(masked && facts.mask_is_by_diagonal);
  if (plan.warps == 12) {
    const std::optional<int> width = facts.mask_band ? facts.mask_band->width() : std::nullopt;
    const bool is_narrow = width && *width < kTilesOfBand * (plan.tile_q + plan.tile_kv);
    return !masked || (facts.mask_is_relative && !facts.mask_is_by_diagonal && !is_narrow);
  }
  return dim > kNarrow && plan.warps == 8 &&
         ((is_power && plan.tile_kv <= kWidestWithMask) || (!masked && !facts.has_score_mod));
}

}  // namespace

// The model considers only some of the legal plans, since a kernel serves every length; a tuner may try the
// rest.
// - Powers of two: lengths and layouts mostly are, so no tile is ragged and none straddles a layout's block.
// - At most 128 rows: more of them are mostly padding in a short sequence. Some specs may have 256 (suits_many_rows).
// - Two stages where they suit the spec (two_stages.h).
// - At least 4 warps: all warps load K and V together; fewer have more to issue each (FA2: 5% slower). Some masks may (suits_few_warps).
// - At most 32 rows a warp: more leave ptxas no registers to overlap anything with (FA2: 85% slower at d64).
// - No f32 Q in registers: the steps unroll whole then, ptxas splits all of Q ahead (2,500 bytes spilled at
// d128).
bool is_preferable(const Plan& plan, const CheckedSpec& spec, const Facts& facts, const Target& target) {
  const auto power_of_two = [](int tile) { return std::has_single_bit(static_cast<unsigned>(tile)); };
  if (traits_of(plan.family).has_warpgroups) return suits_warpgroups(plan, spec, facts);
  if (!has_default_search(plan, spec)) return false;
  return power_of_two(plan.tile_q) && power_of_two(plan.tile_kv) &&
         (plan.tile_q <= 128 || suits_many_rows(plan, facts)) &&
         (plan.stages == 1 || suits_two_stages(plan, spec, facts, target)) &&
         (plan.warps >= 4 || suits_few_warps(plan, spec, facts)) && row_tiles_per_warp(plan) <= 2 &&
         !(plan.q_in_registers && spec.dtype == DType::f32);
}

Choice choose(const CheckedSpec& spec, const Facts& facts, const Target& target, const ProblemSize& size) {
  require_support(spec, target);
  const Question question{spec, facts, target, size};
  if (target.is_host()) return choose_on_host(question);
  const std::vector<Plan> plans = legal_plans(spec, target);
  auto best =
      cheapest(question, plans, [&](const Plan& plan) { return is_preferable(plan, spec, facts, target); });
  // None of these fits where shared memory is small and rows are long (f32 at d256 on a T4).
  if (!best)
    best = cheapest(question, plans, [&](const Plan& plan) { return has_default_search(plan, spec); });
  if (!best)
    throw InternalError(fmt::format("no legal plan for head_dim {} on {}", spec.head_dim, target.name));
  return explain(question, *best, "the model's best");
}

Choice explain_plan(const Plan& plan, const CheckedSpec& spec, const Facts& facts, const Target& target,
                    const ProblemSize& size, std::string_view reason) {
  return explain({spec, facts, target, size}, {plan, predict(plan, spec, facts, target, size)}, reason);
}

std::vector<Choice> rank_plans(const CheckedSpec& spec, const Facts& facts, const Target& target,
                               const ProblemSize& size) {
  const Choice chosen = choose(spec, facts, target, size);
  const Question question{spec, facts, target, size};
  std::vector<Choice> ranked = target.is_host() ? rank_on_host(question) : rank_tiles(question);
  std::ranges::stable_partition(ranked, [&](const Choice& choice) { return choice.plan == chosen.plan; });
  return ranked;
}

namespace {

/// The fastest plan that `accept` takes: of those that `choose` would consider, if there are any.
template <typename Accept>
std::optional<Plan> preferred_of(const Question& question, Accept accept) {
  const std::vector<Plan> plans = legal_plans(question.spec, question.target);
  auto best = cheapest(question, plans, [&](const Plan& plan) {
    return accept(plan) && is_preferable(plan, question.spec, question.facts, question.target);
  });
  if (!best) best = cheapest(question, plans, accept);  // among equal ones the first has the default search
  if (!best) return {};
  return best->plan;
}

/// `text` over the chosen plan; where that cannot run, the preferred plan of the same family that is as `text` says;
/// or `text` over the plan of another family, where it names that one, or cannot run in the chosen plan's and can there.
Plan complete(std::string_view text, const Plan& chosen, const Question& question) {
  const Plan plan = parse_plan(text, chosen);
  const auto runs = [&](Plan other) {
    other.min_ctas = text.find("min_ctas") == std::string_view::npos ? 1 : other.min_ctas;
    return why_illegal(other, question.spec, question.target).empty();
  };
  if (question.target.is_host() || (plan.family == chosen.family && runs(plan))) return plan;
  const auto best_of = [&](Family family) {
    return preferred_of(question, [&](const Plan& legal) {
      return legal.family == family && parse_plan(text, legal) == legal;
    });
  };
  if (plan.family == chosen.family) {
    if (const std::optional<Plan> best = best_of(chosen.family)) return *best;
  }
  for (const Family family : question.target.families) {
    if (family == chosen.family) continue;
    const std::optional<Plan> base =
        preferred_of(question, [&](const Plan& legal) { return legal.family == family; });
    if (!base) continue;
    const Plan other = parse_plan(text, *base);
    const bool is_named = plan.family != chosen.family;
    if (is_named ? plan.family != family : other.family != family) continue;
    if (runs(other)) return other;
    if (const std::optional<Plan> best = best_of(family)) return *best;
    if (is_named) return other;
  }
  return plan;
}

}  // namespace

Choice choose_forced(const CheckedSpec& spec, const Facts& facts, const Target& target, std::string_view text,
                     const ProblemSize& size) {
  if (const LoopOrder order = loop_order_of(text); order != LoopOrder::q_outer)
    return choose_baseline(order, spec, facts, target, text);
  const Plan preferred = choose(spec, facts, target, size).plan;
  const Question question{spec, facts, target, size};
  Plan plan = complete(text, preferred, question);
  const bool says_min_ctas = text.find("min_ctas") != std::string_view::npos;
  if (!says_min_ctas) plan.min_ctas = 1;
  if (const std::string reason = why_illegal(plan, spec, target); !reason.empty()) {
    throw ArgumentError(fmt::format("plan '{}' cannot run: {}", plan.print(), reason));
  }
  if (target.is_host()) return explain_on_host(question, plan, kAskedFor);
  std::vector<Plan> plans{plan};
  for (int ctas = 2; !says_min_ctas && ctas <= ctas_that_fit(plan, spec, target); ++ctas) {
    plans.push_back(plan);
    plans.back().min_ctas = ctas;
  }
  return explain(question, *cheapest(question, plans, [](const Plan&) { return true; }), kAskedFor);
}

}  // namespace fa
