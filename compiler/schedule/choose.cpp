// Chooses among the legal plans: the one that measurements found fastest, else the one that the cost model
// predicts to be.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "compiler/schedule/cost.h"
#include "compiler/schedule/host_plan.h"
#include "compiler/schedule/measured.h"
#include "compiler/schedule/shape.h"
#include "compiler/schedule/support.h"

namespace fa {
namespace {

constexpr std::string_view kAskedFor = "asked for";

// Among plans with equal costs the simpler one is taken. The model gives a second stage no credit until a
// measurement does.
bool is_plainer(const Plan& a, const Plan& b) {
  if (a.stages != b.stages) return a.stages < b.stages;
  if (a.q_in_registers != b.q_in_registers) return !a.q_in_registers;
  return a.min_ctas < b.min_ctas;
}

struct Candidate {
  Plan plan;
  Cost cost;
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
    if (!best || cost.ms < best->cost.ms || (cost.ms == best->cost.ms && is_plainer(plan, best->plan))) {
      best = {plan, cost};
    }
  }
  return best;
}

Choice explain(const Question& question, const Candidate& candidate, std::string_view reason) {
  const auto& [plan, cost] = candidate;
  const ProblemSize& size = question.size;
  const double flops = 2.0 * size.batch * size.num_q_heads * size.q_len * size.kv_len *
                       (question.spec.head_dim + question.spec.head_dim_v);
  return {.plan = plan,
          .why = fmt::format(
              "{}: {} x {} warps on an SM, {} rows a warp; a step takes products {:.0f}, shared memory "
              "{:.0f}, softmax {:.0f} cycles, {:.0f} together; about {:.3g} TFLOP/s",
              reason, cost.ctas, plan.warps, plan.tile_q / plan.warps, cost.step.tensor, cost.step.smem,
              cost.step.softmax, cost.step.total, flops / (cost.ms * 1e9)),
          .predicted_ms = cost.ms};
}

// Keeps the best plan of each tile. The plans of one tile stand next to each other and differ only in
// min_ctas.
std::vector<Choice> rank_tiles(const Question& question) {
  std::vector<Choice> ranked;
  const std::vector<Plan> plans = legal_plans(question.spec, question.target);
  for (auto begin = plans.begin(); begin != plans.end();) {
    const auto end =
        std::find_if(begin + 1, plans.end(), [](const Plan& plan) { return plan.min_ctas == 1; });
    const auto best = cheapest(question, {begin, end}, [](const Plan&) { return true; });
    ranked.push_back(explain(question, *best, "ranked by the model"));
    begin = end;
  }
  return ranked;
}

void require_support(const CheckedSpec& spec, const Target& target) {
  if (auto reasons = unsupported(spec, target); !reasons.empty()) throw SpecError(std::move(reasons));
}

// Measured on an H200, every spec of specs/ at N8192, d64 and d128:
// - Tiles of warpgroups are larger, so that a mask cuts more of their scores; where its code is long, that costs more
//   than faster products bring (tree takes 1.5 times as long).
// - Up to 64 columns the products are too short to hide the softmax of two warpgroups: three take turns. Their 192
//   rows fit a band (causal, windows), which is alike everywhere, not layouts by block or documents.
// - Beyond, two warpgroups; without a mask the wider the tile the better, with one a power of two.
bool suits_warpgroups(const Plan& plan, const CheckedSpec& spec, const Facts& facts) {
  constexpr int kNarrow = 64;
  constexpr int kLongMask = 10;  // operations an element
  constexpr int kMostColumnsOfMask = 128;
  const bool masked = facts.has_mask && !facts.mask_is_always_true;
  // A thread has two rows of each of its columns.
  if (masked && facts.element_ops + facts.column_ops / 2 > kLongMask) return false;
  if (std::max(spec.head_dim, spec.head_dim_v) <= kNarrow)
    return plan.warps == 12 && (!masked || (facts.mask_is_relative && !facts.mask_is_by_diagonal));
  const bool is_power = std::has_single_bit(static_cast<unsigned>(plan.tile_kv));
  return plan.warps == 8 &&
         ((is_power && plan.tile_kv <= kMostColumnsOfMask) || (!masked && !facts.has_score_mod));
}

}  // namespace

