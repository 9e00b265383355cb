// The pass that fills a tile map, run on the host, and the walk that reads it: each tile is compared with
// brute force.
#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/templates/cuda_on_host.h"
// after cuda_on_host.h
#include "templates/common/tiles/query_tiles.cuh"
#include "templates/common/tiles/tile_map.cuh"
#include "templates/common/tiles/tile_walk.cuh"
#include "templates/sm80/placement.cuh"
// after sm80/placement.cuh
#include "templates/common/tiles/key_tiles.cuh"

namespace {

constexpr int kBatch = 2, kHeads = 2;

/// Tables by the index of either side, for each batch entry: ids in runs, with -1 between some of them, and
/// times that rise.
struct Tables {
  std::vector<int> query_ids, key_ids;
  std::vector<float> query_times, key_times;
} tables;

int at(const std::vector<int>& table, int b, int idx, int length) {
  return table[static_cast<std::size_t>(b * length + idx)];
}
float at(const std::vector<float>& table, int b, int idx, int length) {
  return table[static_cast<std::size_t>(b * length + idx)];
}

void draw(std::mt19937& random, int q_len, int kv_len) {
  const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  const auto fill = [&](std::vector<int>& ids, std::vector<float>& times, int length) {
    ids.assign(static_cast<std::size_t>(kBatch * length), 0);
    times.assign(static_cast<std::size_t>(kBatch * length), 0);
    for (int b = 0; b < kBatch; ++b) {
      float time = 0;
      for (int i = 0, left = 0, id = -1; i < length; ++i, --left) {
        if (left == 0) left = 1 + pick(120), id = pick(3) == 0 ? pick(6) : -1;
        time += 0.1f * static_cast<float>(pick(10)) + (pick(200) == 0 ? 500.0f : 0.0f);
        const auto to = static_cast<std::size_t>(b * length + i);
        ids[to] = id;
        times[to] = pick(900) == 0 ? std::numeric_limits<float>::quiet_NaN() : time;
      }
    }
  };
  fill(tables.query_ids, tables.query_times, q_len);
  fill(tables.key_ids, tables.key_times, kv_len);
}

/// What the generated structs have in common.
struct TestClasses {
  static constexpr bool kHasTileMap = true;
  static constexpr bool kHasScoreClass = false;
  static constexpr fa::TileMapShape kMap = {true, false, false};
  static constexpr fa::Alike kAlike = {1, 1, false, 0};
  static constexpr int kMostSteps = 1000;
  static constexpr bool kHasBounds = false;
  static constexpr int kNumQuerySummaries = 0, kNumKeySummaries = 0;
  static int query_summary(int, const fa::CallParams&, int, int, int) { return 0; }
  static int key_summary(int, const fa::CallParams&, int, int, int) { return 0; }
  template <class Pairs>
  static int tile_class(const fa::CallParams&, Pairs, int, int, int, int, int, int) {
    return fa::kTilePartial;
  }
  static bool score_is_plain(const fa::CallParams&, int, int, int, int, int, int) { return false; }
};

/// Spans with a sentinel, beside a causal mask: (id == id and id >= 0) or q_idx >= kv_idx. Rows and columns
/// of one id are alike where all of a tile is on one side of the diagonal.
struct Spans : TestClasses {
  static constexpr bool kHasBounds = true;
  static constexpr int kNumQuerySummaries = 1, kNumKeySummaries = 1;
  static int query_summary(int, const fa::CallParams& p, int b, int, int idx) {
    return at(tables.query_ids, b, idx, p.q_len);
  }
  static int key_summary(int, const fa::CallParams& p, int b, int, int idx) {
    return at(tables.key_ids, b, idx, p.kv_len);
  }
  template <class Pairs>
  static int tile_class(const fa::CallParams&, Pairs pairs, int, int, int q_lo, int q_hi, int kv_lo,
                        int kv_hi) {
    const int2 q = pairs(0);
    const int2 kv = pairs(1);
    const bool may_be_same = q.x <= kv.y && kv.x <= q.y && q.y >= 0;
    const bool may_differ = !(q.x == kv.y && q.y == kv.x) || q.x < 0;
    if (!may_be_same && q_hi < kv_lo) return fa::kTileEmpty;
    if (!may_differ || q_lo >= kv_hi) return fa::kTileFull;
    return fa::kTilePartial | (q_hi < kv_lo ? fa::kRowsAlike | fa::kColumnsAlike : 0);
  }
  static bool keeps(const fa::CallParams& p, int b, int, int q, int kv) {
    const int id = at(tables.query_ids, b, q, p.q_len);
    return (id == at(tables.key_ids, b, kv, p.kv_len) && id >= 0) || q >= kv;
  }
};

/// Ids alone: every tile has lines that are alike, and one block is longer than all of them.
struct Ids : Spans {
  static constexpr fa::Alike kAlike = {1 << 24, 1 << 24, false, fa::kRowsAlike | fa::kColumnsAlike};
  template <class Pairs>
  static int tile_class(const fa::CallParams&, Pairs pairs, int, int, int, int, int, int) {
    const int2 q = pairs(0);
    const int2 kv = pairs(1);
    if (q.x > kv.y || kv.x > q.y) return fa::kTileEmpty;
    if (q.x == kv.y && q.y == kv.x) return fa::kTileFull;
    return fa::kTilePartial | kAlike.always;
  }
  static bool keeps(const fa::CallParams& p, int b, int, int q, int kv) {
    return at(tables.query_ids, b, q, p.q_len) == at(tables.key_ids, b, kv, p.kv_len);
  }
};

/// A window of time, by floats and NaNs, and by head.
struct Times : TestClasses {
  static constexpr fa::TileMapShape kMap = {true, true, false};
  static constexpr bool kHasBounds = true;
  static constexpr int kNumQuerySummaries = 1, kNumKeySummaries = 1;
  static int query_summary(int, const fa::CallParams& p, int b, int, int idx) {
    return fa::ordered_int(at(tables.query_times, b, idx, p.q_len));
  }
  static int key_summary(int, const fa::CallParams& p, int b, int, int idx) {
    return fa::ordered_int(at(tables.key_times, b, idx, p.kv_len));
  }
  template <class Pairs>
  static int tile_class(const fa::CallParams&, Pairs pairs, int, int h, int, int, int, int) {
    const float q_lo = fa::ordered_float(pairs(0).x), q_hi = fa::ordered_float(pairs(0).y);
    const float kv_lo = fa::ordered_float(pairs(1).x), kv_hi = fa::ordered_float(pairs(1).y);
    if (!(q_lo - kv_hi <= q_hi - kv_lo)) return fa::kTilePartial;  // a NaN
    const float reach = 20.0f * static_cast<float>(h + 1);
    if (q_hi - kv_lo < 0 || q_lo - kv_hi > reach) return fa::kTileEmpty;
    return q_lo - kv_hi >= 0 && q_hi - kv_lo <= reach ? fa::kTileFull : fa::kTilePartial;
  }
  static bool keeps(const fa::CallParams& p, int b, int h, int q, int kv) {
    const float age = at(tables.query_times, b, q, p.q_len) - at(tables.key_times, b, kv, p.kv_len);
    return age >= 0 && age <= 20.0f * static_cast<float>(h + 1);
  }
};

/// Powers of two, without bounds: the elements of a tile's diagonals show it.
struct Powers : TestClasses {
  static constexpr fa::TileMapShape kMap = {false, false, false, 1};
  static constexpr fa::Alike kAlike = {1, 1, true, 0};
  static bool keeps(const fa::CallParams&, int, int, int q, int kv) {
    return q > kv && ((q - kv) & (q - kv - 1)) == 0;
  }
};

/// Blocks of 64 and of 32: a lane asks the few that a tile touches. The score is plain in odd blocks of keys.
struct Blocks : TestClasses {
  static constexpr bool kHasScoreClass = true;
  static constexpr fa::TileMapShape kMap = {true, false, true, 1};
  static constexpr fa::Alike kAlike = {64, 32, false, fa::kBothAlike, fa::kBothAlike};
  static bool keeps(const fa::CallParams&, int b, int, int q, int kv) {
    return (q / 64 * 7 + b * 3 + q / 64 * (kv / 32)) % 11 < 3;
  }
  static bool score_is_plain(const fa::CallParams&, int, int, int, int, int kv_lo, int) {
    return kv_lo / 64 % 2 == 1;
  }
};

/// Blocks of 64 queries are routed to two blocks of keys each, beside a causal mask: tiles off the diagonal
/// are shown by their blocks, the others are searched with bounds on their parts.
struct Routed : TestClasses {
  static constexpr fa::TileMapShape kMap = {true, false, false, 1};
  static constexpr int kBoth = fa::kBothAlike;
  static constexpr fa::Alike kAlike = {64, 64, false, 0, kBoth};
  static constexpr bool kHasBounds = true;
  static constexpr int kNumQuerySummaries = 2;
  static int query_summary(int which, const fa::CallParams&, int b, int, int idx) {
    return (idx / 64 * (which == 0 ? 5 : 11) + b) % (idx / 64 + 1);
  }
  template <class Pairs>
  static int tile_class(const fa::CallParams&, Pairs pairs, int, int, int q_lo, int q_hi, int kv_lo,
                        int kv_hi) {
    if (q_hi < kv_lo) return fa::kTileEmpty;
    bool may_meet = false, meet = false;
    for (int which = 0; which < 2; ++which) {
      const int2 block = pairs(which);
      may_meet |= block.x <= kv_hi / 64 && block.y >= kv_lo / 64;
      meet |= block.x == kv_hi / 64 && block.y == kv_lo / 64;
    }
    if (!may_meet) return fa::kTileEmpty;
    return q_lo < kv_hi ? fa::kTilePartial : meet ? fa::kTileFull : fa::kTilePartial | kBoth;
  }
  static bool keeps(const fa::CallParams& p, int b, int h, int q, int kv) {
    return q >= kv && (query_summary(0, p, b, h, q) == kv / 64 || query_summary(1, p, b, h, q) == kv / 64);
  }
};

/// The same in rounds of four q tiles.
struct RoutedInFours : Routed {
  static constexpr fa::TileMapShape kMap = {true, false, false};
};

/// Each query names the first and the last key that it keeps: rounds of one q tile, as no key has a summary.
struct Ranges : TestClasses {
  static constexpr fa::TileMapShape kMap = {true, false, false, 1};
  static constexpr bool kHasBounds = true;
  static constexpr int kNumQuerySummaries = 2;
  static int query_summary(int which, const fa::CallParams& p, int b, int, int idx) {
    const int first = 90 * at(tables.query_ids, b, idx, p.q_len);
    return which == 0 ? first : first + 100 + idx % 3;
  }
  template <class Pairs>
  static int tile_class(const fa::CallParams&, Pairs pairs, int, int, int, int, int kv_lo, int kv_hi) {
    const int2 first = pairs(0), last = pairs(1);
    if (kv_hi < first.x || kv_lo > last.y) return fa::kTileEmpty;
    return kv_lo >= first.y && kv_hi <= last.x ? fa::kTileFull : fa::kTilePartial;
  }
  static bool keeps(const fa::CallParams& p, int b, int h, int q, int kv) {
    return query_summary(0, p, b, h, q) <= kv && kv <= query_summary(1, p, b, h, q);
  }
};

/// As no element is worth a look, what bounds leave open stays so.
struct Poor : Spans {
  static constexpr int kMostSteps = 0;
};

/// The work of a CTA that keeps K and V: the kv tile that blockIdx.x says.
struct KvTileOfBlock : fa::BlockItem {
  static int kv_tile(const fa::ForwardParams&) { return static_cast<int>(blockIdx.x); }
};

/// What a walk visits, as 4 * tile + 1 for a full one + 2 for a plain one.
template <class Walk>
std::vector<int> visit(const fa::ForwardParams& params) {
  Walk walk;
  std::vector<int> visited;
  for (fa::WalkStep step = walk.first(params); step.exists(); step = walk.after(params, step))
    visited.push_back(4 * step.tile() + (step.full() ? 1 : 0) + (step.plain() ? 2 : 0));
  return visited;
}

/// Whether both ends of a warp visit what is expected.
template <class Walk>
bool visits(const fa::ForwardParams& params, const std::vector<int>& expected) {
  std::array<std::vector<int>, 32> visited;
  run_block(1, [&](unsigned lane) { visited[lane] = visit<Walk>(params); });
  return visited[0] == expected && visited[31] == expected;
}

constexpr int kAnyBlocks = 1 << 20;

struct Wrong {
  int contradicted = 0, missed = 0, walked = 0;
};

/// `most_blocks` of the pass, so that blocks take turns at rounds as in long calls.
template <class Classes, int kTileQ, int kTileKv>
Wrong check(int q_len, int kv_len, int most_blocks) {
  fa::ForwardParams params{};
  params.call.batch = kBatch;
  params.call.num_q_heads = kHeads;
  params.call.q_len = q_len;
  params.call.kv_len = kv_len;
  constexpr fa::TileMapShape kShape = Classes::kMap;
  std::vector<int> map(static_cast<std::size_t>(fa::map_size(kShape, params.call, kTileQ, kTileKv)),
                       0x55555555);
  params.tile_map = map.data();
  gridDim.x =
      static_cast<unsigned>(std::min(fa::map_blocks(kShape, params.call, kTileQ, kTileKv), most_blocks));
  for (unsigned b = 0; b < (kShape.of_batch ? kBatch : 1); ++b)
    for (unsigned h = 0; h < (kShape.of_head ? kHeads : 1); ++h)
      for (unsigned x = 0; x < gridDim.x; ++x) {
        blockIdx = {x, h, b};
        run_block(4, [&](unsigned) { fa::TileMapPass<Classes, kTileQ, kTileKv>(params).run(); });
      }
  Wrong wrong;
  for (int b = 0; b < kBatch; ++b)
    for (int h = 0; h < kHeads; ++h) {
      std::array<std::vector<int>, 2> of_keys;  // what walks over q tiles are to visit
      for (int q_tile = 0; q_tile < fa::count_tiles(q_len, kTileQ); ++q_tile) {
        std::vector<int> expected;  // as the walk has them
        for (int kv_tile = 0; kv_tile < fa::count_tiles(kv_len, kTileKv); ++kv_tile) {
          int kept = 0, elements = 0;
          const int kv_end = std::min((kv_tile + 1) * kTileKv, kv_len);
          for (int q = q_tile * kTileQ; q < std::min((q_tile + 1) * kTileQ, q_len); ++q)
            for (int kv = kv_tile * kTileKv; kv < kv_end; ++kv, ++elements)
              kept += Classes::keeps(params.call, b, h, q, kv);
          const fa::MapWord word = fa::read_map<Classes>(params, kTileQ, kTileKv, b, h, q_tile, kv_tile / 32);
          const bool some = (word.some >> kv_tile % 32 & 1) != 0;
          const bool full = (word.full >> kv_tile % 32 & 1) != 0;
          const bool is_cut = (kv_tile + 1) * kTileKv > kv_len;
          wrong.contradicted += (kept > 0 && !some) || (full && (kept < elements || is_cut || !some));
          wrong.missed += (some && kept == 0) || (kept == elements && !full && !is_cut);
          bool plain = false;
          if constexpr (kShape.has_plain) {
            plain = (word.plain >> kv_tile % 32 & 1) != 0;
            wrong.contradicted +=
                plain != (some && Classes::score_is_plain(params.call, b, h, 0, 0, kv_tile * kTileKv, 0));
          }
          if (some) expected.push_back(4 * kv_tile + (full ? 1 : 0) + (plain ? 2 : 0));
        }
        blockIdx = {static_cast<unsigned>(fa::count_tiles(q_len, kTileQ) - 1 - q_tile),
                    static_cast<unsigned>(h), static_cast<unsigned>(b)};
        using Keys = fa::KeyTiles<Classes, kTileQ, kTileKv, false>;
        if (q_tile < 2) wrong.walked += !visits<fa::ClassWalk<Keys>>(params, expected);
        for (int kv_tile = 0; kv_tile < 2; ++kv_tile)
          for (const int code : expected)
            if (code / 4 == kv_tile) {
              const bool is_cut = (q_tile + 1) * kTileQ > q_len;
              const int full = is_cut ? 0 : code & 1;
              of_keys[static_cast<std::size_t>(kv_tile)].push_back(4 * q_tile + full + (code & 2));
            }
      }
      for (unsigned kv_tile = 0; kv_tile < 2; ++kv_tile) {
        if (static_cast<int>(kv_tile) * kTileKv >= kv_len) break;
        blockIdx = {kv_tile, static_cast<unsigned>(h), static_cast<unsigned>(b)};
        using Queries = fa::QueryTiles<Classes, kTileQ, kTileKv, KvTileOfBlock>;
        wrong.walked += !visits<fa::ClassWalk<Queries>>(params, of_keys[kv_tile]);
      }
    }
  return wrong;
}

template <class Classes, int kTileQ, int kTileKv>
void check_exact(int q_len, int kv_len) {
  INFO("q_len " << q_len << " kv_len " << kv_len << ", tiles of " << kTileQ << " x " << kTileKv);
  for (const int most_blocks : {kAnyBlocks, 3, 1}) {
    INFO("at most " << most_blocks << " blocks a map");
    const Wrong wrong = check<Classes, kTileQ, kTileKv>(q_len, kv_len, most_blocks);
    CHECK(wrong.contradicted == 0);
    CHECK(wrong.missed == 0);
    CHECK(wrong.walked == 0);
  }
}

}  // namespace

