// Which heads take turns at a tile: by the cache, by a grid's limits, and by when a launch then ends.
#include "runtime/cuda/turns.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "compiler/program/grid.h"
#include "tests/catch.h"

using namespace fa;

namespace {

constexpr int kSms = 132;

DeviceInfo gpu(std::int64_t l2_bytes) {
  DeviceInfo info;
  info.num_sms = kSms;
  info.l2_bytes = l2_bytes;
  info.max_smem_per_sm = 228 << 10;
  info.reserved_smem_per_block = 1 << 10;
  return info;
}

CallParams call(int batch, int heads, int kv_heads, int q_len, int kv_len) {
  CallParams params{};
  params.batch = batch;
  params.num_q_heads = heads;
  params.num_kv_heads = kv_heads;
  params.group_size = heads / kv_heads;
  params.q_len = q_len;
  params.kv_len = kv_len;
  return params;
}

Pass pass(Grid grid) {
  return {.entry = "f", .grid = grid, .tile_q = 128, .tile_kv = 64, .shared_memory = 64 << 10};
}

constexpr std::int64_t kRowBytes = 256;  // of K and V
constexpr std::int64_t kL2 = 50 << 20;

int shift(const Pass& pass, const CallParams& call, std::int64_t l2_bytes) {
  ForwardParams params{};
  params.call = call;
  number_blocks(pass, kRowBytes * call.kv_len, gpu(l2_bytes), params);
  return params.head_shift;
}
int shift(Grid grid, const CallParams& call, std::int64_t l2_bytes) {
  return shift(pass(grid), call, l2_bytes);
}

/// How much later the last CTA ends than if all places of the GPU worked until then, where blocks start in order, each in the
/// first place that is free, and take as many steps as a causal mask leaves tiles to theirs, and one more.
double beyond_ideal(const CallParams& call, int head_shift, int places) {
  ForwardParams params{};
  params.call = call;
  params.head_shift = head_shift;
  params.entry_shift = entry_shift_of(call.num_q_heads);
  const Pass of_q = pass(Grid::last_q_tiles_first);
  const Blocks blocks = blocks_of(of_q, params);
  const int tiles = count_tiles(call.q_len, of_q.tile_q);
  std::priority_queue<double, std::vector<double>, std::greater<>> free;
  for (int i = 0; i < places; ++i) free.push(0);
  double end = 0, sum = 0;
  for (int turn = 0; turn < blocks.y * blocks.z; ++turn)
    for (int x = 0; x < blocks.x; ++x) {
      const int number = (turn << head_shift) + x % (1 << head_shift);
      if (number >> params.entry_shift >= call.batch ||
          number % (1 << params.entry_shift) >= call.num_q_heads)
        continue;
      const double steps = 1.0 + (tiles - (x >> head_shift)) * of_q.tile_q / of_q.tile_kv;
      const double ended = free.top() + steps;
      free.pop();
      free.push(ended);
      end = std::max(end, ended);
      sum += steps;
    }
  return end / (sum / places);
}

}  // namespace

TEST_CASE("heads take turns where the L2 cache holds their K and V", "[runtime][launch]") {
  const auto of = [](int heads, int kv_heads, int kv_len) {
    return shift(Grid::q_tiles, call(3, heads, kv_heads, 130, kv_len), 1 << 20);
  };
  CHECK(of(8, 8, 1024) == 2);
  CHECK(of(8, 8, 1025) == 1);
  CHECK(of(8, 8, 2048) == 1);
  CHECK(of(8, 8, 2049) == 0);
  CHECK(of(8, 2, 4096) == 2);
  CHECK(of(8, 2, 4097) == 0);
  CHECK(of(6, 6, 1) == 1);
  CHECK(of(3, 3, 1) == 0);
  // Of K and V it is their Q and dO that is read again.
  CHECK(shift(Grid::kv_tiles, call(1, 8, 8, 1024, 64), 1 << 20) == 2);
  CHECK(shift(Grid::kv_tiles, call(1, 8, 8, 1025, 64), 1 << 20) == 1);
  CHECK(shift(Grid::kv_tiles, call(1, 16, 8, 1024, 64), 1 << 20) == 1);
}

