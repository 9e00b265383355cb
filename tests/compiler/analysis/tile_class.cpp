// Tile classes against brute force: a class may say "partial" too often, never "empty" or "full" wrongly.
#include "compiler/analysis/tiles/tile_class.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>

#include "compiler/spec/spec.h"
#include "tests/catch.h"
#include "tests/compiler/analysis/random_masks.h"
#include "tests/effort.h"
#include "tests/golden.h"
#include "tools/tiles/mask_probe.h"

namespace {

using fa::ProblemSize;
using fa::test::BlockedMask;
using fa::test::FloatMask;
using fa::test::PlausibleMask;
using fa::test::RandomMask;
using fa::tests::made_up;
using fa::tools::HostTensor;
using fa::tools::MaskProbe;
using fa::tools::Problem;
using fa::tools::TileBounds;
using fa::tools::TileClass;

constexpr double kOdd[] = {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(),
                           -0.0,
                           1e-42,
                           3e38};

ProblemSize lengths(int q_len, int kv_len) {
  return {.batch = 2, .num_q_heads = 4, .num_kv_heads = 2, .q_len = q_len, .kv_len = kv_len};
}

std::string head(const std::string& declarations) {
  return "attention probe\nhead_dim 16\ndtype f32\n" + declarations;
}

/// Captured tensors are larger than any extent in these tests. They hold small numbers of either sign, and
/// floats are sometimes NaN; one named "sorted..." never falls.
Problem make(const std::string& text, ProblemSize size, std::mt19937& random) {
  Problem problem{
      .spec = fa::Spec::parse(text), .size = size, .q = {}, .k = {}, .v = {}, .tensors = {}, .params = {}};
  for (const fa::ParamInfo& param : problem.spec.params()) problem.params.push_back(param.default_value);
  for (const fa::TensorInfo& info : problem.spec.tensors()) {
    HostTensor tensor(info.name, info.dtype, {1 << 16});
    const bool sorted = info.name.starts_with("sorted");
    int value = 0;
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      if (sorted)
        tensor.set(i, value += random() % 20 == 0);
      else if (info.dtype == fa::DType::boolean)
        tensor.set(i, static_cast<double>(random() % 2));
      else if (info.dtype == fa::DType::f32 && random() % 40 == 0)
        tensor.set(i, kOdd[random() % std::size(kOdd)]);
      else
        tensor.set(i, static_cast<int>(random() % 9) - 1);
    }
    problem.tensors.push_back(std::move(tensor));
  }
  return problem;
}

struct Tally {
  int tiles = 0;
  int exact = 0, exact_by_bounds = 0;
  double share() const { return tiles == 0 ? 1.0 : static_cast<double>(exact) / tiles; }
  double share_by_bounds() const { return tiles == 0 ? 1.0 : static_cast<double>(exact_by_bounds) / tiles; }
};

/// Fails where brute force contradicts the class, or bounds alone.
void tally_tile(Tally& tally, const MaskProbe& probe, int b, int h, const TileBounds& tile,
                const std::string& what) {
  const auto truth = probe.brute_force(b, h, tile);
  const auto check = [&](TileClass found, const char* by, int& exact) {
    exact += found == truth;
    if (found != truth && found != TileClass::partial)
      FAIL(fmt::format("{}\nclass {} by {} but brute force {} on b={} h={} q={}..{} kv={}..{}", what,
                       static_cast<int>(found), by, static_cast<int>(truth), b, h, tile.q_lo, tile.q_hi,
                       tile.kv_lo, tile.kv_hi));
  };
  ++tally.tiles;
  check(probe.tile_class(b, h, tile), "elements", tally.exact);
  check(probe.bounds_class(b, h, tile), "bounds", tally.exact_by_bounds);
}

