// The tile map: one bit a tile for whether the mask keeps anything of it, one for whether it keeps all, and
// where score_mod has a class one for whether it adds one number to all. A pass of its own finds it before
// the forward pass (common/tiles/tile_map.cuh, runtime/host/map); host and device share this layout.
//
// A map is [batch or 1][num_q_heads or 1][q tiles][words][bits a tile] of 32-bit words, 32 kv tiles a word.
//
// `Params` is CallParams: a template, so that this header knows no launch arguments.
#pragma once

#include "common/host_device.h"

namespace fa {

enum { kTileEmpty = 0, kTilePartial = 1, kTileFull = 2 };  // the class of a tile

constexpr int kTilesPerWord = 32;
// The pass finds classes in rounds of so many tiles, one for each lane of a warp: 1 x 32 (q tiles x kv tiles), or 4 x 8
// where keys have summaries, so that these are found once for four q tiles.
constexpr int kRoundTiles = 32;
constexpr int kMostRoundRows = 4;
// Of a block. What takes time is to wait, for reads and for other warps: small blocks, and as many on an SM
// as 64 registers a thread leave.
constexpr int kMapThreads = 256;
constexpr int kMapBlocksAnSm = 4;

struct TileMapShape {
  bool of_batch;  // differs from batch entry to batch entry
  bool of_head;
  bool has_plain;                   // the third bit
  int round_rows = kMostRoundRows;  // q tiles of a round: 1 or kMostRoundRows
};

FA_HOST_DEVICE constexpr int bits_a_tile(TileMapShape shape) { return shape.has_plain ? 3 : 2; }

/// The kv tiles of a round.
FA_HOST_DEVICE constexpr int round_columns(TileMapShape shape) { return kRoundTiles / shape.round_rows; }

FA_HOST_DEVICE constexpr int count_tiles(int length, int tile) { return (length + tile - 1) / tile; }

/// Words of one row of tiles, for one of a tile's bits.
template <class Params>
FA_HOST_DEVICE int map_words(const Params& p, int tile_kv) {
  return count_tiles(count_tiles(p.kv_len, tile_kv), kTilesPerWord);
}

/// How many maps there are.
template <class Params>
FA_HOST_DEVICE long long map_count(TileMapShape shape, const Params& p) {
  return static_cast<long long>(shape.of_batch ? p.batch : 1) * (shape.of_head ? p.num_q_heads : 1);
}

/// Where the words of a row of tiles begin, of batch entry b and head h.
template <class Params>
FA_HOST_DEVICE long long map_row(TileMapShape shape, const Params& p, int tile_q, int tile_kv, int b, int h,
                                 int q_tile) {
  const long long map = (shape.of_batch ? b : 0) * static_cast<long long>(shape.of_head ? p.num_q_heads : 1) +
                        (shape.of_head ? h : 0);
  return (map * count_tiles(p.q_len, tile_q) + q_tile) * map_words(p, tile_kv) * bits_a_tile(shape);
}

/// 32-bit words of all maps of a call.
template <class Params>
FA_HOST_DEVICE long long map_size(TileMapShape shape, const Params& p, int tile_q, int tile_kv) {
  return map_count(shape, p) * count_tiles(p.q_len, tile_q) * map_words(p, tile_kv) * bits_a_tile(shape);
}

/// Rounds side by side, over all kv tiles.
template <class Params>
FA_HOST_DEVICE int map_columns(TileMapShape shape, const Params& p, int tile_kv) {
  return map_words(p, tile_kv) * (kTilesPerWord / round_columns(shape));
}

/// The pass's blocks for one map: as many as there are rounds, unless a GPU could not run those of all maps at once. Then each
/// takes several rounds, and finds what depends on the keys, or on the queries, once for all of them.
template <class Params>
FA_HOST_DEVICE int map_blocks(TileMapShape shape, const Params& p, int tile_q, int tile_kv) {
  constexpr long long kMostBlocks = 132 * kMapBlocksAnSm;  // what an H100 runs at once
  const int columns = map_columns(shape, p, tile_kv);
  const int rows = count_tiles(count_tiles(p.q_len, tile_q), shape.round_rows);
  const long long shares = kMostBlocks / (columns * map_count(shape, p));
  return columns * (shares < 1 ? 1 : shares < rows ? static_cast<int>(shares) : rows);
}

}  // namespace fa
