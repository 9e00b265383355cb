// Counts by the classes that a kernel's walk uses.
#include "tools/tiles/tile_share.h"

#include <algorithm>
#include <utility>

#include "compiler/spec/rounding.h"
#include "tools/tiles/mask_probe.h"

namespace fa::tools {

namespace {

// The most that is counted for one tile size. A class by bounds takes a tenth of a microsecond, one by parts and elements
// longer. The first (b, h) is counted to its end, whatever that takes: 2 s where most of 262,144 tiles are open.
constexpr std::int64_t kMostTiles = 1'000'000;
constexpr std::int64_t kMostTilesByParts = 300'000;  // 16 x 16 at N = 8192
constexpr std::int64_t kMostLooks = 100'000;         // at 32 parts or elements each
constexpr std::int64_t kMostFilled = 1 << 24;        // elements of captured tensors, which are filled first
// Tiles of all sizes are counted at once: for that a search may take as many times as long.
constexpr std::int64_t kForAllSizes = 8;

std::int64_t tiles_along(int length, int tile) { return ceil_div(std::int64_t{length}, tile); }

bool is_left(TileClass one) { return one != TileClass::empty; }

/// Classifies the tiles of some (b, h), which represent all. How many: as the limits above, times `times`, allow for the tiles
/// of one and the looks that the first one took. Returns nothing where one alone has too many tiles.
std::optional<std::vector<TileGrid>> classify_heads(const Spec& spec, const ProblemInputs& inputs, int tile_q,
                                                    int tile_kv, std::int64_t times) {
  if (!tensors_fit(spec, inputs, kMostFilled)) return std::nullopt;
  const std::int64_t tiles =
      tiles_along(inputs.size.q_len, tile_q) * tiles_along(inputs.size.kv_len, tile_kv);
  if (tiles > kMostTiles) return std::nullopt;
  const Problem problem = make_mask_problem(spec, inputs);
  const MaskProbe probe(spec.checked(), problem);
  const std::int64_t most = probe.has_map() ? kMostTilesByParts : kMostTiles;
  if (tiles > most) return std::nullopt;
  std::vector<TileGrid> grids = {probe.classify(0, 0, tile_q, tile_kv)};
  const std::int64_t looks = std::max<std::int64_t>(1, probe.looks().parts + probe.looks().elements);
  const ChosenHeads chosen =
      choose_heads(probe, inputs.size, std::min(times * most / tiles, times * kMostLooks / looks));
  for (const auto& [b, h] : chosen.heads)
    if (b != 0 || h != 0) grids.push_back(probe.classify(b, h, tile_q, tile_kv));
  return grids;
}

}  // namespace

std::optional<double> share_of_tiles(const Spec& spec, const ProblemInputs& inputs, int tile_q, int tile_kv) {
  if (!spec.checked().has_mask_mod()) return 1;
  const auto grids = classify_heads(spec, inputs, tile_q, tile_kv, 1);
  if (!grids) return std::nullopt;
  std::int64_t left = 0, all = 0;
  for (const TileGrid& grid : *grids) {
    left += std::ranges::count_if(grid.classes, is_left);
    all += std::ssize(grid.classes);
  }
  return static_cast<double>(left) / static_cast<double>(all);
}

std::optional<SharesBySize> SharesBySize::count(const Spec& spec, const ProblemInputs& inputs) {
  if (!spec.checked().has_mask_mod()) return SharesBySize(0, 0);
  const auto grids = classify_heads(spec, inputs, kSide, kSide, kForAllSizes);
  if (!grids) return std::nullopt;
  SharesBySize shares(grids->front().rows, grids->front().columns);
  const auto width = static_cast<std::size_t>(shares.columns_) + 1;
  for (const TileGrid& grid : *grids) {
    std::vector<std::int32_t> sums(width * (static_cast<std::size_t>(grid.rows) + 1));
    auto at = sums.begin() + static_cast<std::ptrdiff_t>(width);
    for (int row = 0; row < grid.rows; ++row) {
      std::int32_t of_row = 0;
      ++at;
      for (int column = 0; column < grid.columns; ++column, ++at) {
        of_row += is_left(grid.at(row, column)) ? 1 : 0;
        *at = *(at - static_cast<std::ptrdiff_t>(width)) + of_row;
      }
    }
    shares.sums_.push_back(std::move(sums));
  }
  return shares;
}

double SharesBySize::of(int tile_q, int tile_kv) const {
  std::int64_t left = 0, all = 0;
  const int down = tile_q / kSide, right = tile_kv / kSide;
  for (const std::vector<std::int32_t>& sums : sums_) {
    const auto sum = [&](int row, int column) {
      return sums[static_cast<std::size_t>(std::min(row, rows_)) * (static_cast<std::size_t>(columns_) + 1) +
                  static_cast<std::size_t>(std::min(column, columns_))];
    };
    for (int row = 0; row < rows_; row += down)
      for (int column = 0; column < columns_; column += right, ++all)
        if (sum(row + down, column + right) - sum(row, column + right) - sum(row + down, column) +
                sum(row, column) >
            0)
          ++left;
  }
  return all == 0 ? 1 : static_cast<double>(left) / static_cast<double>(all);
}

}  // namespace fa::tools
