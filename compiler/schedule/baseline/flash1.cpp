#include "compiler/schedule/baseline/flash1.h"

#include <fmt/format.h>

#include "compiler/schedule/baseline/baseline.h"
#include "compiler/schedule/shape.h"

namespace fa {
namespace {

// tile_q and tile_kv. A row of O goes to memory and back once for each tile of keys, K and V are read once: wide tiles
// first.
constexpr int kFlash1Tiles[][2] = {{128, 128}, {64, 128}, {128, 64}, {64, 64},
                                   {64, 32},   {32, 32},  {16, 32},  {16, 16}};

}  // namespace

std::string why_illegal_flash1(const Plan& plan, const CheckedSpec& spec, const Target& target) {
  const std::string_view impl = impl_name(Impl::flash1);
  if (plan.stages != 1) return fmt::format("stages={}: {} attention takes 1", plan.stages, impl);
  if (plan.q_in_registers)
    return fmt::format("q_in_registers=1: {} attention reads Q from shared memory", impl);
  Plan fused = plan;  // whose tiles take the same shared memory and registers
  fused.loop_order = LoopOrder::q_outer;
  return why_illegal(fused, spec, target);
}

Plan default_flash1_plan(Family family, const CheckedSpec& spec, const Target& target) {
  for (const auto& [tile_q, tile_kv] : kFlash1Tiles) {
    const Plan plan{.family = family,
                    .loop_order = LoopOrder::kv_outer,
                    .tile_q = tile_q,
                    .tile_kv = tile_kv,
                    .warps = tile_q / kMmaRows};
    // Sums of S and O, which a thread holds at once, beside a head's addresses and hooks: more spill.
    constexpr int kMostSums = 160;
    const int sums = 4 * (tile_kv / kMmaColumns + output_tiles(spec.head_dim_v, spec.dtype));
    if (sums <= kMostSums && why_illegal_flash1(plan, spec, target).empty()) return plan;
  }
  throw InternalError(fmt::format("no tile of {} attention fits {}", impl_name(Impl::flash1), target.name));
}

int tiles_shared_memory(const Plan& plan, const CheckedSpec& spec) {
  return (plan.tile_q + plan.tile_kv) * page_row_bytes(spec.head_dim, spec.dtype) +
         plan.tile_kv * page_row_bytes(spec.head_dim_v, spec.dtype);
}

int staged_output_bytes(const Plan& plan, const CheckedSpec& spec) {
  return spec.dtype == DType::f32 ? 0 : plan.tile_q * page_row_bytes(spec.head_dim_v, spec.dtype);
}

}  // namespace fa
