// The cost model of the forward kernel. Its purpose is to rank plans; that its times are near the measured
// ones is only a check. In one step a CTA
// - multiplies: 2 tile_q tile_kv (d + dv) flops at the rate of what multiplies (product.h);
// - moves fragments: K and V are written once and read whole by every warp, Q is read once, so shared memory
//   moves (1 + warps) x (K + V) + Q bytes. This makes 32 rows per warp better than 16, and 8 warps on the
//   same rows worse than 4 (FA2: 28% slower at d128). A Q kept in registers gets no credit for its reads (FA2
//   measured none), only for the bytes it frees;
// - does the softmax: one exp2, a few fp32 instructions and the hooks per score, one multiply per element
//   of O;
// - waits: two barriers and the latency of its loads.
//
// Units overlap only as far as other warps have work for them. Products or softmax, whichever takes longer, count in
// full. Shared memory does not, unless it takes longer than all: fragments are read ahead of the products that need them
// (not on sm_75). Of the others a share shows: all with one warp per scheduler, half with two or more. CTAs on an SM share
// the waiting, which shows only while none of the others works. A CTA's rows of Q and O come from and go to memory while it
// has nothing else to do. The problem takes as long as the busiest SM's CTAs (so a last, thin wave costs), and never less
// than its HBM traffic.
//
// tests/compiler/schedule/regret.cpp compares the choices with measured times: FA2's tables for A100, H100
// and sm_86/89, and times on an H200. Where they disagree, change the constants or what the model counts.
#include "compiler/schedule/cost.h"

#include <algorithm>
#include <cmath>

#include "compiler/schedule/mask_tiles.h"
#include "compiler/schedule/product.h"
#include "compiler/schedule/shape.h"
#include "compiler/schedule/traffic.h"
#include "compiler/schedule/two_stages.h"

