#include "compiler/schedule/backward/backward_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "compiler/schedule/shape.h"
#include "fa/error.h"

namespace fa {
namespace {

constexpr int kSwizzledRows = 1024;  // bytes: tiles begin at whole groups of eight page rows
constexpr int kRowsOfWarp = 16;
// Registers of a thread beside accumulators: fragments, addresses, what hooks need.
constexpr int kOtherRegisters = 62;
constexpr int kMapRegisters = 8;  // of a walk that reads a tile map

int tile_bytes(int rows, int head_dim, const CheckedSpec& spec) {
  return rows * pages(head_dim, spec.dtype) * kPageRowBytes;
}

/// Q, dO, K or V of `rows` rows, both of a pair.
int pair_bytes(int rows, const CheckedSpec& spec) {
  return tile_bytes(rows, spec.head_dim, spec) + tile_bytes(rows, spec.head_dim_v, spec);
}

/// Accumulators of 16 rows, a thread's share.
int sum_registers(int head_dim, DType dtype) { return padded_head_dim(head_dim, dtype) / 2; }

/// Of the pass that sums dK and dV, or the larger of the two.
int keys_registers(const CheckedSpec& spec, int tile_q, bool apart, const BackwardNeeds& needs) {
  const int dk = sum_registers(spec.head_dim, spec.dtype), dv = sum_registers(spec.head_dim_v, spec.dtype);
  const int scores = tile_q / 2;  // of S, and as many of dP
  return (apart ? std::max(dk, dv) : dk + dv) + 2 * scores + kOtherRegisters + needs.registers +
         (needs.has_tile_map ? kMapRegisters : 0);
}

std::string print(const TilePass& pass) {
  return fmt::format("(tile_q={} tile_kv={} warps={} stages={})", pass.tile_q, pass.tile_kv, pass.warps,
                     pass.stages);
}

/// The finding that no tiles fit: it is about all of the spec.
Diagnostic too_wide(const CheckedSpec& spec, const Target& target) {
  Diagnostic diagnostic;
  diagnostic.place.file = spec.file;
  diagnostic.message = fmt::format(
      "the backward pass of head_dim {} and head_dim_v {} in {} takes more shared memory than {} has",
      spec.head_dim, spec.head_dim_v, dtype_name(spec.dtype), target.name);
  diagnostic.remedy = "write `dtype f16` (facet: --dtype f16), or run it on the host";
  return diagnostic;
}

Family backward_family(const Target& target) {
  for (const Family family : target.families)
    if (family == Family::sm80 || family == Family::sm75) return family;
  throw InternalError(fmt::format("{} runs no family with a backward pass", target.name));
}

/// The largest tiles that fit. Large tiles of what stays save traffic, two stages hide the copies of what passes
/// by where those are asynchronous.
template <class Fits>
std::optional<TilePass> largest(Family family, std::array<int, 3> staying, std::array<int, 3> passing,
                                bool keys_stay, Fits fits) {
  const bool has_async_copies = traits_of(family).has_async_copies;
  for (const int stays : staying)
    for (const int passes : passing)
      for (const int stages : {2, 1}) {
        if (stages == 2 && !has_async_copies) continue;
        const TilePass pass = {.tile_q = keys_stay ? passes : stays,
                               .tile_kv = keys_stay ? stays : passes,
                               .warps = stays / kRowsOfWarp,
                               .stages = stages};
        if (fits(pass)) return pass;
      }
  return {};
}

}  // namespace

std::string BackwardPlan::print() const {
  return fmt::format("{} keys{} queries{} apart={:d} dq_by_sums={:d} deterministic={:d}", family_name(family),
                     fa::print(keys), fa::print(queries), apart, dq_by_sums, deterministic);
}

int keys_shared_memory(const BackwardPlan& plan, const CheckedSpec& spec) {
  const TilePass& pass = plan.keys;
  const int stats = round_up(2 * pass.tile_q * static_cast<int>(sizeof(float)), kSwizzledRows);
  const int d_scores = plan.dq_by_sums ? tile_bytes(pass.tile_kv, pass.tile_q, spec) : 0;
  return pair_bytes(pass.tile_kv, spec) + pass.stages * (pair_bytes(pass.tile_q, spec) + stats) + d_scores;
}

int queries_shared_memory(const BackwardPlan& plan, const CheckedSpec& spec) {
  return pair_bytes(plan.queries.tile_q, spec) + plan.queries.stages * pair_bytes(plan.queries.tile_kv, spec);
}

int captured_shared_memory(const TilePass& keys, const BackwardNeeds& needs) {
  const int diagonals = keys.warps * keys.tile_q + keys.tile_kv;  // a warp's: of tile_q and its own keys
  return (needs.distances * diagonals + needs.heads * keys.warps + needs.table_floats) *
         static_cast<int>(sizeof(float));
}

BackwardPlan choose_backward(const CheckedSpec& spec, const Target& target, const BackwardNeeds& needs) {
  BackwardPlan plan;
  plan.family = backward_family(target);
  constexpr int kLeastTileQ = 32;
  plan.apart = keys_registers(spec, kLeastTileQ, false, needs) > kMaxRegisters;
  // sm_75 has little shared memory, and slow additions to memory.
  plan.deterministic = needs.deterministic;
  plan.dq_by_sums = plan.family == Family::sm80 && spec.dtype != DType::f32 && !plan.apart && !needs.rows &&
                    !plan.deterministic;
  const auto fits = [&](const TilePass& pass) {
    plan.keys = pass;
    return keys_shared_memory(plan, spec) + captured_shared_memory(pass, needs) <=
               target.max_smem_per_block &&
           keys_registers(spec, pass.tile_q, plan.apart, needs) <= kMaxRegisters &&
           (!plan.dq_by_sums || pass.warps * kRowsOfWarp >= pass.tile_q);
  };
  const std::optional<TilePass> keys = largest(plan.family, {128, 64, 32}, {64, 32, 16}, true, fits);
  const std::optional<TilePass> queries =
      largest(plan.family, {64, 32, 16}, {128, 64, 32}, false, [&](const TilePass& pass) {
        plan.queries = pass;
        return queries_shared_memory(plan, spec) <= target.max_smem_per_block;
      });
  if (!keys || !queries) throw SpecError({too_wide(spec, target)});
  plan.keys = *keys;
  plan.queries = *queries;
  return plan;
}

}  // namespace fa
