#include "runtime/host/map.h"

#include <algorithm>
#include <limits>
#include <span>

#include "runtime/host/size.h"

namespace fa {
namespace {

constexpr int kLargestTile = 512;  // rows or columns
constexpr int kTilesAnItem = 64;   // of keys, to be summarised by one thread
constexpr SummaryPair kNothing{std::numeric_limits<std::int32_t>::max(),
                               std::numeric_limits<std::int32_t>::min()};

SummaryPair extrema(std::span<const SummaryPair> pairs) {
  SummaryPair all = kNothing;
  for (const SummaryPair& pair : pairs) all = {std::min(all.lo, pair.lo), std::max(all.hi, pair.hi)};
  return all;
}

}  // namespace

/// Asks about one tile.
struct HostTileMap::Asker {
  const HostTileMap& map;
  int b, h;
  const SummaryPair* queries;  // [summaries, parts] of its rows
  const SummaryPair* keys;     // likewise of its columns
  TileBox tile;
  std::array<unsigned short, kLargestTile> rows, columns;

  template <class Ask>
  unsigned ballot(Ask ask) const {
    unsigned bits = 0;
    for (int lane = 0; lane < 32; ++lane) bits |= ask(lane) ? 1u << lane : 0u;
    return bits;
  }
  template <class Do>
  void each(Do act) const {
    for (int lane = 0; lane < 32; ++lane) act(lane);
  }
  bool differs(bool of_rows, int i) const {
    const HostInfo& info = map.kernel_->info;
    return of_rows ? differs(0, info.num_query_summaries, tile.q_lo + i)
                   : differs(info.num_query_summaries, info.num_key_summaries, tile.kv_lo + i);
  }
  unsigned short* lines(bool of_rows) { return of_rows ? rows.data() : columns.data(); }
  bool differs(std::size_t first, std::size_t count, int idx) const {
    for (std::size_t j = first; j < first + count; ++j) {
      SummaryPair of_both;
      map.kernel_->summaries[j](map.params_, b, h, idx - 1, idx, &of_both);
      if (of_both.lo != of_both.hi) return true;
    }
    return false;
  }

  /// What bounds prove about the parts that begin at these numbers.
  int class_of(const TileBox& box, std::size_t row, std::size_t row_count, std::size_t column,
               std::size_t column_count) const {
    const HostKernel& kernel = *map.kernel_;
    std::array<SummaryPair, 2 * kMostSummaries> pairs;
    std::size_t j = 0;
    for (std::size_t i = 0; i < kernel.info.num_query_summaries; ++i)
      pairs[j++] = extrema({queries + i * TileParts::kRows + row, row_count});
    for (std::size_t i = 0; i < kernel.info.num_key_summaries; ++i)
      pairs[j++] = extrema({keys + i * TileParts::kColumns + column, column_count});
    return kernel.tile_class(map.params_, pairs.data(), b, h, box.q_lo, box.q_hi, box.kv_lo, box.kv_hi);
  }

  template <class At>
  Found elements(At at) const {
    std::array<std::int32_t, 32> q, kv;
    int count = 0;
    for (int lane = 0; lane < 32; ++lane) {
      const TileElement element = at(lane);
      if (!element.exists) continue;
      q[to_size(count)] = element.q;
      kv[to_size(count++)] = element.kv;
    }
    if (count == 0) return {0, 0};
    const std::uint32_t kept = map.kernel_->keeps(map.params_, b, h, q.data(), kv.data(), count);
    return {kept, ~kept & (~0u >> (32 - count))};
  }