TEST_CASE("eight heads take turns where they share a table that outgrows the L2 cache", "[runtime][launch]") {
  const auto of = [](int heads, int q_len, int kv_len) {
    return shift(Grid::q_tiles_of_shared_table, call(3, heads, heads, q_len, kv_len), 1 << 20);
  };
  CHECK(of(8, 1024, 512) == 2);  // a table of 1 MiB
  CHECK(of(8, 1025, 512) == 3);
  CHECK(of(16, 1025, 512) == 3);
  CHECK(of(12, 1025, 512) == 2);
  CHECK(of(8, 4096, 513) == 2);  // K and V of eight heads are larger
  CHECK(of(8, 4096, 2049) == 0);
  CHECK(shift(Grid::q_tiles, call(3, 8, 8, 1025, 512), 1 << 20) == 2);
}

TEST_CASE("all heads take turns where the first tokens see far more than others", "[runtime][launch]") {
  const auto of = [](int batch, int q_len) {
    return shift(Grid::first_q_tiles_first, call(batch, 6, 2, q_len, 6400), 1 << 20);
  };
  CHECK(of(1, 130) == 3);              // 6 heads, numbers for 8
  CHECK(of(3, 130) == 5);              // for 24
  CHECK(of(64, 130) == 9);             // for 512
  CHECK(of(1, 132 * 128 * 100) == 0);  // more CTAs an SM than there are tiles of keys: none would end alone
}

TEST_CASE("under a causal mask as many heads take turns as the GPU has room for", "[runtime][launch]") {
  const auto of = [](int batch, int heads, int length, std::int64_t l2 = kL2) {
    return shift(Grid::last_q_tiles_first, call(batch, heads, heads, length, length), l2);
  };
  CHECK(of(1, 16, 16384) == 2);  // 128 tiles of four heads
  CHECK(of(2, 16, 4096) == 3);   // 32 of eight are 256 CTAs for 264 places
  CHECK(of(4, 16, 1024) == 5);   // 8 of 32 heads, of two batch entries
  CHECK(of(1, 16, 1024) == 4);   // no more heads
  CHECK(of(3, 12, 1024) ==
        6);  // numbers for 48 heads in one turn: of turns of 32 the last would be half as long
  CHECK(of(1, 3, 1024) == 2);
  CHECK(of(64, 16, 512) == 2);  // many CTAs: tiles of a head are better side by side
  // What they read must leave half of the cache free; up to four heads may fill it.
  CHECK(of(4, 16, 1024, 8 << 20) == 4);
  CHECK(of(4, 16, 1024, 1 << 20) == 2);
  CHECK(of(4, 16, 1024, 1 << 19) == 1);
  CHECK(of(1, 64, 1 << 24) == 0);
  CHECK(shift(Grid::longest_kv_tiles_first, call(4, 16, 16, 1024, 1024), kL2) == 4);  // 16 tiles
  // One CTA an SM.
  Pass large = pass(Grid::last_q_tiles_first);
  large.shared_memory = 160 << 10;
  CHECK(shift(large, call(4, 16, 16, 1024, 1024), kL2) == 4);
}

TEST_CASE("under a causal mask the last CTAs of a launch end together", "[runtime][launch]") {
  for (const auto& [batch, heads, length] : {std::tuple{4, 16, 1024},
                                             {2, 16, 2048},
                                             {1, 16, 4096},
                                             {8, 16, 1024},
                                             {16, 16, 1024},
                                             {32, 16, 512},
                                             {8, 16, 2048},
                                             {2, 32, 4096},
                                             {2, 16, 8192},
                                             {1, 32, 16384},
                                             {3, 12, 2048},
                                             {5, 40, 1024}}) {
    const CallParams sizes = call(batch, heads, heads, length, length);
    INFO("B" << batch << " H" << heads << " N" << length);
    const int chosen = shift(Grid::last_q_tiles_first, sizes, kL2);
    CHECK(beyond_ideal(sizes, chosen, 2 * kSms) <
          (std::has_single_bit(static_cast<unsigned>(batch * heads)) ? 1.05 : 1.1));
  }
  // As it was with four heads in turn.
  CHECK(beyond_ideal(call(4, 16, 16, 1024, 1024), 2, 2 * kSms) > 1.5);
}
