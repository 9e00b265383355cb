#include "compiler/program/grid.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "compiler/spec/rounding.h"
#include "templates/backward_params.h"

namespace fa {
namespace {

/// `head_shift` says how many heads take turns at each tile (templates/params.h).
Blocks of_q_tiles(const Pass& pass, const ForwardParams& params) {
  return {.x = count_tiles(params.call.q_len, pass.tile_q) << params.head_shift,
          .y = params.call.num_q_heads >> params.head_shift,
          .z = params.call.batch};
}

constexpr int kMostBlocks = 65535;  // in y and z

/// Of all batch entries' heads, 2^entry_shift each, 2^head_shift at a tile, then the same at the next, then others.
Blocks of_heads_in_turn(int tiles, const ForwardParams& params) {
  const std::int64_t numbers = std::int64_t{params.call.batch} << params.entry_shift;
  const std::int64_t turns =
      std::max<std::int64_t>(1, ceil_div(numbers, std::int64_t{1} << params.head_shift));
  const std::int64_t z = ceil_div(turns, kMostBlocks);
  return {
      .x = tiles << params.head_shift, .y = static_cast<int>(ceil_div(turns, z)), .z = static_cast<int>(z)};
}

Blocks of_q_tiles_across_entries(const Pass& pass, const ForwardParams& params) {
  return of_heads_in_turn(count_tiles(params.call.q_len, pass.tile_q), params);
}

/// Heads and batch entries have blocks of their own only where their maps differ.
Blocks of_tile_map(const Pass& pass, const ForwardParams& params) {
  const TileMapShape shape = pass.tile_map.value();
  return {.x = map_blocks(shape, params.call, pass.tile_q, pass.tile_kv),
          .y = shape.of_head ? params.call.num_q_heads : 1,
          .z = shape.of_batch ? params.call.batch : 1};
}

Blocks of_rows(const Pass& pass, const ForwardParams& params) {
  return {
      .x = count_tiles(params.call.q_len, pass.tile_q), .y = params.call.num_q_heads, .z = params.call.batch};
}

/// A block does pass.tile_q rows, kRowsPadded of one head side by side, or does more such rows after them: fewer blocks may be
/// launched.
Blocks of_row_stats(const Pass& pass, const ForwardParams& params) {
  const std::int64_t tiles =
      std::int64_t{padded_tiles(params.call.q_len)} * params.call.num_q_heads * params.call.batch;
  return {.x = static_cast<int>(ceil_div(tiles, std::int64_t{std::max(pass.tile_q / kRowsPadded, 1)}))};
}

Blocks of_heads(const Pass&, const ForwardParams& params) {
  return {.y = params.call.num_q_heads, .z = params.call.batch};
}

Blocks of_kv_tiles(const Pass& pass, const ForwardParams& params) {
  return {.x = count_tiles(params.call.kv_len, pass.tile_kv) << params.head_shift,
          .y = params.call.num_kv_heads >> params.head_shift,
          .z = params.call.batch};
}

Blocks of_kv_tiles_across_entries(const Pass& pass, const ForwardParams& params) {
  return of_heads_in_turn(count_tiles(params.call.kv_len, pass.tile_kv), params);
}

Blocks of_elements(const Pass&, const ForwardParams&) { return {.x = kBlocksOfExactSums}; }

struct Rule {
  Grid grid;
  std::string_view name;
  Blocks (*blocks)(const Pass&, const ForwardParams&);
};

/// A rule of grids is one line here and one of the enumeration, in the same order.
constexpr Rule kRules[] = {
    {Grid::q_tiles, "q_tiles", of_q_tiles},
    {Grid::tile_map, "tile_map", of_tile_map},
    {Grid::last_q_tiles_first, "last_q_tiles_first", of_q_tiles_across_entries},
    {Grid::first_q_tiles_first, "first_q_tiles_first", of_q_tiles_across_entries},
    {Grid::q_tiles_of_shared_table, "q_tiles_of_shared_table", of_q_tiles},
    {Grid::score_rows, "score_rows", of_rows},
    {Grid::heads, "heads", of_heads},
    {Grid::row_stats, "row_stats", of_row_stats},
    {Grid::kv_tiles, "kv_tiles", of_kv_tiles},
    {Grid::first_kv_tiles_first, "first_kv_tiles_first", of_kv_tiles_across_entries},
    {Grid::longest_kv_tiles_first, "longest_kv_tiles_first", of_kv_tiles_across_entries},
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

int entry_shift_of(int heads) { return std::bit_width(static_cast<unsigned>(std::max(heads, 1)) - 1); }

bool turns_cross_entries(Grid grid) {
  return rule_of(grid).blocks == of_q_tiles_across_entries ||
         rule_of(grid).blocks == of_kv_tiles_across_entries;
}

std::string_view grid_name(Grid grid) { return rule_of(grid).name; }

bool is_of_backward(Grid grid) { return grid >= Grid::row_stats; }
bool is_of_baseline(Grid grid) { return grid == Grid::score_rows || grid == Grid::heads; }
bool is_of_keys(Grid grid) {
  return grid == Grid::kv_tiles || grid == Grid::first_kv_tiles_first || grid == Grid::longest_kv_tiles_first;
}

std::optional<Grid> grid_named(std::string_view name) {
  for (const Rule& rule : kRules)
    if (rule.name == name) return rule.grid;
  return {};
}

}  // namespace fa
