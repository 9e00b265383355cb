// Which backward plans can run: what the kernels' templates take for granted.
#include "compiler/schedule/backward/backward_legal.h"

#include <fmt/format.h>

#include <bit>

#include "compiler/schedule/shape.h"

namespace fa {
namespace {

constexpr int kMaxWarps = 16;
constexpr int kMostKeys = 256;     // of a tile
constexpr int kKeysOfPhilox = 32;  // that one call draws for: the queries' pass takes whole calls

bool is_power_of_two(int number, int least, int most) {
  return number >= least && number <= most && std::has_single_bit(static_cast<unsigned>(number));
}

/// What holds of either pass. Query rows beyond the last whole kMostQueryRows have no row stats and no sums of dQ, so tiles of
/// rows divide that; warps begin at whole calls of Philox, so sizes are powers of two.
std::string why_pass_illegal(const TilePass& pass, Family family, int least_keys) {
  if (!is_power_of_two(pass.tile_q, kRowsOfWarp, kMostQueryRows))
    return fmt::format("tile_q={}: it is a power of two from {} to {}", pass.tile_q, kRowsOfWarp,
                       kMostQueryRows);
  if (!is_power_of_two(pass.tile_kv, least_keys, kMostKeys))
    return fmt::format("tile_kv={}: it is a power of two from {} to {}", pass.tile_kv, least_keys, kMostKeys);
  if (!is_power_of_two(pass.warps, 1, kMaxWarps))
    return fmt::format("warps={}: it is a power of two up to {}", pass.warps, kMaxWarps);
  const int most = traits_of(family).has_async_copies ? 2 : 1;
  if (pass.stages < 1 || pass.stages > most)
    return fmt::format("stages={}: {} kernels take 1{}", pass.stages, family_name(family),
                       most == 2 ? " or 2" : "");
  return {};
}

std::string over_shared_memory(int bytes, const Target& target) {
  return fmt::format("it takes {} bytes of shared memory a CTA, {} has {}", bytes, target.name,
                     target.max_smem_per_block);
}

/// Whether that many warps can part the columns of head_dim: by pairs of 8-column tiles.
bool parts_columns(int head_dim, const CheckedSpec& spec, int column_warps) {
  return padded_head_dim(head_dim, spec.dtype) / kRowsOfWarp % column_warps == 0;
}

std::string why_sharing_illegal(const TilePass& keys, const CheckedSpec& spec, bool captures) {
  const auto parted = [](int count) { return count == 1 || count == 2 || count == 4; };
  if (!parted(keys.column_warps) || !parted(keys.query_warps) || !parted(keys.parts))
    return fmt::format("column_warps={} query_warps={} parts={}: each is 1, 2 or 4", keys.column_warps,
                       keys.query_warps, keys.parts);
  const int sharing = keys.column_warps * keys.query_warps;
  if (captures && (sharing > 1 || keys.parts > 1))
    return "column_warps, query_warps and parts are 1 where gradients of captured tensors or params are "
           "summed";
  if (keys.column_warps > 1 && (keys.query_warps > 1 || keys.parts > 1))
    return fmt::format("column_warps={}: query_warps and parts are then 1", keys.column_warps);
  if (keys.column_warps > 1 && spec.dtype == DType::f32)
    return fmt::format("column_warps={}: in 16 bits only; query_warps may be 2 or 4", keys.column_warps);
  if (!parts_columns(spec.head_dim, spec, keys.column_warps) ||
      !parts_columns(spec.head_dim_v, spec, keys.column_warps))
    return fmt::format("column_warps={}: head_dim and head_dim_v are to be multiples of {}",
                       keys.column_warps, keys.column_warps * kRowsOfWarp);
  if (keys.warps % sharing != 0 || keys.tile_kv % (keys.warps / sharing * kRowsOfWarp) != 0)
    return fmt::format("tile_kv={} warps={}: {} warps share keys, and have a multiple of 16", keys.tile_kv,
                       keys.warps, sharing);
  if (keys.tile_q % (sharing * keys.parts * kRowsOfWarp) != 0)
    return fmt::format("tile_q={}: a warp works on {} rows at a time, and takes a multiple of 16",
                       keys.tile_q, static_cast<double>(keys.tile_q) / (sharing * keys.parts));
  return {};
}

}  // namespace

std::string why_keys_illegal(const BackwardPlan& plan, const CheckedSpec& spec, const Target& target,
                             const BackwardNeeds& needs) {
  const TilePass& keys = plan.keys;
  if (std::string reason = why_pass_illegal(keys, plan.family, kRowsOfWarp); !reason.empty()) return reason;
  if (std::string reason = why_sharing_illegal(keys, spec, needs.captures); !reason.empty()) return reason;
  if (plan.apart && keys.column_warps > 1) return "apart=1: column_warps is then 1";
  if (plan.apart && plan.dq_by_sums) return "apart=1: dq_by_sums is then 0";
  if (plan.delays_dq && !plan.dq_by_sums) return "delays_dq=1: dq_by_sums is then 1";
  if (plan.dq_by_sums) {
    if (plan.family != Family::sm80) return "dq_by_sums=1: only sm80 kernels sum dQ so";
    if (plan.deterministic) return "dq_by_sums=1: its bits differ from run to run; deterministic=1";
    if (needs.rows) return "dq_by_sums=1: elements of query rows are captured, which the pass of dQ sums";
    if (keys.warps * kRowsOfWarp < keys.tile_q)
      return fmt::format("tile_q={} warps={}: the warps cannot part the query rows between them", keys.tile_q,
                         keys.warps);
  }
  const int bytes = keys_shared_memory(plan, spec) + captured_shared_memory(keys, needs);
  return bytes <= target.max_smem_per_block ? "" : "keys: " + over_shared_memory(bytes, target);
}

std::string why_queries_illegal(const BackwardPlan& plan, const CheckedSpec& spec, const Target& target) {
  const TilePass& queries = plan.queries;
  if (std::string reason = why_pass_illegal(queries, plan.family, kKeysOfPhilox); !reason.empty())
    return "queries: " + reason;
  if (queries.column_warps != 1 || queries.query_warps != 1 || queries.parts != 1)
    return "queries: column_warps, query_warps and parts are 1";
  if (queries.warps * kRowsOfWarp != queries.tile_q)
    return fmt::format("queries: tile_q={} warps={}: each warp has 16 rows", queries.tile_q, queries.warps);
  const int bytes = queries_shared_memory(plan, spec);
  return bytes <= target.max_smem_per_block ? "" : "queries: " + over_shared_memory(bytes, target);
}

std::string why_illegal(const BackwardPlan& plan, const CheckedSpec& spec, const Target& target,
                        const BackwardNeeds& needs) {
  if (plan.deterministic != needs.deterministic)
    return fmt::format("deterministic={:d} is no part of a plan: ask for it as such (Options::deterministic)",
                       plan.deterministic);
  if (std::string reason = why_keys_illegal(plan, spec, target, needs); !reason.empty()) return reason;
  return why_queries_illegal(plan, spec, target);
}

}  // namespace fa
