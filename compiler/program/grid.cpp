#include "compiler/program/grid.h"

#include <cstddef>

#include "templates/backward_params.h"

namespace fa {
namespace {

/// `head_shift` says how many heads take turns at each tile (templates/params.h).
Blocks of_q_tiles(const Pass& pass, const ForwardParams& params) {
  return {.x = count_tiles(params.call.q_len, pass.tile_q) << params.head_shift,
          .y = params.call.num_q_heads >> params.head_shift,
          .z = params.call.batch};
}

/// All heads and batch entries at a tile, then those at the next.
Blocks of_first_q_tiles_first(const Pass& pass, const ForwardParams& params) {
  if (params.head_shift != kAllHeads) return of_q_tiles(pass, params);
  return {
      .x = params.call.num_q_heads, .y = params.call.batch, .z = count_tiles(params.call.q_len, pass.tile_q)};
}

/// Heads and batch entries have blocks of their own only where their maps differ.
Blocks of_tile_map(const Pass& pass, const ForwardParams& params) {
  const TileMapShape shape = pass.tile_map.value();
  return {.x = kBytesAWord * map_words(params.call, pass.tile_kv) *
               map_shares(shape, params.call, pass.tile_q, pass.tile_kv),
          .y = shape.of_head ? params.call.num_q_heads : 1,
          .z = shape.of_batch ? params.call.batch : 1};
}

Blocks of_rows(const Pass& pass, const ForwardParams& params) {
  return {
      .x = count_tiles(params.call.q_len, pass.tile_q), .y = params.call.num_q_heads, .z = params.call.batch};
}

Blocks of_heads(const Pass&, const ForwardParams& params) {
  return {.y = params.call.num_q_heads, .z = params.call.batch};
}

Blocks of_kv_tiles(const Pass& pass, const ForwardParams& params) {
  return {.x = count_tiles(params.call.kv_len, pass.tile_kv) << params.head_shift,
          .y = params.call.num_kv_heads >> params.head_shift,
          .z = params.call.batch};
}

Blocks of_first_kv_tiles_first(const Pass& pass, const ForwardParams& params) {
  if (params.head_shift != kAllHeads) return of_kv_tiles(pass, params);
  return {.x = params.call.num_kv_heads,
          .y = params.call.batch,
          .z = count_tiles(params.call.kv_len, pass.tile_kv)};
}

Blocks of_elements(const Pass&, const ForwardParams&) { return {.x = kBlocksOfExactSums}; }

constexpr int kMostBlocksInZ = 65535;  // and in y

struct Rule {
  Grid grid;
  std::string_view name;
  Blocks (*blocks)(const Pass&, const ForwardParams&);
};

/// A rule of grids is one line here and one of the enumeration, in the same order.
constexpr Rule kRules[] = {{Grid::q_tiles, "q_tiles", of_q_tiles},
                           {Grid::tile_map, "tile_map", of_tile_map},
                           {Grid::first_q_tiles_first, "first_q_tiles_first", of_first_q_tiles_first},
                           {Grid::score_rows, "score_rows", of_rows},
                           {Grid::heads, "heads", of_heads},
                           {Grid::row_stats, "row_stats", of_rows},
                           {Grid::kv_tiles, "kv_tiles", of_kv_tiles},
                           {Grid::first_kv_tiles_first, "first_kv_tiles_first", of_first_kv_tiles_first},
                           {Grid::d_q_sums, "d_q_sums", of_rows},
                           {Grid::exact_sums, "exact_sums", of_elements}};

constexpr bool are_in_order() {
  std::size_t place = 0;
  for (const Rule& rule : kRules)
    if (rule.grid != static_cast<Grid>(place++)) return false;
  return true;
}
static_assert(are_in_order());

const Rule& rule_of(Grid grid) { return kRules[static_cast<std::size_t>(grid)]; }

}  // namespace

Blocks blocks_of(const Pass& pass, const ForwardParams& params) {
  return rule_of(pass.grid).blocks(pass, params);
}

bool may_take_all_heads(const Pass& pass, const CallParams& call) {
  if (call.batch > kMostBlocksInZ) return false;
  if (pass.grid == Grid::first_q_tiles_first) return count_tiles(call.q_len, pass.tile_q) <= kMostBlocksInZ;
  if (pass.grid == Grid::first_kv_tiles_first)
    return count_tiles(call.kv_len, pass.tile_kv) <= kMostBlocksInZ;
  return false;
}

std::string_view grid_name(Grid grid) { return rule_of(grid).name; }

bool is_of_backward(Grid grid) { return grid >= Grid::row_stats; }
bool is_of_baseline(Grid grid) { return grid == Grid::score_rows || grid == Grid::heads; }
bool is_of_keys(Grid grid) { return grid == Grid::kv_tiles || grid == Grid::first_kv_tiles_first; }

std::optional<Grid> grid_named(std::string_view name) {
  for (const Rule& rule : kRules)
    if (rule.name == name) return rule.grid;
  return {};
}

}  // namespace fa
