// The walk of a kernel's CTA, run on the host: over the kv tiles of a q tile, and over the q tiles of a kv
// tile. What it visits is held to the list of tiles whose class is not empty.
#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "tests/catch.h"
#include "tests/templates/cuda_on_host.h"
// after cuda_on_host.h
#include "templates/common/tiles/query_tiles.cuh"
#include "templates/common/tiles/tile_walk.cuh"
#include "templates/sm80/placement.cuh"
// after sm80/placement.cuh
#include "templates/common/tiles/key_tiles.cuh"

namespace {

constexpr int kTile = 64;  // of the side that is walked
constexpr int kPlain = 4;  // beside a tile's class

/// What tiles are, and which groups of 32 are seen badly: their mask (1), their score (2).
std::vector<int> tiles;
std::vector<int> vague;

bool is_vague(int first, int last, int what) {
  const bool is_group = first / kTile != last / kTile;
  return is_group && (vague[static_cast<std::size_t>(first / kTile / 32)] & what) != 0;
}

/// Tiles that differ along one side.
template <bool kOfQueries, bool kScore>
struct TestClasses {
  static constexpr bool kHasTileClass = true;
  static constexpr bool kHasTileMap = false;
  static constexpr bool kHasScoreClass = kScore;

  static int class_of(int first, int last) {
    if (is_vague(first, last, 1)) return fa::kTilePartial;
    const auto begin = tiles.begin() + first / kTile;
    const auto end = tiles.begin() + last / kTile + 1;
    const bool alike = std::all_of(begin, end, [&](int tile) { return (tile & 3) == (*begin & 3); });
    return alike ? *begin & 3 : fa::kTilePartial;
  }
  static bool is_plain(int first, int last) {
    if (is_vague(first, last, 2)) return false;
    return std::all_of(tiles.begin() + first / kTile, tiles.begin() + last / kTile + 1,
                       [](int tile) { return (tile & kPlain) != 0; });
  }

  static int tile_class(const fa::CallParams&, int, int, int, int q_lo, int q_hi, int kv_lo, int kv_hi) {
    return kOfQueries ? class_of(q_lo, q_hi) : class_of(kv_lo, kv_hi);
  }
  static bool score_is_plain(const fa::CallParams&, int, int, int q_lo, int q_hi, int kv_lo, int kv_hi) {
    return kOfQueries ? is_plain(q_lo, q_hi) : is_plain(kv_lo, kv_hi);
  }
};

constexpr int kOtherTile = 128;

/// The work of a kernel that keeps K and V: the first kv tile.
struct FirstKvTile : fa::BlockItem {
  static int kv_tile(const fa::ForwardParams&) { return 0; }
};

template <bool kOfQueries, bool kScore>
struct SideOf {
  using Type = fa::KeyTiles<TestClasses<false, kScore>, kOtherTile, kTile, false>;
};
template <bool kScore>
struct SideOf<true, kScore> {
  using Type = fa::QueryTiles<TestClasses<true, kScore>, kTile, kOtherTile, FirstKvTile>;
};

void draw(std::mt19937& random, int length) {
  const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  const int num_tiles = (length + kTile - 1) / kTile;
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

/// The tiles that a lane visits, each as 4 * tile + 1 where nothing of it is dropped + 2 where it is
/// plain.
template <bool kOfQueries, bool kScore>
std::vector<int> walk(const fa::ForwardParams& params) {
  fa::ClassWalk<typename SideOf<kOfQueries, kScore>::Type> walk;
  std::vector<int> visited;
  for (fa::WalkStep step = walk.first(params); step.exists(); step = walk.after(params, step))
    visited.push_back(4 * step.tile() + (step.full() ? 1 : 0) + (step.plain() ? 2 : 0));
  return visited;
}

/// Walks the tiles of a side of `length`. `other_is_cut`: the tile of the other side is not whole.
template <bool kOfQueries, bool kScore>
void check(int length, bool other_is_cut) {
  fa::ForwardParams params{};
  const int other_length = kOtherTile - (other_is_cut ? 1 : 0);
  params.call.q_len = kOfQueries ? length : other_length;
  params.call.kv_len = kOfQueries ? other_length : length;
  std::vector<int> expected;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    if ((tiles[i] & 3) == fa::kTileEmpty) continue;
    // Rows past the end of the queries are not stored; where they are added up, or keys are, they count.
    const bool is_cut = static_cast<int>(i + 1) * kTile > length || (kOfQueries && other_is_cut);
    const bool full = (tiles[i] & 3) == fa::kTileFull && !is_cut;
    const bool plain = kScore && (tiles[i] & kPlain) != 0;
    expected.push_back(4 * static_cast<int>(i) + (full ? 1 : 0) + (plain ? 2 : 0));
  }
  std::array<std::vector<int>, 32> visited;
  run_block(1, [&](unsigned lane) { visited[lane] = walk<kOfQueries, kScore>(params); });
  for (const std::vector<int>& of_lane : visited) CHECK(of_lane == expected);
}

template <bool kOfQueries>
void check_random_tiles(unsigned seed) {
  std::mt19937 random(seed);
  for (int i = 0; i < 200; ++i) {
    const int most = std::array{2048, 20000, 140000, 64 * 32 * 5}[static_cast<std::size_t>(i % 4)];
    int length = 1 + static_cast<int>(random() % static_cast<unsigned>(most));
    if (i % 4 == 3) length = (length / 2048 + 1) * 2048;  // whole groups
    draw(random, length);
    INFO("length " << length);
    if (i % 2 == 0)
      check<kOfQueries, false>(length, i % 5 == 0);
    else
      check<kOfQueries, true>(length, i % 5 == 0);
  }
}

}  // namespace

TEST_CASE("every lane visits the tiles that are not empty, in order, and knows what they are",
          "[templates]") {
  check_random_tiles<false>(20261122);
}

TEST_CASE("the same walk visits the q tiles of a kv tile", "[templates]") {
  check_random_tiles<true>(20261123);
}

TEST_CASE("a walk without classes visits all tiles of either side", "[templates]") {
  struct Plain : fa::NoClasses {};
  using Keys = fa::WalkOf<fa::KeyTiles<Plain, kOtherTile, kTile, false>>::Type;
  using Queries = fa::WalkOf<fa::QueryTiles<Plain, kTile, kOtherTile, FirstKvTile>>::Type;
  const auto count = [](auto walk, const fa::ForwardParams& params) {
    int tiles_visited = 0;
    for (fa::WalkStep step = walk.first(params); step.exists(); step = walk.after(params, step))
      ++tiles_visited;
    return tiles_visited;
  };
  fa::ForwardParams params{};
  params.call.q_len = 300;
  params.call.kv_len = 128;
  CHECK(count(Keys{}, params) == 2);
  CHECK(count(Queries{}, params) == 5);
  params.call.q_len = params.call.kv_len = 0;
  CHECK(count(Keys{}, params) == 0);
  CHECK(count(Queries{}, params) == 0);
}
