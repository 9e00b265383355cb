// The walk as kernels drive it whose plan has search_first=0 (kBeginsInLoop in templates/common/forward.cuh), run on the
// host: the first search stands inside the loop, each turn searches past the step it is at before it visits
// that step's run, and a run goes on by one addition. tile_walk.cpp drives the walk step by step, as the
// other kernels do.
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/catch.h"
#include "tests/templates/cuda_on_host.h"
// after cuda_on_host.h
#include "templates/common/tiles/tile_walk.cuh"
#include "templates/sm80/placement.cuh"
// after sm80/placement.cuh
#include "templates/common/tiles/key_tiles.cuh"

namespace {

constexpr int kTileKv = 64;

std::vector<int> classes;  // of each kv tile

struct DrawnClasses {
  static constexpr bool kHasTileMap = false;
  static constexpr bool kHasScoreClass = false;
  /// Of one tile its class. Of a group what a mask's bounds may say: its tiles' class where that is one, else
  /// partial.
  static int tile_class(const fa::CallParams&, int, int, int, int, int, int kv_lo, int kv_hi) {
    const auto first = static_cast<std::size_t>(kv_lo / kTileKv),
               last = static_cast<std::size_t>(kv_hi / kTileKv);
    for (std::size_t tile = first; tile <= last; ++tile)
      if (classes[tile] != classes[first]) return fa::kTilePartial;
    return classes[first];
  }
  static bool score_is_plain(const fa::CallParams&, int, int, int, int, int, int) { return false; }
};

using Walk = fa::ClassWalk<fa::KeyTiles<DrawnClasses, 128, kTileKv, false>>;

void draw(std::mt19937& random, int kv_len) {
  const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  const int longest = std::array{1, 3, 40, 100, 1500}[static_cast<std::size_t>(pick(5))];
  classes.clear();
  while (static_cast<int>(classes.size()) * kTileKv < kv_len) {
    const int length = 1 + pick(longest);
    classes.insert(classes.end(), static_cast<std::size_t>(length), pick(3));
  }
  classes.resize(static_cast<std::size_t>((kv_len + kTileKv - 1) / kTileKv));
}

/// A tile, and whether nothing of it is dropped.
constexpr int visit_of(int tile, bool full) { return 2 * tile + (full ? 1 : 0); }

/// The loop of templates/common/forward.cuh, with a list in the place of its work. `copied` are the tiles
/// whose K it copies ahead: they must be those that it visits.
struct Visits {
  std::vector<int> visited, copied;
};

Visits walk_in_loop(const fa::ForwardParams& params) {
  Visits result;
  Walk walk;
  fa::WalkStep now = fa::WalkStep::before_first();
  while (now.exists()) {
    fa::WalkStep then = walk.search(params, now.tile() + 1);
    if (!now.is_visited()) {
      now = then;
      result.copied.push_back(now.tile());
      if (!now.has_more()) continue;
      then = now.more();
    }
    do {
      result.visited.push_back(visit_of(now.tile(), now.full()));
      result.copied.push_back(then.tile());
      now = then;
      then = now.more();
    } while (now.has_more());
  }
  return result;
}

void check(const fa::ForwardParams& params) {
  std::vector<int> expected, copied;
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i] == fa::kTileEmpty) continue;
    const bool is_cut = static_cast<int>(i + 1) * kTileKv > params.call.kv_len;
    expected.push_back(visit_of(static_cast<int>(i), classes[i] == fa::kTileFull && !is_cut));
    copied.push_back(static_cast<int>(i));
  }
  copied.push_back(fa::WalkStep{fa::WalkStep::kEnd}.tile());  // past every kv_len: a copy of zeros
  std::array<Visits, 32> of_lane;
  run_block(1, [&](unsigned lane) { of_lane[lane] = walk_in_loop(params); });
  for (const Visits& visits : of_lane) {
    CHECK(visits.visited == expected);
    CHECK(visits.copied == copied);
  }
}

}  // namespace

TEST_CASE("a walk that begins inside its loop visits every tile that is not empty once, in order") {
  std::mt19937 random(20261123);
  for (int i = 0; i < 200; ++i) {
    const int most = std::array{200, 2048, 20000, 140000, 64 * 32 * 5}[static_cast<std::size_t>(i % 5)];
    fa::ForwardParams params{};
    params.call.q_len = 128;
    params.call.kv_len = 1 + static_cast<int>(random() % static_cast<unsigned>(most));
    if (i % 5 == 4) params.call.kv_len = (params.call.kv_len / 2048 + 1) * 2048;  // whole groups
    draw(random, params.call.kv_len);
    INFO("kv_len " << params.call.kv_len);
    check(params);
  }
}
