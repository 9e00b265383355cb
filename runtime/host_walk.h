// Which kv tiles a tile of query rows attends to on the host, by the mask's tile class: the counterpart of
// templates/common/tile_walk.cuh, on summaries laid out for it.
//
// Classes are asked of ever smaller spans: 1024 tiles, the 32s of those that are not empty, and the tiles of
// these. A span that is empty or full answers for all in it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/host_jit.h"
#include "templates/params.h"

namespace fa {

constexpr int kWalkLevels = 3;  // spans of 1, 32 and 1024 tiles

/// Spans of each level that `tiles` tiles are cut into.
using SpanCounts = std::array<int, kWalkLevels>;
SpanCounts span_counts(int tiles);

/// The extrema of a kernel's summaries for one call. Memory only grows, so that a like call allocates none.
class HostSummaries {
 public:
  /// Makes room for a call of `kernel`, which must outlive it as `params` must.
  void prepare(const HostKernel& kernel, const ForwardParams& params);
  /// Filling is cut into so many independent items; every one must be filled before `rows` are read.
  std::size_t items() const { return items_; }
  void fill(std::size_t item) const;
  /// What HostClass takes for one head.
  const SummaryPair* const* rows(int b, int h) const;

 private:
  struct Layout {
    SpanCounts spans{};           // of a row
    std::size_t row_pairs = 0;    // pairs of a row, level after level
    std::size_t rows = 0;         // by b and h, where it depends on them
    std::size_t first = 0;        // of its first row in pairs_
    std::size_t items_a_row = 0;  // spans of the highest level
  };
  std::size_t row_of(const SummaryShape& shape, int b, int h) const;

  const HostKernel* kernel_ = nullptr;
  const ForwardParams* params_ = nullptr;
  std::size_t items_ = 0;
  std::vector<Layout> layouts_;
  mutable std::vector<SummaryPair> pairs_;
  std::vector<const SummaryPair*> rows_;  // [batch, num_q_heads, summaries]
};

/// The walk of one tile of query rows of one head.
class TileWalk {
 public:
  TileWalk(const HostKernel& kernel, const ForwardParams& params, const HostSummaries& summaries, int b,
           int h, int q_tile);

  /// Calls visit(tile, is_full) for each kv tile that is not empty, in order.
  template <class Visit>
  void each(const Visit& visit) const {
    int level = kWalkLevels - 1;
    while (level > 0 && spans_[static_cast<std::size_t>(level)] == 1) --level;
    descend(level, 0, spans_[static_cast<std::size_t>(level)], visit);
  }

  int count() const;

 private:
  enum class Class : std::int32_t { empty, partial, full };
  static constexpr int kFanOut = 32;

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
  const SummaryPair* const* rows_;
  SpanCounts spans_;
  int b_, h_, q_tile_, q_lo_, q_hi_;
};

}  // namespace fa