  template <class At>
  PartClasses parts(At at) const {
    unsigned found[3] = {};
    for (int lane = 0; lane < 32; ++lane) {
      const TileBox box = at(lane);
      if (!box.exists()) continue;
      found[class_of(box, to_size(lane / TileParts::kColumns), 1, to_size(lane % TileParts::kColumns), 1) &
            kTileClassBits] |= 1u << lane;
    }
    return {found[kTileEmpty], found[kTilePartial], found[kTileFull]};
  }
};

std::size_t HostTileMap::pairs_of_keys() const {
  return to_size(kv_tiles_) * kernel_->info.num_key_summaries * TileParts::kColumns;
}

void HostTileMap::prepare(const HostKernel& kernel, const ForwardParams& params) {
  kernel_ = &kernel;
  params_ = &params;
  key_items_ = items_ = 0;
  const HostInfo& info = kernel.info;
  if (info.has_tile_map == 0) return;
  shape_ = {.of_batch = info.class_of_batch != 0, .of_head = info.class_of_head != 0, .has_plain = false};
  tile_q_ = static_cast<int>(info.tile_q);
  tile_kv_ = static_cast<int>(info.tile_kv);
  q_tiles_ = count_tiles(params.call.q_len, tile_q_);
  kv_tiles_ = count_tiles(params.call.kv_len, tile_kv_);
  search_ = {.parts = TileParts::of(tile_q_, tile_kv_),
             .alike = {.row_block = static_cast<int>(info.row_block),
                       .column_block = static_cast<int>(info.column_block),
                       .relative = info.is_relative != 0,
                       .always = static_cast<int>(info.always_alike)},
             .most_steps = static_cast<int>(info.most_steps),
             .has_bounds = kernel.tile_class != nullptr};
  const auto maps = static_cast<std::size_t>(map_count(shape_, params.call));
  keys_.resize(std::max(keys_.size(), maps * pairs_of_keys()));
  words_.resize(
      std::max(words_.size(), static_cast<std::size_t>(map_size(shape_, params.call, tile_q_, tile_kv_))));
  if (info.num_key_summaries > 0) key_items_ = maps * to_size(count_tiles(kv_tiles_, kTilesAnItem));
  items_ = maps * to_size(q_tiles_);
}

std::pair<int, int> HostTileMap::head_of(std::size_t map) const {
  const auto heads = to_size(shape_.of_head ? params_->call.num_q_heads : 1);
  return {static_cast<int>(map / heads), static_cast<int>(map % heads)};
}

/// The extrema of one summary over the parts of one tile.
void HostTileMap::summarise(std::size_t which, int b, int h, int tile_begin, int tile_end, int part,
                            int parts, SummaryPair* to) const {
  for (int i = 0; i < parts; ++i) {
    const int first = tile_begin + i * part;
    const int end = std::min(first + part, tile_end);
    to[i] = kNothing;
    if (first < end) kernel_->summaries[which](params_, b, h, first, end - 1, &to[i]);
  }
}

void HostTileMap::summarise_keys(std::size_t item) const {
  const HostInfo& info = kernel_->info;
  const auto items = to_size(count_tiles(kv_tiles_, kTilesAnItem));
  const auto [b, h] = head_of(item / items);
  const int first = static_cast<int>(item % items) * kTilesAnItem;
  for (int tile = first; tile < std::min(first + kTilesAnItem, kv_tiles_); ++tile) {
    SummaryPair* const to = keys_.data() + item / items * pairs_of_keys() +
                            to_size(tile) * info.num_key_summaries * TileParts::kColumns;
    for (std::size_t j = 0; j < info.num_key_summaries; ++j)
      summarise(info.num_query_summaries + j, b, h, tile * tile_kv_,
                std::min((tile + 1) * tile_kv_, params_->call.kv_len), search_.parts.columns,
                TileParts::kColumns, to + j * TileParts::kColumns);
  }
}

void HostTileMap::fill(std::size_t item) const {
  const HostInfo& info = kernel_->info;
  const std::size_t map = item / to_size(q_tiles_);
  const int q_tile = static_cast<int>(item % to_size(q_tiles_));
  const auto [b, h] = head_of(map);
  TileBox tile{q_tile * tile_q_, std::min((q_tile + 1) * tile_q_, params_->call.q_len) - 1, 0, 0};
  QueryPairs queries;
  for (std::size_t j = 0; j < info.num_query_summaries; ++j)
    summarise(j, b, h, tile.q_lo, tile.q_hi + 1, search_.parts.rows, TileParts::kRows,
              queries.data() + j * TileParts::kRows);
  std::uint32_t* const words =
      words_.data() + map_row(shape_, params_->call, tile_q_, tile_kv_, b, h, q_tile);
  std::fill_n(words, 2 * map_words(params_->call, tile_kv_), 0u);
  for (int kv_tile = 0; kv_tile < kv_tiles_; ++kv_tile) {
    tile.kv_lo = kv_tile * tile_kv_;
    tile.kv_hi = std::min(tile.kv_lo + tile_kv_, params_->call.kv_len) - 1;
    Asker asker{*this,
                b,
                h,
                queries.data(),
                keys_.data() + map * pairs_of_keys() +
                    to_size(kv_tile) * info.num_key_summaries * TileParts::kColumns,
                tile,
                {},
                {}};
    int found = kTilePartial | search_.alike.always;
    if (search_.has_bounds) found = asker.class_of(tile, 0, TileParts::kRows, 0, TileParts::kColumns);
    if ((found & kTileClassBits) == kTilePartial)
      found = class_by_parts(asker, search_, tile, found & ~kTileClassBits);
    const std::uint32_t bit = 1u << (kv_tile % kTilesPerWord);
    std::uint32_t* const word = words + 2 * (kv_tile / kTilesPerWord);
    if (found != kTileEmpty) word[0] |= bit;
    if (found == kTileFull) word[1] |= bit;
  }
}

const std::uint32_t* HostTileMap::row(int b, int h, int q_tile) const {
  return words_.data() + map_row(shape_, params_->call, tile_q_, tile_kv_, b, h, q_tile);
}

}  // namespace fa
