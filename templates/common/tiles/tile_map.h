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
constexpr int kBytesAWord = 4;
constexpr int kTilesPerByte = 8;  // kv tiles of a block of the pass
constexpr int kMapTiles = 4;      // q tiles of a round, where keys have summaries: found once for all of them
// Of a block. What takes time is to wait, for reads and for other warps: small blocks, and as many on an SM
// as 64 registers a thread leave.
constexpr int kMapThreads = 256;
constexpr int kMapBlocksAnSm = 4;

struct TileMapShape {
  bool of_batch;  // differs from batch entry to batch entry
  bool of_head;
  bool has_plain;               // the third bit
  int round_tiles = kMapTiles;  // q tiles that a block of the pass looks at in one round: 1 or kMapTiles
};

FA_HOST_DEVICE constexpr int bits_a_tile(TileMapShape shape) { return shape.has_plain ? 3 : 2; }

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

/// Blocks that share the q tiles of one byte of kv tiles: as many as there are rounds while that leaves a GPU
/// idle; beyond, each takes several rounds, and finds what depends on the keys once for all of them.
template <class Params>
FA_HOST_DEVICE int map_shares(TileMapShape shape, const Params& p, int tile_q, int tile_kv) {
  constexpr long long kEnoughBlocks = 1024;  // twice what the largest GPU runs at once
  const int rounds = count_tiles(count_tiles(p.q_len, tile_q), shape.round_tiles);
  const long long shares = kEnoughBlocks / (kBytesAWord * map_words(p, tile_kv) * map_count(shape, p)) + 1;
  return shares < rounds ? static_cast<int>(shares) : rounds;
}

}  // namespace fa