TEST_CASE("the pass finds each tile's class, to the last element, and the walk goes by it", "[templates]") {
  std::mt19937 random(16);
  const auto check_all = [&](int q_len, int kv_len) {
    draw(random, q_len, kv_len);
    check_exact<Spans, 128, 64>(q_len, kv_len);
    check_exact<Ids, 128, 64>(q_len, kv_len);
    check_exact<Times, 64, 32>(q_len, kv_len);
    check_exact<Powers, 128, 64>(q_len, kv_len);
    check_exact<Blocks, 128, 64>(q_len, kv_len);
    check_exact<Routed, 128, 64>(q_len, kv_len);
    check_exact<RoutedInFours, 64, 64>(q_len, kv_len);
    check_exact<Ranges, 128, 64>(q_len, kv_len);
  };
  check_all(530, 530);
  check_all(1, 2200);
  draw(random, 200, 400);
  check_exact<Spans, 96, 48>(200, 400);
  check_exact<Times, 16, 256>(200, 400);
  check_exact<Routed, 96, 48>(200, 400);
  check_exact<Ranges, 96, 48>(200, 400);
  check_exact<Ranges, 16, 32>(200, 400);  // fewer lines a round than a warp has lanes
}

TEST_CASE("a tile that is not worth the looks counts as partial", "[templates]") {
  std::mt19937 random(17);
  draw(random, 300, 500);
  const Wrong wrong = check<Poor, 128, 64>(300, 500, kAnyBlocks);
  CHECK(wrong.contradicted == 0);
  CHECK(wrong.missed > 0);
  CHECK(wrong.walked == 0);
}