/// Checks `count` random tiles: of any size up to `most_rows` x 24, or aligned and of that size.
Tally compare(const MaskProbe& probe, const ProblemSize& p, int count, std::mt19937& random,
              const std::string& what, int aligned = 0, int most_rows = 24) {
  Tally tally;
  const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  for (int i = 0; i < count; ++i) {
    const int b = pick(p.batch);
    const int h = pick(p.num_q_heads);
    int q_lo = pick(p.q_len);
    int kv_lo = pick(p.kv_len);
    int rows = 1 + pick(most_rows);
    int columns = 1 + pick(24);
    if (aligned > 0) {
      rows = aligned;
      columns = aligned / 2;
      q_lo -= q_lo % rows;
      kv_lo -= kv_lo % columns;
    }
    const TileBounds tile = {q_lo, std::min(q_lo + rows, p.q_len) - 1, kv_lo,
                             std::min(kv_lo + columns, p.kv_len) - 1};
    tally_tile(tally, probe, b, h, tile, what);
  }
  return tally;
}

/// Up to `masks` masks, `tiles_each` tiles of each.
template <class Generate>
Tally check_soundness(int masks, int tiles_each, unsigned seed, Generate generate, int most_rows = 24) {
  std::mt19937 random(seed);
  Tally all;
  for (int i = 0; i < made_up(masks); ++i) {
    const std::string mask = generate(random);
    const std::string text = head(
        "param n : i32 = 5\nparam big : i32 = 2147483647\ntensor table : i32[q_len + kv_len]\n"
        "tensor flags : bool[q_len * kv_len]\ntensor reals : f32[q_len + kv_len]\nmask_mod = " +
        mask + "\n");
    const auto length = [&] {
      return 1 + static_cast<int>(random() % static_cast<unsigned>(5 * most_rows / 2));
    };
    const int q_len = length();
    const ProblemSize size = lengths(q_len, length());
    Problem problem = make(text, size, random);
    const int n_values[] = {5, 0, -1, -7, 1, 12};
    problem.params[0] = n_values[random() % 6];
    const MaskProbe probe(problem.spec.checked(), problem);
    if (!probe.has_class()) continue;
    const std::string what = fmt::format("{}, n = {}, q_len {}, kv_len {}", mask,
                                         std::get<std::int32_t>(problem.params[0]), size.q_len, size.kv_len);
    const Tally tally = compare(probe, size, tiles_each, random, what, 0, most_rows);
    all.tiles += tally.tiles;
    all.exact += tally.exact;
    all.exact_by_bounds += tally.exact_by_bounds;
  }
  WARN(fmt::format("{} tiles of {} masks: {:.1f}% exact, {:.1f}% by bounds", all.tiles, made_up(masks),
                   100 * all.share(), 100 * all.share_by_bounds()));
  return all;
}

}  // namespace

TEST_CASE("random masks: brute force never contradicts a tile class", "[analysis]") {
  const Tally all =
      check_soundness(500, 200, 20261120, [](std::mt19937& random) { return RandomMask(random).boolean(3); });
  CHECK(all.tiles >= made_up(75000));
}

TEST_CASE("plausible masks: brute force never contradicts a tile class", "[analysis]") {
  const Tally all =
      check_soundness(500, 200, 11, [](std::mt19937& random) { return PlausibleMask(random).boolean(2); });
  CHECK(all.tiles >= made_up(95000));
  CHECK(all.share() > 0.98);
  CHECK(all.share_by_bounds() > 0.93);
}

TEST_CASE("masks of blocks of rows: brute force never contradicts a tile class", "[analysis]") {
  const Tally all =
      check_soundness(200, 50, 64, [](std::mt19937& random) { return BlockedMask(random).boolean(2); }, 300);
  CHECK(all.tiles >= made_up(9000));
  CHECK(all.share() > 0.5);
}

TEST_CASE("masks through floats: brute force never contradicts a tile class", "[analysis]") {
  const Tally all =
      check_soundness(250, 160, 32, [](std::mt19937& random) { return FloatMask(random).boolean(3); });
  CHECK(all.tiles >= made_up(35000));
  CHECK(all.share() > 0.7);
}

