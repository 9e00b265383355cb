// Workspace: what passes leave for the passes after them, one part after the other.
#include "compiler/program/workspace.h"

#include <vector>

#include "tests/catch.h"

using namespace fa;

TEST_CASE("the workspace is the sum of what passes leave in it", "[program]") {
  ForwardParams params{};
  params.call.batch = 3;
  params.call.num_q_heads = 2;
  params.call.q_len = 130;
  params.call.kv_len = 4000;
  const Pass forward = {.entry = "f", .grid = Grid::q_tiles, .tile_q = 64, .tile_kv = 64};
  Pass map = {.entry = "m", .grid = Grid::tile_map, .tile_q = 64, .tile_kv = 64, .tile_map = TileMapShape{}};
  CHECK(workspace_bytes({}, params.call) == 0);
  CHECK(workspace_bytes({forward}, params.call) == 0);
  // 3 q tiles, each with the 63 kv tiles of 2 words, 2 bits a tile.
  CHECK(workspace_bytes({map, forward}, params.call) == 3 * 2 * 2 * 4);
  map.tile_map = TileMapShape{.of_batch = true, .of_head = true, .has_plain = true};
  CHECK(workspace_bytes({map, forward}, params.call) == 6 * 3 * 2 * 3 * 4);

  int memory[4] = {};
  place_workspace({forward}, memory, params);
  CHECK(params.tile_map == nullptr);
  place_workspace({map, forward}, memory, params);
  CHECK(params.tile_map == memory);
}

TEST_CASE("standard attention leaves its scores, their maxima and a state for each row",
          "[program][baseline]") {
  BaselineParams params{};
  CallParams& call = params.forward.call;
  call.batch = 3;
  call.num_q_heads = 2;
  call.q_len = 130;
  call.kv_len = 4000;
  const Program program = {{.entry = "scores", .tile_q = 64, .tile_kv = 128, .score_bytes = 2},
                           {.entry = "softmax", .grid = Grid::score_rows, .tile_q = 8, .tile_kv = 128},
                           {.entry = "outputs", .tile_q = 64, .tile_kv = 128}};
  CHECK(is_baseline(program));
  const std::size_t rows = 3 * 2 * 130, scores = rows * 4096 * 2,
                    maxima = rows * 32 * 4;  // 32 tiles of 128 keys
  CHECK(workspace_bytes(program, call) == scores + maxima + rows * 2 * 4);
  auto* const memory = reinterpret_cast<std::byte*>(0x1000);
  place_workspace(program, memory, params);
  CHECK(params.scores == memory);
  CHECK(static_cast<void*>(params.maxima) == memory + scores);
  CHECK(static_cast<void*>(params.row_state) == memory + scores + maxima);

  // Past 2^31 elements, and past what 64 bits hold.
  call.batch = 2;
  call.num_q_heads = 16;
  call.q_len = call.kv_len = 1 << 16;
  const std::size_t many = std::size_t{1} << 21;  // rows
  CHECK(workspace_bytes(program, call) == many * (65536 * 2 + 512 * 4 + 8));
  call.batch = call.num_q_heads = 65535;
  call.q_len = call.kv_len = 1 << 24;
  CHECK(workspace_bytes(program, call) >= std::size_t{1} << 60);
}

TEST_CASE("algorithm 1 leaves a row of sums and a state for each row", "[program][baseline]") {
  BaselineParams params{};
  CallParams& call = params.forward.call;
  call.batch = 3;
  call.num_q_heads = 2;
  call.q_len = 130;
  call.kv_len = 4000;
  const Program program = {
      {.entry = "tiles", .grid = Grid::heads, .tile_q = 64, .tile_kv = 128, .sum_columns = 80},
      {.entry = "outputs", .grid = Grid::score_rows, .tile_q = 64, .tile_kv = 128}};
  CHECK(is_baseline(program));
  const std::size_t rows = 3 * 2 * 130;  // however many keys
  CHECK(workspace_bytes(program, call) == rows * 80 * 4 + rows * 2 * 4);
  auto* const memory = reinterpret_cast<std::byte*>(0x1000);
  place_workspace(program, memory, params);
  CHECK(static_cast<void*>(params.sums) == memory);
  CHECK(static_cast<void*>(params.row_state) == memory + rows * 80 * 4);
}