// The model considers only some of the legal plans, since a kernel serves every length; a tuner may try the
// rest.
// - Powers of two: lengths and layouts mostly are, so no tile is ragged and none straddles a layout's block.
// - At most 128 rows: more of them are mostly padding in a short sequence.
// - At least 4 warps: all warps load K and V together; fewer have more to issue each (FA2: 5% slower).
// - At most 32 rows a warp: more leave ptxas no registers to overlap anything with (FA2: 85% slower at d64).
// - No f32 Q in registers: the steps unroll whole then, ptxas splits all of Q ahead (2,500 bytes spilled at
// d128).
bool is_preferable(const Plan& plan, const CheckedSpec& spec, const Facts& facts) {
  const auto power_of_two = [](int tile) { return std::has_single_bit(static_cast<unsigned>(tile)); };
  if (traits_of(plan.family).has_warpgroups) return suits_warpgroups(plan, spec, facts);
  return power_of_two(plan.tile_q) && power_of_two(plan.tile_kv) && plan.tile_q <= 128 && plan.warps >= 4 &&
         row_tiles_per_warp(plan) <= 2 && !(plan.q_in_registers && spec.dtype == DType::f32);
}

Choice choose(const CheckedSpec& spec, const Facts& facts, const Target& target, const ProblemSize& size) {
  require_support(spec, target);
  if (target.is_host()) {
    const HostDefault& line = host_default(spec.dtype, target.cpu);
    return {.plan = line.plan, .why = std::string(line.why)};
  }
  const Question question{spec, facts, target, size};
  const std::vector<Plan> plans = legal_plans(spec, target);
  if (const Measured* line = find_measured(spec, facts, target)) {
    const auto best = cheapest(question, plans, [&](const Plan& plan) {
      return plan.family == line->family && plan.tile_q == line->tile_q && plan.tile_kv == line->tile_kv &&
             plan.warps == line->warps;
    });
    if (best) return explain(question, *best, fmt::format("measured best ({})", line->source));
  }
  auto best = cheapest(question, plans, [&](const Plan& plan) { return is_preferable(plan, spec, facts); });
  // None of these fits where shared memory is small and rows are long (f32 at d256 on a T4).
  if (!best) best = cheapest(question, plans, [](const Plan&) { return true; });
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
  std::vector<Choice> ranked;
  if (target.is_host()) {
    for (const Plan& plan : legal_plans(spec, target)) ranked.push_back({.plan = plan, .why = chosen.why});
  } else {
    ranked = rank_tiles({spec, facts, target, size});
  }
  std::ranges::stable_sort(ranked, {}, &Choice::predicted_ms);
  std::ranges::stable_partition(ranked, [&](const Choice& choice) { return choice.plan == chosen.plan; });
  return ranked;
}

namespace {

/// The plan of that family that the model prefers, or nothing where the family has none for the spec.
std::optional<Plan> preferred_of(Family family, const Question& question) {
  const std::vector<Plan> plans = legal_plans(question.spec, question.target);
  auto best = cheapest(question, plans, [&](const Plan& plan) {
    return plan.family == family && is_preferable(plan, question.spec, question.facts);
  });
  if (!best) best = cheapest(question, plans, [&](const Plan& plan) { return plan.family == family; });
  if (!best) return {};
  return best->plan;
}

/// `text` over the chosen plan; or over the plan of another family, where it names that one, or cannot run in the
/// chosen plan's and can there.
Plan complete(std::string_view text, const Plan& chosen, const Question& question) {
  const Plan plan = parse_plan(text, chosen);
  const auto runs = [&](Plan other) {
    other.min_ctas = text.find("min_ctas") == std::string_view::npos ? 1 : other.min_ctas;
    return why_illegal(other, question.spec, question.target).empty();
  };
  if (question.target.is_host() || (plan.family == chosen.family && runs(plan))) return plan;
  for (const Family family : question.target.families) {
    const std::optional<Plan> base = family == chosen.family ? std::nullopt : preferred_of(family, question);
    if (!base) continue;
    const Plan other = parse_plan(text, *base);
    const bool is_named = plan.family != chosen.family;
    if (is_named ? plan.family == family : other.family == family && runs(other)) return other;
  }
  return plan;
}

}  // namespace

Choice choose_forced(const CheckedSpec& spec, const Facts& facts, const Target& target, std::string_view text,
                     const ProblemSize& size) {
  const Plan preferred = choose(spec, facts, target, size).plan;
  const Question question{spec, facts, target, size};
  Plan plan = complete(text, preferred, question);
  const bool says_min_ctas = text.find("min_ctas") != std::string_view::npos;
  if (!says_min_ctas) plan.min_ctas = 1;
  if (const std::string reason = why_illegal(plan, spec, target); !reason.empty()) {
    throw ArgumentError(fmt::format("plan '{}' cannot run: {}", plan.print(), reason));
  }
  if (target.is_host()) return {.plan = plan, .why = std::string(kAskedFor)};
  std::vector<Plan> plans{plan};
  for (int ctas = 2; !says_min_ctas && ctas <= ctas_that_fit(plan, spec, target); ++ctas) {
    plans.push_back(plan);
    plans.back().min_ctas = ctas;
  }
  return explain(question, *cheapest(question, plans, [](const Plan&) { return true; }), kAskedFor);
}

}  // namespace fa
