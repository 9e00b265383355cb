#include "compiler/schedule/baseline/baseline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "compiler/schedule/baseline/flash1.h"
#include "compiler/schedule/host/host_plan.h"
#include "compiler/schedule/plan_text.h"
#include "compiler/schedule/shape.h"
#include "compiler/schedule/support.h"

namespace fa {
namespace {

constexpr int kMostStages = 4;
constexpr int kUsualStages = 3;  // of pass 3, whose steps are short

int most_shared_memory(const Plan& plan, const CheckedSpec& spec) {
  return std::max(scores_shared_memory(plan, spec), outputs_shared_memory(plan, spec));
}

/// Registers of a thread, roughly: the sums of either pass, and what addresses, operands and hooks take.
int registers_of(const Plan& plan, const CheckedSpec& spec) {
  constexpr int kRest = 64, kRestF32 = 96;
  const int row_tiles = row_tiles_per_warp(plan);
  const int sums =
      4 * row_tiles * std::max(plan.tile_kv / kMmaColumns, output_tiles(spec.head_dim_v, spec.dtype));
  return std::min(kMaxRegisters, sums + (spec.dtype == DType::f32 ? kRestF32 : kRest));
}

int most_ctas(const Plan& plan, const CheckedSpec& spec, const Target& target) {
  const int threads = threads_of(plan);
  const int registers = round_up(registers_of(plan, spec), kRegisterGranularity);
  const int smem = most_shared_memory(plan, spec) + target.reserved_smem_per_block;
  return std::max(1, std::min({warps_with_registers(registers, target) / (threads / kWarpThreads),
                               target.max_smem_per_sm / smem, 4}));
}

/// Rows of a warp: those that own 32 read K, V and P from shared memory half as often as those that own 16, where what
/// they sum up fits their registers. It does not beside copies through registers, nor beside hooks of many operations.
int rows_of_warp(const Plan& plan, const CheckedSpec& spec, const Facts& facts) {
  constexpr int kMostColumns = 128;  // of O
  constexpr int kLongHook = 16;      // operations an element
  const bool is_wide = output_tiles(spec.head_dim_v, spec.dtype) * kMmaColumns > kMostColumns;
  const bool is_narrow = plan.tile_q < 64 || is_wide || spec.dtype == DType::f32 ||
                         !traits_of(plan.family).has_async_copies ||
                         facts.element_ops + facts.column_ops / 2 > kLongHook;
  return is_narrow ? kMmaRows : 2 * kMmaRows;
}

std::string why_illegal_standard(const Plan& plan, const CheckedSpec& spec, const Target& target) {
  const FamilyTraits& traits = traits_of(plan.family);
  if (plan.warps != 1 && plan.warps != 2 && plan.warps != 4 && plan.warps != 8)
    return fmt::format("warps={} is not 1, 2, 4 or 8", plan.warps);
  const int rows = kMmaRows * plan.warps;
  if (plan.tile_q < rows || plan.tile_q > 2 * rows || plan.tile_q % rows != 0)
    return fmt::format("tile_q={} is not 16 or 32 rows a warp: {} or {}", plan.tile_q, rows, 2 * rows);
  const int keys = keys_of_stage(spec.dtype);
  if (plan.tile_kv < keys || plan.tile_kv > 256 || plan.tile_kv % keys != 0)
    return fmt::format("tile_kv={} is not a multiple of {}, up to 256: what a row of P has in 128 bytes",
                       plan.tile_kv, keys);
  const int least = traits.has_async_copies ? 2 : 1, most = traits.has_async_copies ? kMostStages : 1;
  if (plan.stages < least || plan.stages > most)
    return fmt::format("stages={} is not in {}..{}, as standard attention of {} kernels has", plan.stages,
                       least, most, traits.name);
  if (plan.q_in_registers) return "q_in_registers=1: standard attention reads Q from shared memory";
  if (const int smem = most_shared_memory(plan, spec); smem > target.max_smem_per_block)
    return fmt::format("the tiles take {} bytes of shared memory; a CTA on {} has {}", smem, target.name,
                       target.max_smem_per_block);
  if (plan.min_ctas < 1 || plan.min_ctas > target.max_ctas_per_sm)
    return fmt::format("min_ctas={} is not in 1..{}, the CTAs an SM of {} can hold", plan.min_ctas,
                       target.max_ctas_per_sm, target.name);
  if (plan.min_ctas * threads_of(plan) > target.max_threads_per_sm)
    return fmt::format("min_ctas={} x {} threads = {}; an SM of {} holds {}", plan.min_ctas, threads_of(plan),
                       plan.min_ctas * threads_of(plan), target.name, target.max_threads_per_sm);
  return {};
}

/// What is wrong with a plan of standard attention on the host, that of a fused kernel with the same tiles being legal.
std::string why_illegal_standard_on_host(const Plan& plan, const CheckedSpec& spec, const Target& target) {
  constexpr int kRows = 32;  // of S^T, that tile registers multiply at a time, and vectors fewer
  if (plan.tile_kv % kRows != 0)
    return fmt::format("tile_kv={} is not a multiple of {}: S has whole products in memory, tile by tile",
                       plan.tile_kv, kRows);
  Plan fused = plan;
  fused.loop_order = LoopOrder::q_outer;
  return why_illegal(fused, spec, target);
}

struct TileShape {
  int tile_q, tile_kv;
};
// The largest first: K and V are read once for each tile_q rows, and what a row's tile takes beside its products (its
// maximum, a barrier) is shared by its keys.
constexpr std::array kShapes{TileShape{128, 128}, TileShape{128, 64}, TileShape{64, 64}, TileShape{64, 32},
                             TileShape{32, 64},   TileShape{32, 32},  TileShape{16, 64}, TileShape{16, 32}};

/// The largest tile of standard attention that fits a GPU.
Plan default_standard_plan(Family family, const CheckedSpec& spec, const Facts& facts, const Target& target) {
  const bool has_async_copies = traits_of(family).has_async_copies;
  for (const TileShape& shape : kShapes) {
    Plan plan{.family = family,
              .loop_order = LoopOrder::standard,
              .tile_q = shape.tile_q,
              .tile_kv = shape.tile_kv};
    // The operands of 3xTF32, and copies on their way through registers, leave none for the sums of more.
    if ((spec.dtype == DType::f32 || !has_async_copies) && plan.tile_kv > 64) continue;
    plan.warps = std::min(8, plan.tile_q / rows_of_warp(plan, spec, facts));
    for (plan.stages = has_async_copies ? kUsualStages : 1; plan.stages >= (has_async_copies ? 2 : 1);
         --plan.stages)
      if (why_illegal_standard(plan, spec, target).empty()) return plan;
  }
  throw InternalError(fmt::format("no tile of standard attention fits {}", target.name));
}

struct ImplName {
  Impl impl;
  LoopOrder order;
  std::string_view name, why;
};
constexpr std::array kImpls{
    ImplName{Impl::facet, LoopOrder::q_outer, "facet", ""},
    ImplName{Impl::standard, LoopOrder::standard, "standard",
             "asked for; S and P pass through memory, and no tile is skipped"},
    ImplName{Impl::flash1, LoopOrder::kv_outer, "flash1",
             "asked for; rows of O go to memory and back with each kv tile, and no tile is skipped"}};
static_assert(kImpls[1].impl == Impl::standard &&
              kImpls[2].impl == Impl::flash1);  // in the enumeration's order

const ImplName& name_of(Impl impl) { return kImpls[static_cast<std::size_t>(impl)]; }

std::optional<Family> family_of(const CheckedSpec& spec, const Target& target) {
  for (const Family family : target.families)
    if (!traits_of(family).has_warpgroups && why_refused(family, spec, target).empty()) return family;
  return {};
}

/// The plan where its text says nothing more. On the host tiles are those of the fused kernel, so that what differs is
/// their order.
Plan default_plan(LoopOrder order, Family family, const CheckedSpec& spec, const Facts& facts,
                  const Target& target) {
  if (target.is_host()) {
    Plan plan = host_default(spec.dtype, host_cpu_of(target)).plan;
    plan.loop_order = order;
    return plan;
  }
  return order == LoopOrder::standard ? default_standard_plan(family, spec, facts, target)
                                      : default_flash1_plan(family, spec, target);
}

}  // namespace

LoopOrder loop_order_of(std::string_view text) {
  std::optional<LoopOrder> found;
  for_each_word(text, [&](std::string_view word) {
    const std::optional<LoopOrder> order = loop_order_named(word);
    if (!order) return;
    if (found && *found != *order)
      throw ArgumentError(
          fmt::format("plan: it is either {} or {}: leave out one (Options::impl and --impl name one, too)",
                      loop_order_name(*found), loop_order_name(*order)));
    found = order;
  });
  return found.value_or(LoopOrder::q_outer);
}

std::string_view impl_name(Impl impl) { return name_of(impl).name; }

std::optional<Impl> impl_named(std::string_view name) {
  for (const ImplName& line : kImpls)
    if (line.name == name) return line.impl;
  return {};
}

std::vector<std::string> impl_names() {
  std::vector<std::string> names;
  for (const ImplName& line : kImpls) names.emplace_back(line.name);
  return names;
}

Impl impl_of(LoopOrder order) {
  for (const ImplName& line : kImpls)
    if (line.order == order) return line.impl;
  throw InternalError(fmt::format("{} is no implementation's loop order", loop_order_name(order)));
}

std::string plan_of_impl(Impl impl, std::string_view text) {
  if (impl == Impl::facet) return std::string(text);
  std::string plan(loop_order_name(name_of(impl).order));
  if (!text.empty()) plan += fmt::format(" {}", text);
  loop_order_of(plan);  // throws where they are two
  return plan;
}

void refuse_backward(LoopOrder order) {
  if (order == LoopOrder::q_outer) return;
  throw ArgumentError(
      fmt::format("{} attention has no backward pass: take Facet's (Impl::facet, --impl facet), or leave out "
                  "the backward pass (Options::backward, --backward)",
                  impl_name(impl_of(order))));
}

int keys_of_stage(DType dtype) { return kPageRowBytes / dtype_bytes(dtype); }

int scores_shared_memory(const Plan& plan, const CheckedSpec& spec) {
  const int buffers = plan.stages > 1 ? 2 : 1;
  return (plan.tile_q + buffers * plan.tile_kv) * page_row_bytes(spec.head_dim, spec.dtype);
}

int outputs_shared_memory(const Plan& plan, const CheckedSpec& spec) {
  const int row_of_v = page_row_bytes(spec.head_dim_v, spec.dtype);
  const int stage = plan.tile_q * kPageRowBytes + keys_of_stage(spec.dtype) * row_of_v;
  const int o = spec.dtype == DType::f32 ? 0 : plan.tile_q * row_of_v;
  return std::max(plan.stages * stage, o);
}

std::string why_illegal_baseline(const Plan& plan, const CheckedSpec& spec, const Target& target) {
  if (traits_of(plan.family).has_warpgroups)
    return fmt::format("{} attention has no {} kernels", impl_name(impl_of(plan.loop_order)),
                       traits_of(plan.family).name);
  if (plan.search_first)
    return fmt::format("search_first=1: {} attention visits every tile", impl_name(impl_of(plan.loop_order)));
  if (plan.loop_order == LoopOrder::kv_outer) return why_illegal_flash1(plan, spec, target);
  return target.is_host() ? why_illegal_standard_on_host(plan, spec, target)
                          : why_illegal_standard(plan, spec, target);
}

Choice choose_baseline(LoopOrder order, const CheckedSpec& spec, const Facts& facts, const Target& target,
                       std::string_view text) {
  require_support(spec, target);
  const std::optional<Family> family = family_of(spec, target);
  if (!family)
    throw ArgumentError(
        fmt::format("{} attention has no kernels for {}", impl_name(impl_of(order)), target.name));
  Plan plan = parse_plan(text, default_plan(order, *family, spec, facts, target));
  if (order == LoopOrder::standard && !target.is_host() && text.find("min_ctas") == std::string_view::npos &&
      plan.warps > 0 && plan.tile_q > 0)
    plan.min_ctas = most_ctas(plan, spec, target);
  if (const std::string reason = why_illegal(plan, spec, target); !reason.empty())
    throw ArgumentError(fmt::format("plan '{}' cannot run: {}", plan.print(), reason));
  return {.plan = plan, .why = std::string(name_of(impl_of(order)).why)};
}

}  // namespace fa
