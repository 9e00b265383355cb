// In which order the tiles of query rows of one call are dealt to the threads.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/host/walk.h"

namespace fa {

/// One tile of query rows of one head.
struct HostItem {
  int b, h, q_tile;
};

/// With a tile class and more items than threads, those that visit the most kv tiles come first: what is left
/// at the end, when threads run out of work one by one, is short. Ties, and all of it otherwise, keep a
/// head's items together, so that its K and V stay in cache, and take the last rows first, as causal masks
/// make them the longest. Memory only grows, so that a like call allocates none.
class HostOrder {
 public:
  /// `map` is filled. Counts on `threads` threads.
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
  // Heads that the class does not tell apart are counted once.
  std::size_t counted_heads_ = 1, counts_an_item_ = 1;
  std::vector<int> counts_;  // [batch or 1, counted_heads_, q_tiles_]
};

}  // namespace fa
