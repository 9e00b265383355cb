#include "compiler/schedule/backward/backward_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "compiler/schedule/backward/backward_legal.h"
#include "compiler/schedule/shape.h"
#include "fa/error.h"

namespace fa {
namespace {

constexpr int kSwizzledRows = 1024;  // bytes: tiles begin at whole groups of eight page rows
// Registers of a thread beside accumulators: fragments, addresses, what hooks need.
constexpr int kOtherRegisters = 62;
// More, and NVRTC 13.0 spills some of them at d64, though the sum of all registers is no larger than at d128, where it does not.
constexpr int kMostScores = 64;
constexpr int kSplitRegisters = 24;  // f32: the second halves of fragments that three TF32 products multiply
constexpr int kAnyScores = 1 << 16;
constexpr int kLeastPart = 32;        // query rows
constexpr int kDropoutRegisters = 1;  // of what has been drawn
// Of such hooks, and of dropout, where P and dS stay in registers, and ptxas has the least room: at d64 they spill 16 to 48
// bytes without.
constexpr int kHookRegisters = 8;
constexpr int kDelayRegisters = 1;  // of the tile whose part of dQ is still to be added

int tile_bytes(int rows, int head_dim, const CheckedSpec& spec) {
  return rows * pages(head_dim, spec.dtype) * kPageRowBytes;
}

/// Q, dO, K or V of `rows` rows, both of a pair.
int pair_bytes(int rows, const CheckedSpec& spec) {
  return tile_bytes(rows, spec.head_dim, spec) + tile_bytes(rows, spec.head_dim_v, spec);
}

/// Accumulators of 16 rows, a thread's share.
int sum_registers(int head_dim, DType dtype) { return padded_head_dim(head_dim, dtype) / 2; }

/// Warps of the same keys.
int sharing_warps(const TilePass& keys) { return keys.column_warps * keys.query_warps; }

/// Keys of a warp.
int rows_of_warp(const TilePass& keys) { return keys.tile_kv / (keys.warps / sharing_warps(keys)); }

/// S and dP that a thread has at a time.
int scores_registers(const TilePass& keys) {
  return rows_of_warp(keys) / kRowsOfWarp * keys.tile_q / sharing_warps(keys) / keys.parts;
}

/// Of what a tile adds to dQ, where that is summed by the pass: QueryPart in templates/common/backward/query_sums.cuh.
int query_part_registers(const CheckedSpec& spec, const TilePass& keys) {
  const int tiles_of_unit = spec.dtype == DType::f32 ? 4 : 2;  // of 8 columns, that one warp sums
  const int units = ceil_div(output_tiles(spec.head_dim, spec.dtype), tiles_of_unit);
  const int twos = keys.tile_q / (2 * kRowsOfWarp);  // of 32 rows
  const bool has_two = twos > 0 && keys.warps % twos == 0 && keys.warps / twos <= units;
  const int groups = std::max(1, keys.warps / (has_two ? twos : keys.tile_q / kRowsOfWarp));
  return (has_two ? 2 : 1) * ceil_div(units, groups) * tiles_of_unit * 4;
}

/// Of the pass that sums dK and dV, or the larger of the two; `query_part`: of what it adds to dQ, meanwhile.
int keys_registers(const CheckedSpec& spec, const BackwardPlan& plan, const BackwardNeeds& needs) {
  const TilePass& keys = plan.keys;
  const int query_part = plan.dq_by_sums ? query_part_registers(spec, keys) : 0;
  const int dk = sum_registers(spec.head_dim, spec.dtype), dv = sum_registers(spec.head_dim_v, spec.dtype);
  const int row_tiles = rows_of_warp(keys) / kRowsOfWarp;
  const int scores = scores_registers(keys);
  return (plan.apart ? std::max(dk, dv) : dk + dv) * row_tiles / keys.column_warps +
         std::max(scores, query_part) + kOtherRegisters + needs.registers +
         (spec.has_dropout ? kDropoutRegisters : 0) + (plan.delays_dq ? kDelayRegisters : 0) +
         (keys.query_warps > 1 && (needs.computes_distances || spec.has_dropout) ? kHookRegisters : 0);
}

/// The most scores that a thread of the keys' pass should have at a time where the tiles are the largest that fit. By
/// TF32 products each takes a second register, for what the first product leaves.
int most_scores(const CheckedSpec& spec, const BackwardPlan& plan, const BackwardNeeds& needs) {
  if (plan.family != Family::sm80 || spec.dtype != DType::f32 || needs.captures) return kAnyScores;
  const int dk = sum_registers(spec.head_dim, spec.dtype), dv = sum_registers(spec.head_dim_v, spec.dtype);
  const int sums = plan.apart ? std::max(dk, dv) : dk + dv;
  return (kMaxRegisters - kOtherRegisters - kSplitRegisters - sums) / 2;
}

/// Bytes that a pair of a query and a key costs in shared memory, whose 128 bytes a clock are what limits the pass that sums
/// dK, dV and dQ where mma.sync multiplies: tensor cores are busy 40% of the time beside it (docs/performance.md). In 16 bits.
double shared_bytes_of_pair(const CheckedSpec& spec, const TilePass& keys) {
  constexpr int kBytes = 2, kRowsOfQueryPart = 32;
  const double d = spec.head_dim, d_v = spec.head_dim_v;
  const double rows = rows_of_warp(keys), columns = static_cast<double>(keys.tile_q) / sharing_warps(keys);
  const bool shares = keys.column_warps > 1;
  double of_warp = (rows * keys.parts + columns) * (d + d_v);  // S and dP
  of_warp += keys.tile_q * (d + d_v) / sharing_warps(keys);    // Q and dO, for dK and dV
  if (shares) of_warp += 2 * rows * keys.tile_q;               // dS and P
  const double row_groups = std::max(1, keys.tile_q / kRowsOfQueryPart);
  of_warp += keys.tile_kv * (kRowsOfQueryPart + d * row_groups / keys.warps);  // dQ
  const double pairs = static_cast<double>(keys.tile_q) * keys.tile_kv;
  const double written = keys.tile_q * (d + d_v) + pairs * (shares ? 2 : 1);
  return kBytes * (keys.warps * of_warp + written) / pairs;
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
/// by where those are asynchronous. Where there are more scores than `most_scores`, keys that stay take them in parts.
template <class Fits>
std::optional<TilePass> largest(Family family, std::array<int, 3> staying, std::array<int, 3> passing,
                                bool keys_stay, int most_scores, Fits fits) {
  const bool has_async_copies = traits_of(family).has_async_copies;
  for (const int stays : staying)
    for (const int passes : passing)
      for (const int stages : {2, 1}) {
        if (stages == 2 && !has_async_copies) continue;
        TilePass pass = {.tile_q = keys_stay ? passes : stays,
                         .tile_kv = keys_stay ? stays : passes,
                         .warps = stays / kRowsOfWarp,
                         .stages = stages};
        // Smaller parts read, and split, K and V more often than what they save is worth.
        while (scores_registers(pass) > most_scores && passes / pass.parts > kLeastPart) pass.parts *= 2;
        if (fits(pass)) return pass;
      }
  return {};
}

/// The queries' tiles of which an SM holds eight warps at once, if any fit: with four of them, a CTA of the largest tiles, it
/// waits for most of what it copies and multiplies. Deterministic backward passes on an H100, with the largest and with these:
/// d128 dense 12.9 and 11.3 ms, `document` 1.46 and 1.25, `bigbird` 1.63 and 0.91; d256 dense 14.2 and 12.7. In 16 bits.
std::optional<TilePass> busy_queries(const CheckedSpec& spec, const Target& target, BackwardPlan plan) {
  constexpr int kWarps = 8;
  for (const int tile_q : {64, 128})
    for (const int stages : {2, 1})
      for (const int tile_kv : {128, 64}) {
        plan.queries = {
            .tile_q = tile_q, .tile_kv = tile_kv, .warps = tile_q / kRowsOfWarp, .stages = stages};
        const int bytes = queries_shared_memory(plan, spec) + target.reserved_smem_per_block;
        if (why_queries_illegal(plan, spec, target).empty() &&
            kWarps / plan.queries.warps * bytes <= target.max_smem_per_sm)
          return plan.queries;
      }
  return {};
}

/// For f32: tiles whose keys two warps share, each with its part of the query rows. With half the keys there is room for
/// more rows; a tile of fewer than 32 rows leaves warps without work when its part of dQ is added.
template <class Fits>
std::optional<TilePass> shared_keys_f32(int most_scores, Fits fits) {
  for (const int tile_q : {64, 32})
    for (const int stages : {2, 1}) {
      TilePass pass = {.tile_q = tile_q, .tile_kv = 64, .warps = 8, .query_warps = 2, .stages = stages};
      if (scores_registers(pass) > most_scores) pass.parts = 2;
      if (fits(pass)) return pass;
    }
  return {};
}

/// The time that a pair takes in the pass that sums dK, dV and dQ, in bytes of shared memory. Fitted to 31 runs of plans on an
/// H100 and an H200, d64 to d256, dense: 28 are within 8%, all within 13%, and the order at each head dim holds but for d64.
double cost_of_keys(const CheckedSpec& spec, const TilePass& keys, bool delays_dq) {
  constexpr double kProducts = 0.19;  // a column of head_dim: tensor cores' time that reads do not hide
  // A tile: warps that share keys wait until dS and P are there.
  constexpr double kExchange = 80000;
  constexpr double kOneStage = 1.09;  // copies that nothing hides: dQ's part does where it comes after them
  constexpr double kFewWarps = 1.05;  // of CTAs of four, two on an SM
  constexpr double kSecondBarrier =
      1.02;  // warps wait once more before dQ's part, but where the wait for dS was theirs, too
  const double exchange = keys.column_warps > 1 ? kExchange / (keys.tile_q * keys.tile_kv) : 0;
  return (shared_bytes_of_pair(spec, keys) + kProducts * (spec.head_dim + spec.head_dim_v) + exchange) *
         (keys.stages == 1 && delays_dq ? kOneStage : 1) * (keys.warps < 8 ? kFewWarps : 1) *
         (keys.column_warps == 1 && !delays_dq ? kSecondBarrier : 1);
}

/// By how much more than the mask keeps the pass computes. Timed on an H100: but for a band, fewer query rows brought nothing
/// (`tree` and `neighbourhood_2d` at d64: 1.00 to 1.07 of the time, but 0.77 and 0.89 by tiles of half the keys), and neither
/// did fewer keys where eight warps share them, but for masks by blocks (an A100's plans at d128: `gpt_oss` 1.13 and
/// `neighbourhood_2d` 1.16 of the time, `bigbird` 0.83).
double excess_of(const MaskEdges& edges, const TilePass& keys) {
  constexpr int kKeysOfEightWarps = 128;
  const int tile_kv = keys.warps < 8 || edges.keys > 1 ? keys.tile_kv : kKeysOfEightWarps;
  return edges.excess(edges.is_band ? keys.tile_q : tile_kv, tile_kv);
}

/// The tiles of that pass, and whether it delays dQ, that cost least of those that fit, if any do. In 16 bits.
template <class Fits>
std::optional<TilePass> cheapest_keys(const CheckedSpec& spec, const Target& target, BackwardPlan& plan,
                                      const MaskEdges& edges, Fits fits) {
  constexpr int kWarps = 8;  // on an SM
  // The tile of four warps: larger ones were not timed, smaller ones and those of one stage spill (gpt_oss, tree at d128).
  constexpr int kSideOfFewWarps = 64;
  std::optional<TilePass> best;
  double least = 0;
  bool best_delays = false;
  struct Sharing {
    int columns, queries, warps;
  };
  const auto fits_an_sm = [&](const TilePass& pass) {
    const int bytes = keys_shared_memory(plan, spec) + target.reserved_smem_per_block;
    return kWarps / pass.warps * bytes <= target.max_smem_per_sm;
  };
  for (const int stages : {2, 1})
    for (const int tile_kv : {128, 64})
      for (const int tile_q : {128, 64, 32})
        for (const Sharing sharing :
             {Sharing{1, 1, kWarps}, {1, 2, kWarps}, {2, 1, kWarps}, {4, 1, kWarps}, {1, 1, kWarps / 2}}) {
          TilePass pass = {.tile_q = tile_q,
                           .tile_kv = tile_kv,
                           .warps = sharing.warps,
                           .column_warps = sharing.columns,
                           .query_warps = sharing.queries,
                           .stages = stages};
          if (sharing.columns == 1 && scores_registers(pass) > kMostScores) pass.parts = 2;
          if (pass.warps < kWarps && (tile_q != kSideOfFewWarps || tile_kv != kSideOfFewWarps || stages != 2))
            continue;
          if (tile_q > tile_kv || scores_registers(pass) > kMostScores) continue;
          for (const bool delays : {false, plan.dq_by_sums}) {
            plan.delays_dq = delays;
            if (!fits(pass) || !fits_an_sm(pass)) continue;
            const double cost = cost_of_keys(spec, pass, delays) * excess_of(edges, pass);
            if (best && cost >= least) continue;
            best = pass;
            least = cost;
            best_delays = delays;
          }
        }
  plan.delays_dq = best_delays;
  return best;
}

}  // namespace

int keys_shared_memory(const BackwardPlan& plan, const CheckedSpec& spec) {
  const TilePass& pass = plan.keys;
  const int stats = round_up(2 * pass.tile_q * static_cast<int>(sizeof(float)), kSwizzledRows);
  const bool shares = pass.column_warps > 1;
  const int scores = (shares ? 2 : plan.dq_by_sums ? 1 : 0) + (plan.dq_by_sums && plan.delays_dq ? 1 : 0);
  const int keys = pair_bytes(pass.tile_kv, spec);
  const int passing = pass.stages * (pair_bytes(pass.tile_q, spec) + stats) +
                      scores * tile_bytes(pass.tile_kv, pass.tile_q, spec);
  // Where warps part the query rows, their sums of dK and dV are added up in the room of what has passed by.
  const int sums =
      pass.tile_kv * static_cast<int>(sizeof(float)) *
      (padded_head_dim(spec.head_dim, spec.dtype) + padded_head_dim(spec.head_dim_v, spec.dtype));
  return keys + (pass.query_warps > 1 ? std::max(passing, sums) : passing);
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
  plan.deterministic = needs.deterministic;
  // sm_75 has little shared memory, and slow additions to memory.
  plan.dq_by_sums = plan.family == Family::sm80 && !needs.rows && !plan.deterministic;
  const auto fits = [&](const TilePass& pass) {
    plan.keys = pass;
    return why_keys_illegal(plan, spec, target, needs).empty() &&
           keys_registers(spec, plan, needs) <= kMaxRegisters;
  };
  std::optional<TilePass> keys;
  if (plan.family == Family::sm80 && spec.dtype != DType::f32 && !needs.captures)
    keys = cheapest_keys(spec, target, plan, needs.edges, fits);
  if (!keys) {
    constexpr TilePass kLeast = {.tile_q = 32, .tile_kv = kRowsOfWarp, .warps = 1};
    BackwardPlan together;
    together.keys = kLeast;
    plan.apart = keys_registers(spec, together, needs) > kMaxRegisters;
    const auto largest_keys = [&] {
      return largest(plan.family, {128, 64, 32}, {64, 32, 16}, true, most_scores(spec, plan, needs), fits);
    };
    plan.dq_by_sums = plan.dq_by_sums && !plan.apart;
    keys = largest_keys();
    const bool is_small = keys && keys->tile_q < 32;
    if (is_small && plan.dq_by_sums && spec.dtype == DType::f32 && !needs.captures)
      if (const auto shared = shared_keys_f32(most_scores(spec, plan, needs), fits)) keys = shared;
    if (!keys && plan.dq_by_sums) {  // dS has no room
      plan.dq_by_sums = false;
      keys = largest_keys();
    }
    // In f32 the products take so long that one barrier less does not show.
    plan.delays_dq = plan.dq_by_sums && spec.dtype != DType::f32;
    plan.delays_dq = plan.delays_dq && keys && fits(*keys);
  }
  std::optional<TilePass> queries;
  if (plan.family == Family::sm80 && spec.dtype != DType::f32) queries = busy_queries(spec, target, plan);
  if (!queries)
    queries = largest(plan.family, {64, 32, 16}, {128, 64, 32}, false, kAnyScores, [&](const TilePass& pass) {
      plan.queries = pass;
      return why_queries_illegal(plan, spec, target).empty();
    });
  if (!keys || !queries) throw SpecError({too_wide(spec, target)});
  plan.keys = *keys;
  plan.queries = *queries;
  return plan;
}

BackwardPlan choose_backward_forced(const CheckedSpec& spec, const Target& target, const BackwardNeeds& needs,
                                    std::string_view text) {
  const BackwardPlan chosen = choose_backward(spec, target, needs);
  const BackwardPlan plan = parse_backward_plan(text, chosen);
  if (plan.family != chosen.family)
    throw ArgumentError(fmt::format("{}: {} runs the backward pass by {} kernels", family_name(plan.family),
                                    target.name, family_name(chosen.family)));
  if (const std::string reason = why_illegal(plan, spec, target, needs); !reason.empty())
    throw ArgumentError(reason);
  return plan;
}

}  // namespace fa
