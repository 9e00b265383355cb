// Decides which plans can run. Every plan is checked here before it is built, so no launch asks for more than
// its device has.
#include <fmt/format.h>

#include <algorithm>

#include "compiler/schedule/baseline/baseline.h"
#include "compiler/schedule/shape.h"
#include "compiler/schedule/support.h"

namespace fa {
namespace {

constexpr int kMaxStages = 2;

// Only one copy through registers can be under way: a second stage would have to wait in registers, too.
int most_stages(Family family) { return traits_of(family).has_async_copies ? kMaxStages : 1; }

std::string why_illegal_on_host(const Plan& plan) {
  if (plan.warps != 1) return fmt::format("warps={}: the host has none and takes 1", plan.warps);
  if (plan.stages != 1)
    return fmt::format("stages={}: the host reads K and V in place and takes 1", plan.stages);
  if (plan.q_in_registers) return "q_in_registers=1: the host takes 0";
  if (plan.min_ctas != 1) return fmt::format("min_ctas={}: the host takes 1", plan.min_ctas);
  if (plan.search_first) return "search_first=1: the host takes 0";
  if (plan.tile_q > 256) return fmt::format("tile_q={}: the host takes at most 256", plan.tile_q);
  return {};
}

// What is wrong with the tile itself where warps multiply together.
std::string why_no_warpgroups(const Plan& plan) {
  if (plan.warps != 4 && plan.warps != 8 && plan.warps != 12)
    return fmt::format("warps={} is not 4, 8 or 12: {} kernels multiply by four warps together", plan.warps,
                       family_name(plan.family));
  if (plan.tile_q != kMmaRows * plan.warps)
    return fmt::format("tile_q={}: {} kernels own 16 rows a warp, {}", plan.tile_q, family_name(plan.family),
                       kMmaRows * plan.warps);
  if (plan.tile_kv < kTileKvStep || plan.tile_kv > kMaxWarpgroupColumns || plan.tile_kv % kTileKvStep != 0)
    return fmt::format("tile_kv={} is not a multiple of {}, up to {}", plan.tile_kv, kTileKvStep,
                       kMaxWarpgroupColumns);
  if (plan.stages != kMaxStages)
    return fmt::format("stages={}: {} kernels take {}", plan.stages, family_name(plan.family), kMaxStages);
  if (plan.q_in_registers)
    return fmt::format("q_in_registers=1: {} kernels read Q from shared memory", family_name(plan.family));
  if (plan.search_first)
    return fmt::format("search_first=1: {} kernels always search before the loop, and take 0",
                       family_name(plan.family));
  return {};
}

/// Whether tiles of the spec may have classes, by which a kernel searches for those that it visits.
bool may_search(const CheckedSpec& spec) { return spec.has_mask_mod() || spec.has_score_mod(); }

// What is wrong with the tile itself, on every target.
std::string why_misshapen(const Plan& plan) {
  if (traits_of(plan.family).has_warpgroups) return why_no_warpgroups(plan);
  if (plan.warps != 1 && plan.warps != 2 && plan.warps != 4 && plan.warps != 8) {
    return fmt::format("warps={} is not 1, 2, 4 or 8", plan.warps);
  }
  const int rows = kMmaRows * plan.warps;
  if (plan.tile_q < rows || plan.tile_q > kMaxTile || plan.tile_q % rows != 0) {
    return fmt::format("tile_q={} is not a multiple of 16 x warps = {}, up to {}", plan.tile_q, rows,
                       kMaxTile);
  }
  if (plan.tile_kv < kTileKvStep || plan.tile_kv > kMaxTile || plan.tile_kv % kTileKvStep != 0) {
    return fmt::format("tile_kv={} is not a multiple of {}, up to {}", plan.tile_kv, kTileKvStep, kMaxTile);
  }
  if (plan.stages < 1 || plan.stages > kMaxStages) return fmt::format("stages={} is not 1 or 2", plan.stages);
  if (plan.stages > most_stages(plan.family))
    return fmt::format("stages={}: {} kernels copy through registers and take 1", plan.stages,
                       family_name(plan.family));
  return {};
}

std::string why_too_big(const Plan& plan, const CheckedSpec& spec, const Target& target) {
  const int smem = shared_memory_bytes(plan, spec);
  if (smem > target.max_smem_per_block) {
    return fmt::format("the tiles take {} bytes of shared memory; a CTA on {} has {}", smem, target.name,
                       target.max_smem_per_block);
  }
  const int registers = register_estimate(plan, spec);
  if (registers > kMaxRegisters) {
    return fmt::format("a thread would need about {} registers; it has {}", registers, kMaxRegisters);
  }
  if (plan.min_ctas < 1 || plan.min_ctas > target.max_ctas_per_sm) {
    return fmt::format("min_ctas={} is not in 1..{}, the CTAs an SM of {} can hold", plan.min_ctas,
                       target.max_ctas_per_sm, target.name);
  }
  const int threads = threads_of(plan);
  if (plan.min_ctas * threads > target.max_threads_per_sm) {
    return fmt::format("min_ctas={} x {} threads = {}; an SM of {} holds {}", plan.min_ctas, threads,
                       plan.min_ctas * threads, target.name, target.max_threads_per_sm);
  }
  const int smem_with_reserve = smem + target.reserved_smem_per_block;
  if (plan.min_ctas * smem_with_reserve > target.max_smem_per_sm) {
    return fmt::format(
        "min_ctas={} x {} bytes of shared memory (with the {} reserved for each CTA) = {}; an SM of {} has "
        "{}",
        plan.min_ctas, smem_with_reserve, target.reserved_smem_per_block, plan.min_ctas * smem_with_reserve,
        target.name, target.max_smem_per_sm);
  }
  if (registers > register_budget(plan, target)) {
    return fmt::format(
        "min_ctas={} x {} threads leave a thread {} of {}'s {} registers; it would need about {}",
        plan.min_ctas, threads, register_budget(plan, target), target.name, target.registers_per_sm,
        registers);
  }
  const int at_launch = launch_registers(plan, target), least = least_launch_registers(plan, spec);
  if (at_launch < least)
    return fmt::format(
        "min_ctas={} x {} threads leave a thread {} registers at the launch; a product takes {}",
        plan.min_ctas, threads, at_launch, least);
  return {};
}

std::vector<Plan> host_plans() {
  std::vector<Plan> plans;
  for (const int tile_q : {16, 48, 64, 96, 128, 144, 192, 256}) {
    for (const int tile_kv : {32, 64, 128, 256, 512}) {
      plans.push_back({.family = Family::host, .tile_q = tile_q, .tile_kv = tile_kv, .warps = 1});
    }
  }
  return plans;
}

/// The values of search_first that a plan may have, the default first.
std::vector<bool> searches(Family family, const CheckedSpec& spec) {
  if (traits_of(family).has_warpgroups || !may_search(spec)) return {false};
  const bool usual = default_search_first(family, spec);
  return {usual, !usual};
}

void add_legal_plans(Family family, const CheckedSpec& spec, const Target& target, std::vector<Plan>& plans) {
  for (const int warps : {1, 2, 4, 8, 12}) {
    for (int row_tiles = 1; row_tiles <= 4; ++row_tiles) {
      for (int tile_kv = kTileKvStep; tile_kv <= 256; tile_kv += kTileKvStep) {
        for (int stages = 1; stages <= most_stages(family); ++stages) {
          for (const bool q_in_registers : {false, true}) {
            Plan plan{.family = family,
                      .tile_q = kMmaRows * warps * row_tiles,
                      .tile_kv = tile_kv,
                      .warps = warps,
                      .stages = stages,
                      .q_in_registers = q_in_registers};
            if (!why_misshapen(plan).empty()) continue;
            const int most = ctas_that_fit(plan, spec, target);
            for (const bool search_first : searches(family, spec)) {
              plan.search_first = search_first;
              for (plan.min_ctas = 1; plan.min_ctas <= most; ++plan.min_ctas) plans.push_back(plan);
            }
          }
        }
      }
    }
  }
}

}  // namespace

bool default_search_first(Family family, const CheckedSpec& spec) {
  return spec.dtype == DType::f32 && may_search(spec) && family != Family::host &&
         !traits_of(family).has_warpgroups;
}

int ctas_that_fit(const Plan& plan, const CheckedSpec& spec, const Target& target) {
  if (plan.family == Family::host) return 1;
  const int smem = shared_memory_bytes(plan, spec);
  const int registers = register_estimate(plan, spec);
  if (smem > target.max_smem_per_block || registers > kMaxRegisters) return 0;
  const int threads = threads_of(plan);
  int by_registers =
      warps_with_registers(round_up(registers, kRegisterGranularity), target) / (threads / kWarpThreads);
  if (traits_of(plan.family).copying_warps > 0) {
    Plan more = plan;
    const int least = least_launch_registers(plan, spec);
    for (more.min_ctas = 1;
         registers <= register_budget(more, target) && least <= launch_registers(more, target);
         ++more.min_ctas) {
    }
    by_registers = more.min_ctas - 1;
  }
  return std::min({target.max_ctas_per_sm, target.max_threads_per_sm / threads,
                   target.max_smem_per_sm / (smem + target.reserved_smem_per_block), by_registers});
}

std::string why_illegal(const Plan& plan, const CheckedSpec& spec, const Target& target) {
  if (std::string reason = why_refused(plan.family, spec, target); !reason.empty()) return reason;
  if (plan.is_baseline()) return why_illegal_baseline(plan, spec, target);
  if (plan.family == Family::host) {
    if (std::string reason = why_illegal_on_host(plan); !reason.empty()) return reason;
  }
  if (std::string reason = why_misshapen(plan); !reason.empty() || plan.family == Family::host) return reason;
  if (plan.search_first && !may_search(spec))
    return "search_first=1: without mask_mod and score_mod no tile is searched for";
  return why_too_big(plan, spec, target);
}

std::vector<Plan> legal_plans(const CheckedSpec& spec, const Target& target) {
  if (target.is_host()) return host_plans();
  std::vector<Plan> plans;
  for (const Family family : target.families)
    if (why_refused(family, spec, target).empty()) add_legal_plans(family, spec, target, plans);
  return plans;
}

}  // namespace fa