namespace {

/// Of each kind of mask, 60 tiles of each. Masks that are constant have no class.
void check_many(int masks) {
  const auto most = [&](double share) { return made_up(static_cast<int>(share * 60 * masks)); };
  CHECK(check_soundness(masks, 60, 77, [](std::mt19937& random) {
          return RandomMask(random).boolean(3);
        }).tiles >= most(0.75));
  CHECK(check_soundness(masks, 60, 1234, [](std::mt19937& random) {
          return PlausibleMask(random).boolean(3);
        }).tiles >= most(0.95));
  CHECK(check_soundness(masks, 60, 4321, [](std::mt19937& random) {
          return FloatMask(random).boolean(4);
        }).tiles >= most(0.875));
}

}  // namespace

TEST_CASE("many masks: brute force never contradicts a tile class", "[analysis][slow]") { check_many(400); }

TEST_CASE("270,000 tiles of 4,500 masks: brute force never contradicts a tile class", "[.][full][analysis]") {
  check_many(1500);
}

TEST_CASE("the specs: brute force never contradicts a tile class, and the shares that are exact",
          "[analysis]") {
  const std::set<std::string> inexact = {};  // may not grow
  std::string report;
  int seen = 0;
  for (const std::string& name : fa::test::all_specs()) {
    const fa::Spec spec = fa::Spec::load(fa::test::spec_path(name));
    if (!spec.checked().has_mask_mod()) continue;
    ++seen;
    Tally of_spec;
    for (const auto& [q_len, kv_len] : {std::pair{900, 900}, {300, 1100}, {257, 200}}) {
      const Problem problem = fa::tools::make_mask_problem(
          spec, {.size = lengths(q_len, kv_len), .params = {}, .files = {}, .dropout = {}});
      const MaskProbe probe(spec.checked(), problem);
      INFO(spec.name());
      REQUIRE(probe.has_class());
      for (const auto& [tile_q, tile_kv] : {std::pair{128, 64}, {64, 128}, {96, 64}, {16, 16}}) {
        const auto grid = probe.classify(0, 1, tile_q, tile_kv);
        const int step = 1 + grid.rows * grid.columns / 150;
        for (int at = 0; at < grid.rows * grid.columns; at += step) {
          const int row = at / grid.columns;
          const int column = at % grid.columns;
          CHECK(grid.at(row, column) == probe.tile_class(0, 1, grid.bounds(row, column)));
          tally_tile(of_spec, probe, 0, 1, grid.bounds(row, column), spec.name());
        }
      }
    }
    report += fmt::format("  {:<22} {:>6.1f}% of {}\n", spec.name(), 100 * of_spec.share(), of_spec.tiles);
    INFO(spec.name());
    CHECK((of_spec.exact == of_spec.tiles) != inexact.contains(spec.name()));
  }
  WARN("tiles classed exactly:\n" + report);
  CHECK(seen >= 14);
}

