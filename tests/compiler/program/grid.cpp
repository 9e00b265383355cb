// What makes a pass's grid: blocks by a call's sizes, and the names that bundles store.
#include "compiler/program/grid.h"

#include <array>
#include <cstdint>

#include "templates/backward_params.h"
#include "tests/catch.h"

using namespace fa;

namespace {

ForwardParams call(int batch, int heads, int q_len, int kv_len) {
  ForwardParams params{};
  params.call.batch = batch;
  params.call.num_q_heads = heads;
  params.call.q_len = q_len;
  params.call.kv_len = kv_len;
  return params;
}

std::array<int, 3> blocks(const Pass& pass, const ForwardParams& params) {
  const Blocks found = blocks_of(pass, params);
  return {found.x, found.y, found.z};
}

}  // namespace

TEST_CASE("a block for so many rows of scores, whatever turns heads take", "[program][baseline]") {
  const Pass pass = {.entry = "s", .grid = Grid::score_rows, .tile_q = 8, .tile_kv = 128};
  ForwardParams params = call(3, 8, 130, 1000);
  params.head_shift = 2;
  CHECK(blocks(pass, params) == std::array{17, 8, 3});
}

TEST_CASE("a block for each head and batch entry, whatever turns heads take", "[program][baseline]") {
  const Pass pass = {.entry = "t", .grid = Grid::heads, .tile_q = 64, .tile_kv = 128};
  ForwardParams params = call(3, 8, 130, 1000);
  params.head_shift = 2;
  CHECK(blocks(pass, params) == std::array{1, 8, 3});
}

TEST_CASE("a block for each q tile, of heads in turn", "[program]") {
  const Pass pass = {.entry = "f", .grid = Grid::q_tiles, .tile_q = 64, .tile_kv = 32};
  ForwardParams params = call(3, 8, 130, 1000);
  CHECK(blocks(pass, params) == std::array{3, 8, 3});
  params.head_shift = 2;
  CHECK(blocks(pass, params) == std::array{12, 2, 3});
  CHECK(blocks(pass, call(1, 1, 1, 1)) == std::array{1, 1, 1});
  CHECK(blocks(pass, call(1, 1, 128, 1)) == std::array{2, 1, 1});
  // The longest call that arguments let through stays below a grid's limits.
  params = call(65535, 65535, 1 << 24, 1 << 24);
  CHECK(blocks({.entry = "f", .grid = Grid::q_tiles, .tile_q = 1, .tile_kv = 1}, params) ==
        std::array{1 << 24, 65535, 65535});
}

TEST_CASE("blocks share the tiles of a map, of heads and batch entries where their maps differ",
          "[program]") {
  Pass pass = {.entry = "f", .grid = Grid::tile_map, .tile_q = 64, .tile_kv = 64, .tile_map = TileMapShape{}};
  const ForwardParams params = call(3, 8, 130, 4000);
  // 63 kv tiles are 8 rounds of 8, in 2 words; one row of rounds has all 3 q tiles.
  CHECK(blocks(pass, params) == std::array{8, 1, 1});
  pass.tile_map->of_batch = true;
  CHECK(blocks(pass, params) == std::array{8, 1, 3});
  pass.tile_map->of_head = true;
  CHECK(blocks(pass, params) == std::array{8, 8, 3});
  // 1024 q tiles are 256 rows of rounds. A GPU runs 528 blocks at once, so that 66 take turns at the rows.
  pass.tile_map = TileMapShape{};
  CHECK(blocks(pass, call(3, 8, 1024 * 64, 4000)) == std::array{8 * 66, 1, 1});
  // Maps of every head leave less for each, at least a block for each column of rounds.
  pass.tile_map->of_head = true;
  CHECK(blocks(pass, call(3, 8, 1024 * 64, 4000)) == std::array{8 * 8, 8, 1});
  CHECK(blocks(pass, call(3, 100, 1024 * 64, 4000)) == std::array{8, 100, 1});
  // Rounds of one q tile: 63 kv tiles are 2 of 32.
  pass.tile_map = TileMapShape{.of_batch = false, .of_head = false, .has_plain = false, .round_rows = 1};
  CHECK(blocks(pass, params) == std::array{2 * 3, 1, 1});
  CHECK(blocks(pass, call(3, 8, 1024 * 64, 4000)) == std::array{2 * 264, 1, 1});
}