TEST_CASE("each pass of a backward pass sees the tile map that was filled last", "[program]") {
  BackwardParams params{};
  params.forward.call.batch = 1;
  params.forward.call.num_q_heads = 2;
  params.forward.call.num_kv_heads = 2;
  params.forward.call.q_len = 130;
  params.forward.call.kv_len = 4000;
  const auto map = [](int tile) {
    return Pass{.entry = "m",
                .grid = Grid::tile_map,
                .tile_q = tile,
                .tile_kv = tile,
                .tile_map = TileMapShape{.of_batch = false, .of_head = false, .has_plain = false}};
  };
  const Program program = {{.entry = "rows", .grid = Grid::row_stats, .tile_q = 128, .tile_kv = 1},
                           map(64),
                           {.entry = "keys", .grid = Grid::kv_tiles, .tile_q = 64, .tile_kv = 64},
                           map(32),
                           {.entry = "queries", .grid = Grid::q_tiles, .tile_q = 32, .tile_kv = 32},
                           {.entry = "sums", .grid = Grid::d_q_sums, .tile_q = 128, .tile_kv = 40}};
  const std::size_t counts = (2 + 2) * 4;              // of heads of q and kv heads
  const std::size_t stats = 2 * 2 * 256 * 4 + counts;  // lse and D of 256 rows of two heads
  const std::size_t first_map = 3 * 2 * 2 * 4;         // 3 q tiles, 2 words, 2 bits a tile
  const std::size_t second_map = 5 * 4 * 2 * 4;
  const std::size_t sums = 2 * 256 * 48 * 4;  // whole products of 16 columns
  CHECK(workspace_bytes(program, params.forward.call) == stats + first_map + second_map + sums);

  std::vector<std::byte> memory(stats + first_map + second_map + sums);
  const auto offset = [&](const void* pointer) {
    return static_cast<const std::byte*>(pointer) - memory.data();
  };
  place_workspace(program, memory.data(), 2, params);
  CHECK(offset(params.row_stats) == 0);
  CHECK(offset(params.head_counts) == static_cast<std::ptrdiff_t>(stats - counts));
  CHECK(offset(params.forward.tile_map) == static_cast<std::ptrdiff_t>(stats));
  CHECK(offset(params.d_q_sums) == static_cast<std::ptrdiff_t>(stats + first_map + second_map));
  place_workspace(program, memory.data(), 4, params);
  CHECK(offset(params.forward.tile_map) == static_cast<std::ptrdiff_t>(stats + first_map));
}

TEST_CASE("a workspace holds the exact sums of gradients whose elements have several writers", "[program]") {
  BackwardParams params{};
  params.forward.call.batch = 2;
  params.forward.call.num_q_heads = 3;
  params.elements[1] = 1;
  params.elements[kMaxParams] = 1000;
  const Program program = {
      {.entry = "sums",
       .grid = Grid::exact_sums,
       .tile_q = 1,
       .tile_kv = 1,
       .exact_gradients = {{.number = 1},
                           {.number = kMaxParams, .is_once = true, .of_batch = true, .of_head = true}}}};
  CHECK(sizeof(ExactSum) == 104);
  CHECK(workspace_bytes(program, params) == 104);
  std::vector<std::byte> memory(104);
  place_workspace(program, memory.data(), 0, params);
  CHECK(static_cast<void*>(params.exact_sums[1]) == memory.data());
  CHECK(params.exact_sums[kMaxParams] == nullptr);
  // Without b among its indices the batch entries meet in its elements.
  Program meets = program;
  meets[0].exact_gradients[1].of_batch = false;
  CHECK(workspace_bytes(meets, params) == 112 + 1000 * 104);
  params.forward.call.batch = 1;
  CHECK(workspace_bytes(meets, params) == 104);
  CHECK(print(program).find("sums gradient 16: is_once=1 of_batch=1 of_head=1") != std::string::npos);
}

TEST_CASE("a program prints all that launching it takes", "[program]") {
  const Program program = {{.entry = "m",
                            .grid = Grid::tile_map,
                            .tile_q = 64,
                            .tile_kv = 32,
                            .threads = 256,
                            .tile_map = TileMapShape{.of_batch = true, .of_head = false, .has_plain = true}},
                           {.entry = "f",
                            .grid = Grid::q_tiles,
                            .tile_q = 64,
                            .tile_kv = 32,
                            .threads = 128,
                            .shared_memory = 5000,
                            .overlaps = true}};
  CHECK(print(program) ==
        "m: grid=tile_map tile_q=64 tile_kv=32 threads=256 shared_memory=0 overlaps=0, fills a tile map: "
        "of_batch=1 of_head=0 has_plain=1 round_rows=4\n"
        "f: grid=q_tiles tile_q=64 tile_kv=32 threads=128 shared_memory=5000 overlaps=1\n");
  CHECK(most_shared_memory(program) == 5000);
  CHECK(most_shared_memory({}) == 0);
}
