// The walk of a kernel's CTA over its kv tiles, run on the host. What it visits is held to the list of tiles
// whose class is not empty.
#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "tests/catch.h"
#include "tests/templates/cuda_on_host.h"
// after cuda_on_host.h
#include "templates/common/tiles/tile_walk.cuh"

namespace {

constexpr int kTileKv = 64;
constexpr int kPlain = 4;  // beside a tile's class

/// What tiles are, and which groups of 32 are seen badly: their mask (1), their score (2).
std::vector<int> tiles;
std::vector<int> vague;

bool is_group(int kv_lo, int kv_hi) { return kv_lo / kTileKv != kv_hi / kTileKv; }
bool is_vague(int kv_lo, int kv_hi, int what) {
  const auto group = static_cast<std::size_t>(kv_lo / kTileKv / 32);
  return is_group(kv_lo, kv_hi) && (vague[group] & what) != 0;
}

template <bool kScore>
struct TestClasses {
  static constexpr bool kHasTileClass = true;
  static constexpr bool kHasTileMap = false;
  static constexpr bool kHasScoreClass = kScore;
  static int tile_class(const fa::CallParams&, int, int, int, int, int, int kv_lo, int kv_hi) {
    if (is_vague(kv_lo, kv_hi, 1)) return fa::kTilePartial;
    const auto first = tiles.begin() + kv_lo / kTileKv;
    const auto last = tiles.begin() + kv_hi / kTileKv;
    const bool alike = std::all_of(first, last + 1, [&](int tile) { return (tile & 3) == (*first & 3); });
    return alike ? *first & 3 : fa::kTilePartial;
  }
  static bool score_is_plain(const fa::CallParams&, int, int, int, int, int kv_lo, int kv_hi) {
    if (is_vague(kv_lo, kv_hi, 2)) return false;
    return std::all_of(tiles.begin() + kv_lo / kTileKv, tiles.begin() + kv_hi / kTileKv + 1,
                       [](int tile) { return (tile & kPlain) != 0; });
  }
};

void draw(std::mt19937& random, int kv_len) {
  const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  const int num_tiles = (kv_len + kTileKv - 1) / kTileKv;
  constexpr std::array kLongest{3, 40, 100, 400, 1500};
  const int longest = kLongest[static_cast<std::size_t>(pick(5))];
  tiles.clear();
  while (static_cast<int>(tiles.size()) < num_tiles) {
    const int tile = pick(3) + pick(2) * kPlain;
    tiles.insert(tiles.end(), static_cast<std::size_t>(1 + pick(longest)), tile);
  }
  tiles.resize(static_cast<std::size_t>(num_tiles));
  vague.assign(static_cast<std::size_t>(num_tiles / 32 + 2), 0);
  for (int& group : vague) group = pick(4) == 0 ? pick(4) : 0;
}

/// The tiles that a lane visits, each as 4 * tile + 1 where nothing of it is dropped + 2 where it is plain.
template <bool kScore>
std::vector<int> walk(const fa::ForwardParams& params) {
  fa::ClassWalk<TestClasses<kScore>, 128, kTileKv, false> walk;
  std::vector<int> visited;
  for (fa::WalkStep step = walk.first(params); step.exists(); step = walk.after(params, step))
    visited.push_back(4 * step.tile() + (step.full() ? 1 : 0) + (step.plain() ? 2 : 0));
  return visited;
}

template <bool kScore>
void check(const fa::ForwardParams& params) {
  std::vector<int> expected;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    if ((tiles[i] & 3) == fa::kTileEmpty) continue;
    const bool is_cut = static_cast<int>(i + 1) * kTileKv > params.call.kv_len;
    const bool full = (tiles[i] & 3) == fa::kTileFull && !is_cut;
    const bool plain = kScore && (tiles[i] & kPlain) != 0;
    expected.push_back(4 * static_cast<int>(i) + (full ? 1 : 0) + (plain ? 2 : 0));
  }
  std::array<std::vector<int>, 32> visited;
  run_block(1, [&](unsigned lane) { visited[lane] = walk<kScore>(params); });
  for (const std::vector<int>& of_lane : visited) CHECK(of_lane == expected);
}

}  // namespace

TEST_CASE("every lane visits the tiles that are not empty, in order, and knows what they are") {
  std::mt19937 random(20261122);
  for (int i = 0; i < 200; ++i) {
    const int most = std::array{2048, 20000, 140000, 64 * 32 * 5}[static_cast<std::size_t>(i % 4)];
    fa::ForwardParams params{};
    params.call.q_len = 128;
    params.call.kv_len = 1 + static_cast<int>(random() % static_cast<unsigned>(most));
    if (i % 4 == 3) params.call.kv_len = (params.call.kv_len / 2048 + 1) * 2048;  // whole groups
    draw(random, params.call.kv_len);
    INFO("kv_len " << params.call.kv_len);
    if (i % 2 == 0)
      check<false>(params);
    else
      check<true>(params);
  }
}