TEST_CASE("the grids of a backward pass count rows and kv tiles of heads", "[program]") {
  ForwardParams params = call(3, 8, 130, 1000);
  params.call.num_kv_heads = 2;
  params.head_shift = 2;
  CHECK(blocks({.entry = "f", .grid = Grid::row_stats, .tile_q = 128, .tile_kv = 1}, params) ==
        std::array{2 * 8 * 3, 1, 1});
  CHECK(blocks({.entry = "f", .grid = Grid::row_stats, .tile_q = 5 * 128, .tile_kv = 1}, params) ==
        std::array{10, 1, 1});  // 128 rows of five heads' tiles side by side
  CHECK(blocks({.entry = "f", .grid = Grid::d_q_sums, .tile_q = 128, .tile_kv = 64}, params) ==
        std::array{2, 8, 3});
  params.head_shift = 0;
  CHECK(blocks({.entry = "f", .grid = Grid::kv_tiles, .tile_q = 64, .tile_kv = 128}, params) ==
        std::array{8, 2, 3});
  params.head_shift = 1;
  CHECK(blocks({.entry = "f", .grid = Grid::kv_tiles, .tile_q = 64, .tile_kv = 128}, params) ==
        std::array{16, 1, 3});
  CHECK(blocks({.entry = "f", .grid = Grid::exact_sums, .tile_q = 1, .tile_kv = 1}, params) ==
        std::array{kBlocksOfExactSums, 1, 1});
}

TEST_CASE("heads of any batch entries take turns where tiles differ", "[program]") {
  ForwardParams params = call(5, 8, 130, 1000);
  params.call.num_kv_heads = 2;
  for (const Grid grid : {Grid::last_q_tiles_first, Grid::first_q_tiles_first}) {
    const Pass pass = {.entry = "f", .grid = grid, .tile_q = 64, .tile_kv = 32};
    CHECK(turns_cross_entries(grid));
    params.entry_shift = 3;  // 8 heads
    params.head_shift = 0;
    CHECK(blocks(pass, params) == std::array{3, 40, 1});
    params.head_shift = 4;  // 40 heads: two turns of 16, one of 8
    CHECK(blocks(pass, params) == std::array{3 << 4, 3, 1});
    params.head_shift = 6;
    CHECK(blocks(pass, params) == std::array{3 << 6, 1, 1});
    // More turns than a grid has room for in y.
    ForwardParams many = call(65535, 65535, 64, 64);
    many.head_shift = 2;
    many.entry_shift = 16;
    const auto [x, y, z] = blocks(pass, many);
    CHECK(x == 4);
    CHECK(y <= 65535);
    CHECK(z <= 65535);
    CHECK(std::int64_t{y} * z * 4 >= std::int64_t{65535} * 65535);
  }
  for (const Grid grid : {Grid::first_kv_tiles_first, Grid::longest_kv_tiles_first}) {
    CHECK(turns_cross_entries(grid));
    params.entry_shift = 1;  // 2 heads
    params.head_shift = 2;
    CHECK(blocks({.entry = "f", .grid = grid, .tile_q = 64, .tile_kv = 128}, params) ==
          std::array{8 << 2, 3, 1});  // 10 heads
  }
  for (const Grid grid :
       {Grid::q_tiles, Grid::q_tiles_of_shared_table, Grid::kv_tiles, Grid::row_stats, Grid::tile_map})
    CHECK_FALSE(turns_cross_entries(grid));
}

TEST_CASE("numbers of heads go up to a power of two", "[program]") {
  const std::array<std::array<int, 2>, 7> known = {
      {{1, 0}, {2, 1}, {3, 2}, {4, 2}, {5, 3}, {40, 6}, {65535, 16}}};
  for (const auto& [heads, shift] : known) CHECK(entry_shift_of(heads) == shift);
}

TEST_CASE("grids have names", "[program]") {
  for (const Grid grid :
       {Grid::q_tiles, Grid::tile_map, Grid::last_q_tiles_first, Grid::first_q_tiles_first,
        Grid::q_tiles_of_shared_table, Grid::score_rows, Grid::heads, Grid::row_stats, Grid::kv_tiles,
        Grid::first_kv_tiles_first, Grid::longest_kv_tiles_first, Grid::d_q_sums, Grid::exact_sums}) {
    CHECK(grid_named(grid_name(grid)) == grid);
    CHECK(is_of_backward(grid) ==
          (grid != Grid::q_tiles && grid != Grid::tile_map && grid != Grid::last_q_tiles_first &&
           grid != Grid::first_q_tiles_first && grid != Grid::q_tiles_of_shared_table &&
           grid != Grid::score_rows && grid != Grid::heads));
  }
  CHECK(grid_name(Grid::q_tiles) == "q_tiles");
  CHECK(grid_name(Grid::tile_map) == "tile_map");
  CHECK_FALSE(grid_named(""));
  CHECK_FALSE(grid_named("q_tile"));
}