namespace fa {
namespace {

constexpr double kSchedulers = kSchedulersOfSm;  // warps beyond these hide one another's waits
constexpr double kExposedAmongCtas = 0.5;        // share of the shorter units that shows: two CTAs or more,
constexpr double kExposedInOneCta = 0.535;       // one CTA, whose warps wait at the same barriers
// The same where they have work of their own before products: f32 is split first, sm_75's warps copy the tiles themselves
// (all plans of five problems on an H100: eight warps on f32 take 0.87 of what 0.75 predicts beside two CTAs of four).
constexpr double kExposedInBusyCta = 0.6;
// Where warpgroups multiply, one's products run during the softmax of the others. Fitted to an H200, d64 to d256.
constexpr double kWarpsOfWarpgroup = 4;
constexpr double kExposedByWarpgroups = 1.9;
// Cycles of a step: barriers, waits for cp.async. More where a scheduler has one warp, or waits for a warpgroup's barriers.
constexpr double kStepLatency = 140, kLoneStepLatency = 450, kWarpgroupStepLatency = 350;
// Cycles: set-up, first products and epilogue of a CTA. CTAs beside one hide it by their square: each hides its share, and is
// the more often in its loop meanwhile (an H100: sm90's kernels, one to three; sm80's, two to five). A lone CTA of sm80's
// kernels has eight warps, which hide half of it, but not where they wait for K and V together before they begin (256 rows on an
// H200: 1.01 of the time of 128 at N512, 0.94 at N2048); where warps copy K and V themselves, CTAs hide only their share.
constexpr double kCtaLatency = 3000, kLoneCtaLatency = 1500, kLoneCtaLatencyApart = 5000;
constexpr double kSoftmaxInstructions = 3;    // fp32, a score: FMA (scale, subtract), maximum, sum
constexpr double kDropoutInstructions = 7.5;  // a score: Philox, eight draws in about 50; compare, select
// An estimate nearer to its budget than this may spill. Where warpgroups multiply, that is a masked kernel's, whose
// partial tiles hold what rows and columns compare with S and P both there (of specs/, d64 to d256, CUDA 13.0).
constexpr int kRegistersToSpare = 3;
constexpr int kMaskedWarpgroupsToSpare = 6;
// Scores that begin with a table's tile (templates/common/score/element_addend.cuh): a fragment, its address, the factor.
constexpr int kStagedElements = 6;
constexpr int kLightHook = 13;      // operations an element that need no registers of their own
constexpr double kSpillRisk = 1.2;  // and counts as this much slower
// On sm_75 16-bit kernels take more than the estimate: of 470 (five of specs/, 49 plans, d32 to d256) 29 of the 48 spill whose
// estimate is above 224, and 14 of the others.
constexpr int kBeyondEstimateOnSm75 = 28;

// Steps of plans that is_preferable leaves out, which only a tuner tries, take longer than what is counted here (measured on
// an H100, d64 to d256): one warp or two that load K and V alone; warps of more than 32 rows; f32 with Q in registers, where
// ptxas splits all of Q ahead and spills.
constexpr double kLoneWarp = 1.1, kTwoWarps = 1.05, kManyRowsOfWarp = 1.08, kSplitQ = 1.5;
// A warpgroup alone on an SM: a scheduler has one warp, and nothing to issue while that waits (an H100, d128, 32 and 64 CTAs of
// work, eight specs: 1.26 to 1.4).
constexpr double kLoneWarpgroup = 1.3;
// Warpgroups of CTAs beside each other: none waits for its turn, but products meet products (an H100, d64, two and three).
constexpr double kCtasOfWarpgroups = 1.08;
// The same of 16 bits with Q in registers (an H100, d256: 1.01 to 1.03), whose steps unroll whole.
constexpr double kKeptQ = 1.02;
// Warps that are apart (two_stages.h) hide one another's softmax behind products, and waits: in one CTA, all of whose warps would
// else be in step, and beside another CTA, whose warps are not (an H200, bf16, 15 specs, d64 to d256: 0.88 to 0.99; 0.94 to 1.00
// of the time). Less where softmax takes longer than products (softcap at d64: 0.98, 0.99); nothing where a scheduler has one warp.
constexpr double kApartInOneCta = 0.91, kApartAmongCtas = 0.97;

// Lanes that compute by FFMA share what they read of a row or column, but a 16-byte read still serves eight
// lanes at a time.
constexpr double kFfmaRowReads = 4;
constexpr double kFfmaColumnReads = 8;

double credit_of_stages(const Plan& plan, const CheckedSpec& spec, const Facts& facts, const Target& target,
                        const StepCost& cost, int ctas) {
  if (ctas * plan.warps <= kSchedulers || !gains_by_two_stages(plan, spec, facts, target)) return 1;
  return ctas == 1 && cost.softmax <= cost.tensor ? kApartInOneCta : kApartAmongCtas;
}

double handicap(const Plan& plan, const CheckedSpec& spec, int ctas) {
  if (traits_of(plan.family).has_warpgroups)
    return ctas > 1 ? kCtasOfWarpgroups : plan.warps == kWarpsOfWarpgroup ? kLoneWarpgroup : 1;
  return (plan.warps == 1   ? kLoneWarp
          : plan.warps == 2 ? kTwoWarps
                            : 1) *
         (row_tiles_per_warp(plan) > 2 ? kManyRowsOfWarp : 1) *
         (!plan.q_in_registers       ? 1
          : spec.dtype == DType::f32 ? kSplitQ
                                     : kKeptQ);
}

double dropout_instructions(const Plan& plan) {
  return plan.tile_kv % kDropoutColumns == 0 ? kDropoutInstructions : 2 * kDropoutInstructions;
}

// for_each_diagonal (templates/common/mma_place.cuh) in a warp's 32 x 64 scores: six evaluations a lane,
// then a shuffle for three elements and an addition or minimum for each.
double diagonal_instructions(const Facts& facts) {
  constexpr double kEvaluations = 6.0 / 64;
  constexpr double kFetch = 1.4;
  return facts.diagonal_ops == 0 ? 0 : kEvaluations * facts.diagonal_ops + kFetch;
}

double exposed_share(const Plan& plan, DType dtype, int ctas) {
  const FamilyTraits& traits = traits_of(plan.family);
  if (const double warpgroups = ctas * plan.warps / kWarpsOfWarpgroup; traits.has_warpgroups)
    return std::min(1.0, kExposedByWarpgroups / warpgroups);
  const double warps_per_scheduler = ctas * plan.warps / kSchedulers;
  if (warps_per_scheduler <= 1) return 1;
  const bool is_busy = dtype == DType::f32 || !traits.has_async_copies;
  const double in_one = is_busy ? kExposedInBusyCta : kExposedInOneCta;
  return std::max(ctas == 1 ? in_one : kExposedAmongCtas, 1 / warps_per_scheduler);
}

double step_latency(const Plan& plan, int ctas) {
  if (traits_of(plan.family).has_warpgroups) return kWarpgroupStepLatency / ctas;
  return ctas * plan.warps <= kSchedulers ? kLoneStepLatency : kStepLatency / (ctas * ctas);
}

// Hooks of many operations hold intermediate values, for as many elements at once as a warp has row tiles.
// Fitted to what ptxas does with specs/: up to a dozen operations cost no more than the estimate already has.
int registers_of_heavy_hooks(const Plan& plan, const Facts& facts) {
  // A warpgroup's 16 rows a warp have few elements on each diagonal, so that those are held beside it.
  const int of_diagonals = traits_of(plan.family).has_warpgroups ? facts.diagonal_ops : 0;
  return row_tiles_per_warp(plan) * std::max(0, facts.element_ops + of_diagonals - kLightHook);
}

// fp32 instructions of 3xTF32: two to split an operand, by every warp that reads it; one for each sum of
// eight products.
double split_work(const Plan& plan, double d, double dv) {
  const double scores = static_cast<double>(plan.tile_q) * plan.tile_kv;
  const double operands = plan.warps * plan.tile_kv * (d + dv) + plan.tile_q * d + scores;
  return 2 * operands + scores * (d + dv) / 8;
}

bool may_spill(const Plan& plan, const CheckedSpec& spec, const Facts& facts, const Target& target) {
  const bool is_tight = !traits_of(plan.family).has_async_copies && spec.dtype != DType::f32;
  const int registers = register_estimate(plan, spec) + registers_of_heavy_hooks(plan, facts) +
                        (is_tight ? kBeyondEstimateOnSm75 : 0);
  const bool is_masked = facts.has_mask && !facts.mask_is_always_true;
  const int to_spare = !traits_of(plan.family).has_warpgroups ? kRegistersToSpare
                       : is_masked                            ? kMaskedWarpgroupsToSpare
                       : facts.addend_reads_elements          ? kStagedElements
                                                              : 0;
  return register_budget(plan, target) - registers < to_spare;
}

StepCost step_cost(const Plan& plan, const CheckedSpec& spec, const Facts& facts, const Target& target,
                   int ctas, bool spills) {
  const double d = padded_head_dim(spec.head_dim, spec.dtype);
  const double dv = output_tiles(spec.head_dim_v, spec.dtype) * kMmaColumns;
  const Product product = product_of(spec.dtype, target);
  const double element = dtype_bytes(spec.dtype);
  const double scores = static_cast<double>(plan.tile_q) * plan.tile_kv;
  const double kv_bytes = plan.tile_kv * (d + dv) * element;
  const double q_bytes = plan.tile_q * d * element;

  // Eight lanes of a warp hold the same columns, and each computes the columns' part.
  const double column_work = static_cast<double>(facts.column_ops) * plan.tile_kv * plan.warps * 8;
  const double fp32 = scores * (kSoftmaxInstructions + facts.element_ops + diagonal_instructions(facts) +
                                (spec.has_dropout ? dropout_instructions(plan) : 0)) +
                      column_work + plan.tile_q * dv +
                      (product == Product::tf32x3 ? split_work(plan, d, dv) : 0);

  StepCost cost;
  const bool by_warpgroups = traits_of(plan.family).has_warpgroups;
  cost.tensor =
      2 * scores * (d + dv) / flops_per_clock(product, target) * (by_warpgroups ? target.mma_fraction : 1);
  const double readers = by_warpgroups ? plan.warps / kWarpsOfWarpgroup : plan.warps;
  const double kv_reads = readers * (product == Product::ffma ? kFfmaColumnReads : 1);
  const double q_reads = product == Product::ffma ? kFfmaRowReads : 1;
  cost.smem = (kv_bytes + kv_reads * kv_bytes + q_reads * q_bytes) / target.smem_bytes_per_clock_per_sm;
  cost.softmax = scores / target.exp2_per_clock_per_sm + fp32 / target.fp32_per_clock_per_sm;
  cost.l2 = kv_bytes / target.l2_bytes_per_clock_per_sm;
  // A warpgroup's products read shared memory themselves: the slower of the two counts.
  const double products = by_warpgroups ? std::max(cost.tensor, cost.smem) : cost.tensor + cost.smem;
  const bool reads_ahead = traits_of(plan.family).has_async_copies;
  const double longest =
      std::max({by_warpgroups ? products : cost.tensor, cost.softmax, reads_ahead ? 0 : cost.smem});
  const double others = products + cost.softmax - longest;
  // A scheduler's units serve its own warps alone.
  const double idle = std::max(1.0, kSchedulers / (ctas * plan.warps));
  const double busy = idle * std::max(longest + exposed_share(plan, spec.dtype, ctas) * others, cost.smem) +
                      step_latency(plan, ctas);
  cost.total = std::max(busy * (spills ? kSpillRisk : 1) * handicap(plan, spec, ctas) *
                            credit_of_stages(plan, spec, facts, target, cost, ctas),
                        cost.l2);  // loads are asynchronous: they bound a step, they do not add to it
  return cost;
}

/// Clock cycles of an SM in which a CTA waits for rows of Q and stores those of O. CTAs of all SMs begin and end at much
/// the same time, so that each SM has its share of the memory's rate, and nothing else that it could do meanwhile.
double ends_cycles(const Plan& plan, const CheckedSpec& spec, const Target& target) {
  const double bytes =
      static_cast<double>(plan.tile_q) * (spec.head_dim + spec.head_dim_v) * dtype_bytes(spec.dtype);
  const double bytes_per_clock = target.hbm_gb_per_s / (target.clock_ghz * target.num_sms);
  return bytes / bytes_per_clock;
}

double cta_latency(const Plan& plan, int ctas) {
  const FamilyTraits& traits = traits_of(plan.family);
  if (!traits.has_async_copies) return kLoneCtaLatency / ctas;
  if (ctas == 1 && !traits.has_warpgroups)
    return has_warps_apart(plan) ? kLoneCtaLatencyApart : kLoneCtaLatency;
  return kCtaLatency / (ctas * ctas);
}

Cost predict_with(const Plan& plan, const CheckedSpec& spec, const Facts& facts, const Target& target,
                  const ProblemSize& size, double share_of_tiles, int ctas_on_an_sm, bool spills) {
  const double ctas = static_cast<double>(size.batch) * size.num_q_heads * ceil_div(size.q_len, plan.tile_q);
  const double ctas_of_busiest_sm = std::max(1.0, std::ceil(ctas / target.num_sms));
  Cost cost;
  cost.ctas = static_cast<int>(std::min<double>(ctas_on_an_sm, ctas_of_busiest_sm));
  cost.step = step_cost(plan, spec, facts, target, cost.ctas, spills);
  const double steps = ceil_div(size.kv_len, plan.tile_kv) * share_of_tiles;
  const double latency = cta_latency(plan, cost.ctas);
  const double cta_cycles = steps * cost.step.total + latency + ends_cycles(plan, spec, target);
  // Every tensor is read at least once. Only K and V of the tiles that the mask leaves are read again.
  const Traffic traffic = count_traffic(spec, facts, plan, target, size);
  const double bytes = traffic.least_bytes + share_of_tiles * (traffic.hbm_bytes - traffic.least_bytes);
  const double memory_ms = traffic.memory_ms * bytes / traffic.hbm_bytes;
  // A call ends no sooner than its longest CTA; where an SM holds several, short ones even that out. Plans of one stage and of
  // warpgroups keep the buckets that were measured without this.
  const bool may_be_uneven = cost.ctas == 1 && has_warps_apart(plan);
  const double most_steps = ceil_div(size.kv_len, plan.tile_kv) * most_tiles_kept(facts, plan, size);
  const double longest = may_be_uneven ? most_steps * cost.step.total : 0;
  const double cycles = std::max(ctas_of_busiest_sm * cta_cycles, longest);
  cost.ms = std::max(cycles / (target.clock_ghz * 1e6), memory_ms);
  return cost;
}

}  // namespace

StepCost step_cost(const Plan& plan, const CheckedSpec& spec, const Facts& facts, const Target& target,
                   int ctas) {
  return step_cost(plan, spec, facts, target, ctas, may_spill(plan, spec, facts, target));
}

Cost predict(const Plan& plan, const CheckedSpec& spec, const Facts& facts, const Target& target,
             const ProblemSize& size, std::optional<double> share_of_tiles) {
  return predict_with(plan, spec, facts, target, size,
                      share_of_tiles ? *share_of_tiles : share_of_tiles_kept(facts, plan, size),
                      plan.min_ctas, may_spill(plan, spec, facts, target));
}

int ctas_as_built(const Plan& plan, const AsBuilt& built, const Target& target) {
  const int threads = threads_of(plan);
  const int registers = round_up(std::max(1, built.registers), kRegisterGranularity);
  return std::min({target.max_ctas_per_sm, target.max_threads_per_sm / threads,
                   target.max_smem_per_sm / (built.shared_memory + target.reserved_smem_per_block),
                   warps_with_registers(registers, target) / (threads / kWarpThreads)});
}

Cost predict(const Plan& plan, const AsBuilt& built, const CheckedSpec& spec, const Facts& facts,
             const Target& target, const ProblemSize& size, double share_of_tiles) {
  return predict_with(plan, spec, facts, target, size, share_of_tiles,
                      std::max(1, ctas_as_built(plan, built, target)), built.has_costly_spills());
}

double least_ms_as_built(const Plan& plan, const CheckedSpec& spec, const Facts& facts, const Target& target,
                         const ProblemSize& size, double share_of_tiles) {
  const AsBuilt smallest{.registers = least_registers(plan, spec),
                         .shared_memory = shared_memory_bytes(plan, spec)};
  const int most_ctas = std::max(1, ctas_as_built(plan, smallest, target));
  double least = std::numeric_limits<double>::infinity();
  for (int ctas = 1; ctas <= most_ctas; ++ctas)
    least = std::min(least, predict_with(plan, spec, facts, target, size, share_of_tiles, ctas, false).ms);
  return least;
}

}  // namespace fa
