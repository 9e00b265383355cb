// A schedule as data: how one spec is tiled on one target. Legality and preference are functions of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/analysis/facts.h"
#include "compiler/spec/spec.h"
#include "compiler/target/target.h"

namespace fa {

/// What is computed in which order, and what of it passes through device memory.
enum class LoopOrder : std::uint8_t {
  q_outer,  // fused, keys inside: what `choose` chooses
  // Baselines, which are built where they are asked for alone (baseline/baseline.h, docs/baselines.md):
  standard,  // standard attention, FlashAttention's algorithm 0: S and P whole in device memory, nothing is fused
  kv_outer  // FlashAttention's algorithm 1: keys outside, so that rows of O go to device memory and back with each tile
};

std::string_view loop_order_name(LoopOrder order);  // "q_outer"
std::optional<LoopOrder> loop_order_named(std::string_view word);

struct Plan {
  Family family = Family::sm80;
  LoopOrder loop_order = LoopOrder::q_outer;
  int tile_q = 0;               // Br: query rows a CTA owns
  int tile_kv = 0;              // Bc: keys per step
  int warps = 0;                // of 32 threads; each owns tile_q / warps rows. Host: 1
  int stages = 1;               // buffers each for K and V in shared memory
  bool q_in_registers = false;  // keep Q fragments in registers for the whole kv loop
  int min_ctas = 1;             // CTAs an SM should hold: the register budget NVRTC gets
  // Where tiles have classes: whether the first tile is searched for before the kv loop, which then has a copy of the
  // search's code of its own, and not as the loop's first turn.
  bool search_first = false;

  bool is_baseline() const { return loop_order != LoopOrder::q_outer; }
  /// "sm80 q_outer tile_q=128 tile_kv=64 warps=4 stages=1 q_in_registers=0 min_ctas=2"; of the host's only
  /// what it has: "host q_outer tile_q=96 tile_kv=64". " search_first=1" follows where it is so.
  std::string print() const;
  bool operator==(const Plan&) const = default;
};

/// The fields that are numbers, in `print`'s order: "tile_q", "tile_kv", ...
std::vector<std::string> plan_fields();
/// The value of the field of that name; nothing where no field has it, or those of the host do not.
std::optional<int> plan_field(const Plan& plan, std::string_view name);

/// Reads `print`'s form; fields left out keep those of `base`. Throws Error naming the bad field.
Plan parse_plan(std::string_view text, const Plan& base);

/// The only shared-memory sum: dynamic bytes one CTA of the forward kernel asks for, `staged_bytes` of them
/// for what its hooks read a tile ahead. 0 on the host.
int shared_memory_bytes(const Plan& plan, const CheckedSpec& spec, int staged_bytes = 0);
/// How many bytes of shared memory per CTA the plan leaves free where an SM holds min_ctas CTAs. 0 on the
/// host.
int spare_shared_memory_bytes(const Plan& plan, const CheckedSpec& spec, const Target& target);
/// What ptxas must have of a thread's registers at the launch, whatever warps take from each other later: a product of a
/// warpgroup is one instruction, which has all of its sums at once. 0 for other kernels.
int least_launch_registers(const Plan& plan, const CheckedSpec& spec);
/// Registers per thread, on the average over a CTA, that hold the sums of a tile of S and of O: no forward kernel does
/// without them. 0 on the host.
int least_registers(const Plan& plan, const CheckedSpec& spec);
/// Estimated registers per thread of the forward kernel (accumulators, fragments, addressing). 0 on the host.
int register_estimate(const Plan& plan, const CheckedSpec& spec);
/// CTAs of this plan that one SM holds, by shared memory, registers, threads and slots; 0 where not even one
/// fits. `plan.min_ctas` plays no part. 1 on the host.
int ctas_that_fit(const Plan& plan, const CheckedSpec& spec, const Target& target);

/// Empty where the plan can run; else the reason, naming the limit and the number.
std::string why_illegal(const Plan& plan, const CheckedSpec& spec, const Target& target);
/// Every legal plan, in no particular order. Never empty on the host, nor for head_dim 16..256 on a GPU
/// target whose family has kernels.
std::vector<Plan> legal_plans(const CheckedSpec& spec, const Target& target);

/// What `choose` takes for a plan's search_first. 16 bits: the search has a place in the loop, which saves up to 15% of the
/// instructions and costs no time (36 kernels of an H200 without it: 0.94 to 1.04 of the time, 1.00 on the average). f32: up to
/// 332 bytes would be spilled in the loop, which take up to 2% more time.
bool default_search_first(Family family, const CheckedSpec& spec);

struct Choice {
  Plan plan;
  std::string why;  // one line for `explain`
  double predicted_ms =
      0;  // for the size the cost model was asked about; 0 on the host, whose model counts cycles
};

/// The problem size a cost is predicted for. The kernel itself serves every size.
struct ProblemSize {
  int batch = 2, num_q_heads = 16, num_kv_heads = 16, q_len = 8192, kv_len = 8192;
  std::int64_t captured_bytes = 0;  // of all captured tensors together
  bool operator==(const ProblemSize&) const = default;
};

/// The plan the cost model prefers. Throws SpecError where the target cannot run the spec, with the remedy.
Choice choose(const CheckedSpec& spec, const Facts& facts, const Target& target,
              const ProblemSize& size = {});

/// The choice of a given plan for `size`, with `reason` and the model's terms as why.
Choice explain_plan(const Plan& plan, const CheckedSpec& spec, const Facts& facts, const Target& target,
                    const ProblemSize& size, std::string_view reason);

/// Whether `choose` would consider the plan: some legal ones it leaves to a tuner that measures.
bool is_preferable(const Plan& plan, const CheckedSpec& spec, const Facts& facts, const Target& target);

/// Every legal tile, each with the model's min_ctas, by predicted time: a tuner should measure them in this
/// order. The chosen plan comes first.
std::vector<Choice> rank_plans(const CheckedSpec& spec, const Facts& facts, const Target& target,
                               const ProblemSize& size = {});

/// The plan `text` asks for, in parse_plan's form over the preferred plan, or over that of another family of kernels
/// where `text` names it or can run by that one alone; where it leaves min_ctas out, the model picks it. Throws SpecError as `choose` does, Error where the plan is malformed or illegal.
Choice choose_forced(const CheckedSpec& spec, const Facts& facts, const Target& target, std::string_view text,
                     const ProblemSize& size = {});

}  // namespace fa