TEST_CASE("masks people write: the tile class is exact", "[analysis]") {
  struct Case {
    const char* name;
    const char* text;
    double share = 1;  // at least
  };
  const Case cases[] = {
      {"causal", "mask_mod = q_idx >= kv_idx"},
      {"causal, bottom-right", "mask_mod = q_idx + (kv_len - q_len) >= kv_idx"},
      {"window", "param window : i32 = 13\nmask_mod = q_idx >= kv_idx and q_idx - kv_idx < window"},
      {"window of nothing", "param window : i32 = 0\nmask_mod = q_idx >= kv_idx and q_idx - kv_idx < window"},
      {"two-sided window", "mask_mod = abs(q_idx - kv_idx) <= 11"},
      {"sinks and a window", "mask_mod = q_idx >= kv_idx and (kv_idx < 4 or q_idx - kv_idx < 20)"},
      {"a float on one side", "mask_mod = q_idx * 0.5 < 30.0"},
      {"a distance as a float", "mask_mod = log2(max(q_idx - kv_idx, 1) + 0.0) < 4.3"},
      {"a wave on one side", "mask_mod = sin(q_idx * 0.3) < 0.5"},
      // A root has a margin: 49 is 7 squared.
      {"levels of distance", "mask_mod = i32(sqrt(abs(q_idx - kv_idx) * 2.0)) <= 7", 0.98},
      {"prefix", "param prefix : i32 = 17\nmask_mod = kv_idx < prefix or q_idx >= kv_idx"},
      {"dilated window", "mask_mod = q_idx >= kv_idx and q_idx - kv_idx < 64 and (q_idx - kv_idx) % 4 == 0"},
      {"dilated window, params",
       "param window : i32 = 12\nparam dilation : i32 = 5\nlet d = q_idx + (kv_len - q_len) - kv_idx\n"
       "mask_mod = d >= 0 and d < window * dilation and d % dilation == 0"},
      {"dilated, another phase", "mask_mod = q_idx >= kv_idx and (q_idx - kv_idx) % 7 == 3"},
      {"strided", "mask_mod = q_idx >= kv_idx and q_idx % 12 == kv_idx % 12"},
      {"block layout",
       "tensor layout : bool[num_q_heads, ceil_div(q_len, 32), ceil_div(kv_len, 32)]\n"
       "mask_mod = layout[h, q_idx / 32, kv_idx / 32]"},
      {"blocks drawn at random",
       "let block = q_idx / 64\nlet drawn = ((block * 7 + h) ^ (block * 3)) & 7\n"
       "mask_mod = drawn == kv_idx / 32 or kv_idx < 32"},
      {"butterfly", "let x = (q_idx / 32) ^ (kv_idx / 32)\nmask_mod = (x & (x - 1)) == 0"},
      {"batched", "mask_mod = q_idx / 24 == kv_idx / 24 and q_idx % 24 >= kv_idx % 24"},
      {"batched by a param",
       "param n : i32 = 21\nmask_mod = q_idx / n == kv_idx / n and q_idx % n >= kv_idx % n"},
      {"batched, a power of two", "mask_mod = q_idx / 32 == kv_idx / 32 and q_idx % 32 >= kv_idx % 32"},
      {"block diffusion", "mask_mod = q_idx / 16 == kv_idx / 16 or q_idx / 16 > kv_idx / 16"},
      {"block diffusion, noisy and clean",
       "param n : i32 = 100\nlet clean_q = q_idx >= n\nlet clean_kv = kv_idx >= n\n"
       "let block_q = where(clean_q, (q_idx - n) / 16, q_idx / 16)\n"
       "let block_kv = where(clean_kv, (kv_idx - n) / 16, kv_idx / 16)\n"
       "mask_mod = (block_q == block_kv and clean_q == clean_kv)\n"
       "  or (block_q > block_kv and clean_kv and not clean_q)\n"
       "  or (block_q >= block_kv and clean_kv and clean_q)"},
      {"documents in order",
       "tensor sorted_doc : i32[max(q_len, kv_len)]\nmask_mod = sorted_doc[q_idx] == sorted_doc[kv_idx]"},
      {"causal documents in order",
       "tensor sorted_doc : i32[max(q_len, kv_len)]\n"
       "mask_mod = sorted_doc[q_idx] == sorted_doc[kv_idx] and q_idx >= kv_idx"},
      {"shared prefix",
       "tensor prefix_len : i32[batch]\nmask_mod = kv_idx < prefix_len[b] * 10 or q_idx >= kv_idx"},
      {"packed documents",
       "tensor sorted_doc : i32[q_len]\ntensor sorted_start : i32[kv_len + 9]\n"
       "mask_mod = kv_idx >= sorted_start[sorted_doc[q_idx]] and kv_idx <= q_idx"},
  };
  std::mt19937 random(7);
  for (const Case& c : cases) {
    for (const auto& [q_len, kv_len] : {std::pair{200, 200}, {131, 77}, {50, 190}}) {
      const ProblemSize size = lengths(q_len, kv_len);
      const Problem problem = make(head(std::string(c.text) + "\n"), size, random);
      const MaskProbe probe(problem.spec.checked(), problem);
      REQUIRE(probe.has_class());
      for (const int aligned : {0, 16, 32}) {
        const Tally tally = compare(probe, size, 1000, random, c.name, aligned);
        INFO(fmt::format("{}, q_len {} kv_len {}, aligned to {}: {} of {} exact", c.name, q_len, kv_len,
                         aligned, tally.exact, tally.tiles));
        CHECK(tally.share() >= c.share);
      }
    }
  }
}

