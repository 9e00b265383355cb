// Which kv tiles a tile of query rows attends to on the host, by the mask's tile class: the counterpart of
// templates/common/tiles/tile_walk.cuh.
//
// With a map (runtime/host/map) classes are bits. Without a map the class function is called for ever smaller
// spans: of 1024 tiles, of 32 where those are partial, of one. The class of an empty or full span holds for
// all tiles in it.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "runtime/host/jit.h"
#include "runtime/host/map.h"
#include "templates/params.h"

namespace fa {

constexpr int kWalkLevels = 3;  // spans of 1, 32 and 1024 tiles

/// Spans of each level that `tiles` tiles are cut into.
using SpanCounts = std::array<int, kWalkLevels>;
SpanCounts span_counts(int tiles);

/// The walk of one tile of query rows of one head.
class TileWalk {
 public:
  /// `map` must be filled.
  TileWalk(const HostKernel& kernel, const ForwardParams& params, const HostTileMap& map, int b, int h,
           int q_tile);

  /// Calls visit(tile, is_full) for each kv tile that is not empty, in order.
  template <class Visit>
  void each(const Visit& visit) const {
    if (words_ != nullptr) return each_in_map(visit);
    int level = kWalkLevels - 1;
    while (level > 0 && spans_[static_cast<std::size_t>(level)] == 1) --level;
    descend(level, 0, spans_[static_cast<std::size_t>(level)], visit);
  }

  int count() const;

 private:
  enum class Class : std::int32_t { empty, partial, full };
  static constexpr int kFanOut = 32;

  template <class Visit>
  void each_in_map(const Visit& visit) const {
    for (int word = 0; word < spans_[1]; ++word)
      for (std::uint32_t some = words_[2 * word]; some != 0; some &= some - 1) {
        const int bit = std::countr_zero(some);
        visit(word * kTilesPerWord + bit, (words_[2 * word + 1] >> bit & 1) != 0);
      }
  }

  template <class Visit>
  void descend(int level, int begin, int end, const Visit& visit) const {
    for (int span = begin; span < end; ++span) {
      const Class found = ask(level, span);
      if (found == Class::empty) continue;
      const int first = first_tile(level, span);
      if (level == 0) {
        visit(first, found == Class::full);
      } else if (found == Class::full) {
        for (int tile = first; tile < first_tile(level, span + 1); ++tile) visit(tile, true);
      } else {
        const auto below = static_cast<std::size_t>(level - 1);
        descend(level - 1, span * kFanOut, std::min((span + 1) * kFanOut, spans_[below]), visit);
      }
    }
  }

  Class ask(int level, int span) const;
  int first_tile(int level, int span) const {  // at most the number of tiles
    return static_cast<int>(std::min<std::int64_t>(std::int64_t{span} << (5 * level), spans_[0]));
  }

  const HostKernel& kernel_;
  const ForwardParams& params_;
  const std::uint32_t* words_;  // null without a map
  SpanCounts spans_;
  int b_, h_, q_lo_, q_hi_;
};

}  // namespace fa
