// How much of a problem its mask leaves, for predictions: quicker than a whole report (tools/tiles/tiles.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/problem/problem.h"

namespace fa::tools {

/// The share of tiles that are not empty, on the example tensors, or those of `inputs`; of some heads where a
/// mask tells many apart. Nothing where counting them would take long, or the tensors would be large.
std::optional<double> share_of_tiles(const Spec& spec, const ProblemInputs& inputs, int tile_q, int tile_kv);

/// The same for tiles of every size: small tiles are classified once, and a tile counts where one of those in it does.
class SharesBySize {
 public:
  static constexpr int kSide = 16;  // of a small tile; every tile_q and tile_kv is a multiple of it

  /// Nothing where it would take long, as above.
  static std::optional<SharesBySize> count(const Spec& spec, const ProblemInputs& inputs);

  /// From 0 to 1.
  double of(int tile_q, int tile_kv) const;

 private:
  SharesBySize(int rows, int columns) : rows_(rows), columns_(columns) {}

  int rows_, columns_;  // of small tiles
  /// For each (b, h) and each (row, column): how many of the small tiles above and to the left of it count.
  std::vector<std::vector<std::int32_t>> sums_;
};

}  // namespace fa::tools
