// The tile map of one call on the host (templates/common/tiles/tile_map.h): the class of every tile, found by
// bounds on the tile, then on its parts, then element by element (templates/common/tiles/tile_parts.h). The
// counterpart of templates/common/tiles/tile_map.cuh.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/host/jit.h"
#include "templates/common/tiles/tile_map.h"
#include "templates/common/tiles/tile_parts.h"
#include "templates/params.h"

namespace fa {

/// Memory only grows, so that the next call of the same size allocates none.
class HostTileMap {
 public:
  /// Makes room for a call of `kernel`, which must outlive it as `params` must. Without a map in the kernel
  /// there is nothing to fill.
  void prepare(const HostKernel& kernel, const ForwardParams& params);
  /// Filling is cut into independent items: all of the keys' summaries first, then all rows of tiles.
  std::size_t key_items() const { return key_items_; }
  void summarise_keys(std::size_t item) const;
  std::size_t items() const { return items_; }
  void fill(std::size_t item) const;

  /// The words of a row of tiles. They alternate: whether the mask keeps some of a tile, whether it keeps all
  /// of it.
  const std::uint32_t* row(int b, int h, int q_tile) const;

 private:
  struct Asker;
  using QueryPairs = std::array<SummaryPair, kMostSummaries * TileParts::kRows>;

  std::size_t pairs_of_keys() const;  // of one map
  void summarise(std::size_t which, int b, int h, int tile_begin, int tile_end, int part, int parts,
                 SummaryPair* to) const;
  std::pair<int, int> head_of(std::size_t map) const;

  const HostKernel* kernel_ = nullptr;
  const ForwardParams* params_ = nullptr;
  TileMapShape shape_{};
  TileSearch search_{};
  int tile_q_ = 0, tile_kv_ = 0, q_tiles_ = 0, kv_tiles_ = 0;
  std::size_t key_items_ = 0, items_ = 0;
  mutable std::vector<SummaryPair> keys_;     // [maps, kv tiles, summaries, parts]
  mutable std::vector<std::uint32_t> words_;  // [maps, q tiles, words, 2]
};

}  // namespace fa
