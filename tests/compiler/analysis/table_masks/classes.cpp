// Tile classes of masks over tables drawn at random: no class that brute force contradicts, and few partial
// tiles that are really empty or full. Prints the share of each kind, and what finding it took.
#include "tests/compiler/analysis/table_masks/masks.h"

#include <fmt/format.h>

#include "tests/catch.h"
#include "tools/tiles/mask_probe.h"

namespace {

using fa::ProblemSize;
using fa::test::TableMask;
using fa::test::TableMaskKind;
using fa::tools::MaskProbe;
using fa::tools::Problem;
using fa::tools::TileBounds;
using fa::tools::TileClass;

struct Tally {
  std::int64_t tiles = 0, open = 0, partial = 0, missed = 0, contradicted = 0;
  MaskProbe::Looks looks;

  double share_missed() const {
    return partial == 0 ? 0 : static_cast<double>(missed) / static_cast<double>(partial);
  }
  void add(const Tally& other) {
    tiles += other.tiles, open += other.open, partial += other.partial, missed += other.missed;
    contradicted += other.contradicted;
    looks.parts += other.looks.parts, looks.elements += other.looks.elements;
  }
  std::string text() const {
    const auto each = [&](std::int64_t count) {
      return static_cast<double>(count) / static_cast<double>(tiles);
    };
    return fmt::format(
        "{:>6} tiles, {:>6} partial, {:>4} of these really empty or full ({:.1f}%); a tile took {:.2f} "
        "bounds, {:.2f} looks "
        "at parts, {:.2f} at elements",
        tiles, partial, missed, 100 * share_missed(), 1.0 / 32, each(looks.parts), each(looks.elements));
  }
};

/// Random tiles of one mask: of the sizes that kernels have, aligned, of lengths that they divide and that
/// they do not.
Tally tally_mask(const TableMask& mask, int tiles, std::mt19937& random) {
  constexpr std::pair<int, int> kLengths[] = {{2048, 2048}, {1000, 1543}, {1543, 1000}};
  constexpr std::pair<int, int> kTiles[] = {{128, 64}, {64, 64}, {128, 32}, {64, 128}};
  Tally all;
  for (const auto& [q_len, kv_len] : kLengths) {
    const ProblemSize size{.batch = 2, .num_q_heads = 4, .num_kv_heads = 2, .q_len = q_len, .kv_len = kv_len};
    const Problem problem = fa::test::problem_of(mask, size, random);
    const MaskProbe probe(problem.spec.checked(), problem);
    REQUIRE(probe.has_class());
    const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
    for (int i = 0; i < tiles / static_cast<int>(std::size(kLengths)) + 1; ++i) {
      const auto [rows, columns] = kTiles[pick(4)];
      const int q_lo = pick((q_len + rows - 1) / rows) * rows;
      const int kv_lo = pick((kv_len + columns - 1) / columns) * columns;
      const TileBounds tile = {q_lo, std::min(q_lo + rows, q_len) - 1, kv_lo,
                               std::min(kv_lo + columns, kv_len) - 1};
      const int b = pick(size.batch), h = pick(size.num_q_heads);
      const TileClass found = probe.tile_class(b, h, tile);
      const TileClass bounds = probe.bounds_class(b, h, tile);
      const TileClass truth = probe.brute_force(b, h, tile);
      ++all.tiles;
      all.open += bounds == TileClass::partial;
      all.partial += found == TileClass::partial;
      all.missed += found == TileClass::partial && truth != TileClass::partial;
      all.contradicted += found != TileClass::partial && found != truth;
      all.contradicted += bounds != TileClass::partial && bounds != truth;
    }
    all.looks.parts += probe.looks().parts;
    all.looks.elements += probe.looks().elements;
  }
  return all;
}

/// `tiles` of them over all masks.
void check_table_masks(int tiles) {
  std::mt19937 random(20261123);
  int masks = 0;
  for (const TableMaskKind& kind : fa::test::table_masks()) masks += static_cast<int>(kind.masks.size());
  CHECK(masks >= 40);
  std::string report;
  Tally all;
  for (const TableMaskKind& kind : fa::test::table_masks()) {
    Tally of_kind;
    std::string of_masks;
    for (const TableMask& mask : kind.masks) {
      const Tally tally = tally_mask(mask, tiles / masks, random);
      of_masks += fmt::format(
          "    {:<58} {:>5.1f}% open to bounds, {:>5.1f}% partial, {:.1f}% missed, {:.2f} + {:.2f} looks\n",
          mask.name, 100.0 * static_cast<double>(tally.open) / static_cast<double>(tally.tiles),
          100.0 * static_cast<double>(tally.partial) / static_cast<double>(tally.tiles),
          100 * tally.share_missed(),
          static_cast<double>(tally.looks.parts) / static_cast<double>(tally.tiles),
          static_cast<double>(tally.looks.elements) / static_cast<double>(tally.tiles));
      INFO(mask.name);
      CHECK(tally.contradicted == 0);
      CHECK(tally.partial < tally.tiles);
      of_kind.add(tally);
    }
    report += fmt::format("  {}\n    {}\n{}", kind.name, of_kind.text(), of_masks);
    INFO(kind.name);
    CHECK(of_kind.share_missed() <= kind.most_missed);
    all.add(of_kind);
  }
  WARN(fmt::format("{} masks, {} tiles, {} contradictions\n{}", masks, all.tiles, all.contradicted, report));
}

}  // namespace

TEST_CASE("masks over tables: few partial tiles are really empty or full", "[analysis]") {
  check_table_masks(8000);
}

TEST_CASE("many masks over tables: few partial tiles are really empty or full", "[analysis][slow]") {
  check_table_masks(100000);
}
