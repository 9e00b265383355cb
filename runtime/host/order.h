// The order in which the tiles of query rows of one call are dealt to the threads.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/host/walk.h"

namespace fa {

/// One tile of query rows of one head.
struct HostItem {
  int b, h, q_tile;
};

/// With a tile class and more items than threads, the items that visit the most kv tiles come first, so that
/// the last items, with which threads run out of work one by one, are short. Items of equal length, and all
/// items otherwise, are ordered by head, so that a head's K and V stay in cache, and from the last rows to
/// the first, since causal masks make the last ones the longest. Memory only grows, so that the next call of
/// the same size allocates none.
class HostOrder {
 public:
  /// `map` must be filled. The kv tiles of the items are counted by `threads` threads.
  void prepare(const HostKernel& kernel, const ForwardParams& params, const HostTileMap& map, int threads);
  std::size_t items() const { return items_; }
  HostItem at(std::size_t position) const;

 private:
  struct Work {
    int tiles;  // kv tiles that are not empty
    std::size_t item;
  };
  HostItem unsorted(std::size_t item) const;
  void count_tiles(int threads);
  void count_some(std::size_t position);

  const HostKernel* kernel_ = nullptr;
  const ForwardParams* params_ = nullptr;
  const HostTileMap* map_ = nullptr;
  std::size_t q_tiles_ = 0, items_ = 0;
  bool is_sorted_ = false;
  std::vector<Work> order_;
  // Heads for which the class is the same are counted once.
  std::size_t counted_heads_ = 1, counts_an_item_ = 1;
  std::vector<int> counts_;  // [batch or 1, counted_heads_, q_tiles_]
};

}  // namespace fa