TEST_CASE("neighbourhoods in row, tile and Morton order: the shares that are exact", "[analysis]") {
  // A 32 x 32 image, and a square of 7 x 7 around each pixel; the pixels are in another order each time.
  struct Case {
    const char* order;
    const char* lets;
    double least;  // share of exact tiles
  };
  const Case cases[] = {
      {"row", "let qx = q_idx % 32\nlet qy = q_idx / 32\nlet kx = kv_idx % 32\nlet ky = kv_idx / 32\n", 1.0},
      {"tile (8 x 8)",
       "let qx = q_idx / 64 % 4 * 8 + q_idx % 8\nlet qy = q_idx / 256 * 8 + q_idx / 8 % 8\n"
       "let kx = kv_idx / 64 % 4 * 8 + kv_idx % 8\nlet ky = kv_idx / 256 * 8 + kv_idx / 8 % 8\n",
       1.0},
      {"Morton",
       "let qx = sum(i < 5: (q_idx >> (2 * i) & 1) << i)\nlet qy = sum(i < 5: (q_idx >> (2 * i + 1) & 1) << "
       "i)\n"
       "let kx = sum(i < 5: (kv_idx >> (2 * i) & 1) << i)\n"
       "let ky = sum(i < 5: (kv_idx >> (2 * i + 1) & 1) << i)\n",
       1.0},
  };
  std::mt19937 random(9);
  for (const Case& c : cases) {
    const ProblemSize size = lengths(1024, 1024);
    const Problem problem = make(
        head(std::string(c.lets) + "mask_mod = abs(qx - kx) <= 3 and abs(qy - ky) <= 3\n"), size, random);
    const MaskProbe probe(problem.spec.checked(), problem);
    REQUIRE(probe.has_class());
    const Tally tally = compare(probe, size, 500, random, c.order, 64);
    WARN(fmt::format("{} order: {:.1f}% of {} tiles exact", c.order, 100 * tally.share(), tally.tiles));
    CHECK(tally.share() >= c.least);
  }
}

TEST_CASE("masks from LLVM IR: brute force never contradicts, and what should be exact is",
          "[analysis][import]") {
  struct Case {
    const char* file;
    const char* declarations;
    int aligned = 0;
    bool exact = false;
  };
  const Case cases[] = {
      {"specs/bigbird.ll", "param window : i32 = 3\n", 64, true},
      {"specs/kerple.ll", "", 0, true},
      {"tests/import/good/document.ll", "param window : i32 = 50\ntensor doc : i32[batch, kv_len]\n"},
      {"tests/import/good/modern.ll", "param window : i32 = 21\n"},
      {"tests/import/good/pointers.ll",
       "param window : i32 = 9\ntensor doc : i32[batch, kv_len]\ntensor other : i32[batch * kv_len]\n"},
      {"tests/import/good/loops.ll",
       "param window : i32 = 3\ntensor topk : i32[num_q_heads, ceil_div(q_len, 8), 4]\n"},
      {"tests/import/good/tables.ll", ""},
      {"tests/import/good/bits.ll", ""}};
  std::mt19937 random(11);
  for (const Case& c : cases)
    for (const auto& [q_len, kv_len] : {std::pair{200, 200}, {131, 77}, {50, 190}}) {
      const ProblemSize size = lengths(q_len, kv_len);
      const std::string path = std::string(FA_SOURCE_DIR) + "/" + c.file;
      const Problem problem =
          make(head(fmt::format("{}mask_mod from \"{}\"\n", c.declarations, path)), size, random);
      const MaskProbe probe(problem.spec.checked(), problem);
      INFO(fmt::format("{}, q_len {} kv_len {}", c.file, q_len, kv_len));
      if (c.exact) REQUIRE(probe.has_class());
      if (!probe.has_class()) continue;
      const Tally tally = compare(probe, size, 300, random, c.file, c.aligned);
      if (c.exact) CHECK(tally.exact == tally.tiles);
    }
}
