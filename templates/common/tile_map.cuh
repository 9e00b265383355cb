// The pass that fills the tile map (common/tile_map.h), before the forward pass.
//
// Blocks       (words x shares of the q tiles, heads, batch): a block has the 32 kv tiles of one word and
// goes
//              through its share of the q tiles, four at a time.
// A round      summaries -> bounds -> search, a barrier after each. Summaries: the minimum and maximum of
// each, over
//              every part (common/tile_parts.h) of the tiles; those of the keys are found once. Bounds: a
//              warp for each q tile, a lane for each kv tile. Search: the tiles that bounds leave open, a
//              warp for one.
// Shared       the summaries' pairs, and a few words for each q tile of the round.
#pragma once

#include "common/tile_class.cuh"
#include "common/tile_parts.h"
#include "params.h"

namespace fa {

/// How many blocks, at most, an aligned tile of `tile` lines touches.
__host__ __device__ constexpr int most_blocks(int tile, int block) {
  return tile % block == 0 ? tile / block : block % tile == 0 ? 1 : (tile - 2) / block + 2;
}

template <class Classes, int kTileQ, int kTileKv>
class TileMapPass {
 public:
  __device__ __forceinline__ explicit TileMapPass(const ForwardParams& params)
      : p_(params), b_(blockIdx.z), h_(blockIdx.y), warp_(threadIdx.x / 32), lane_(threadIdx.x % 32) {}

  __device__ __forceinline__ void run() {
    const int words = map_words(p_, kTileKv);
    const int word = blockIdx.x % words;
    const int shares = gridDim.x / words;
    const int rounds = count_tiles(count_tiles(p_.q_len, kTileQ), kMapTiles);
    if constexpr (kNeedsBounds) summarise<false>(word * kTilesPerWord);
    for (int round = blockIdx.x / words; round < rounds; round += shares) {
      const int first_q = round * kMapTiles;
      if constexpr (kNeedsBounds) summarise<true>(first_q);
      if (threadIdx.x == 0) shared().open_count = 0;
      __syncthreads();
      if (warp_ < kMapTiles) bound(first_q + warp_, word);
      __syncthreads();
      search(first_q, word);
      __syncthreads();
      if (threadIdx.x < kMapTiles) store(first_q + threadIdx.x, word);
    }
  }

 private:
  static constexpr TileParts kParts = TileParts::of(kTileQ, kTileKv);
  static constexpr Alike kAlike = Classes::kAlike;
  // Where blocks are about as large as tiles, a lane asks an element of each block that its tile touches.
  static constexpr int kMostBlocks = 16;
  static constexpr bool kShownByBlocks =
      kAlike.always == (kRowsAlike | kColumnsAlike) &&
      most_blocks(kTileQ, kAlike.row_block) * most_blocks(kTileKv, kAlike.column_block) <= kMostBlocks;
  static constexpr bool kNeedsBounds = Classes::kHasBounds && !kShownByBlocks;
  static constexpr int kQueryPairs = kMapTiles * TileParts::kRows;
  static constexpr int kKeyPairs = kTilesPerWord * TileParts::kColumns;
  static constexpr int kPairs =
      kNeedsBounds ? Classes::kNumQuerySummaries * kQueryPairs + Classes::kNumKeySummaries * kKeyPairs : 0;
  static constexpr int kPaddedQ = kParts.rows * TileParts::kRows;  // a power of two
  static constexpr int kRowWords = (kTileQ + 31) / 32;
  static constexpr int kColumnWords = (kTileKv + 31) / 32;
  static constexpr int kPaddedKv = kParts.columns * TileParts::kColumns;

  struct Shared {
    int2 pairs[kPairs + 1];  // of summary 0, 1, ...: part by part
    // A bit a line, kPadded of them a tile: whether a summary of it has another value than of the line
    // before.
    unsigned rows_differ[kMapTiles * kPaddedQ / 32];
    unsigned columns_differ[kTilesPerWord * kPaddedKv / 32];
    unsigned shown[kMapThreads / 32][kRowWords + kColumnWords];   // lines of each warp's tile
    unsigned some[kMapTiles], full[kMapTiles], plain[kMapTiles];  // a bit a kv tile
    int open[kMapTiles * kTilesPerWord];  // tiles to be searched: 128 * what is alike + 32 * row + kv tile
    int open_count;
  };
  static __device__ __forceinline__ Shared& shared() {
    __shared__ Shared memory;
    return memory;
  }

  static __device__ __forceinline__ int2* pairs_of(int which) {
    const int queries = Classes::kNumQuerySummaries;
    return shared().pairs +
           (which < queries ? which * kQueryPairs : queries * kQueryPairs + (which - queries) * kKeyPairs);
  }

  /// The extrema of a side's summaries over the parts of its tiles from `first_tile` on. A thread asks for
  /// several values before it uses the first: what takes time is to wait for reads.
  template <bool kOfQuery>
  __device__ __forceinline__ void summarise(int first_tile) {
    constexpr int kTile = kOfQuery ? kTileQ : kTileKv;
    constexpr int kPart = kOfQuery ? kParts.rows : kParts.columns;
    constexpr int kPadded = kOfQuery ? kPaddedQ : kPaddedKv;
    constexpr int kLines = kPadded * (kOfQuery ? kMapTiles : kTilesPerWord);
    constexpr int kSums = kOfQuery ? Classes::kNumQuerySummaries : Classes::kNumKeySummaries;
    constexpr int kMostUnrolled = 16;
    [[maybe_unused]] constexpr int kUnrolled = kSums <= kMostUnrolled ? kSums : 1;
    constexpr int kInTurn = (kLines + kMapThreads - 1) / kMapThreads;
    constexpr int kTogether = kSums >= 4                             ? 1
                              : kInTurn < 4 / (kSums + (kSums == 0)) ? kInTurn
                                                                     : 4 / (kSums + (kSums == 0));
    if constexpr (kSums > 0) {
      int2* const pairs = pairs_of(kOfQuery ? 0 : Classes::kNumQuerySummaries);
      for (int i = threadIdx.x; i < kSums * (kLines / kPart); i += blockDim.x)
        pairs[i] = {0x7fffffff, -0x7fffffff - 1};
      __syncthreads();
      const int length = kOfQuery ? p_.q_len : p_.kv_len;
#pragma unroll 1
      for (int first = threadIdx.x; first < kLines; first += kTogether * blockDim.x) {
        int values[kTogether][kSums];
        bool exists[kTogether];
#pragma unroll
        for (int n = 0; n < kTogether; ++n) {
          const int line = first + n * blockDim.x;
          const int idx = (first_tile + line / kPadded) * kTile + line % kPadded;
          exists[n] = line < kLines && line % kPadded < kTile && idx < length;
#pragma unroll(kUnrolled)
          for (int which = 0; which < kSums; ++which)
            values[n][which] = !exists[n] ? 0
                               : kOfQuery ? Classes::query_summary(which, p_, b_, h_, idx)
                                          : Classes::key_summary(which, p_, b_, h_, idx);
        }
#pragma unroll
        for (int n = 0; n < kTogether; ++n) {
          const int line = first + n * blockDim.x;
          if (line >= kLines) break;
          unsigned differ = 0;
#pragma unroll(kUnrolled)
          for (int which = 0; which < kSums; ++which)
            differ |= add_to_part<kPart>(pairs[which * (kLines / kPart) + line / kPart], values[n][which],
                                         exists[n]);
          if (lane_ == 0) (kOfQuery ? shared().rows_differ : shared().columns_differ)[line / 32] = differ;
        }
      }
    }
  }

  /// A warp: adds a value a lane, of the lines that exist, to the extrema of their part. Gives the lanes
  /// whose value is another than that of the lane before. One copy of the code for all summaries.
  template <int kPart>
  __device__ __noinline__ static unsigned add_to_part(int2& pair, int value, bool exists) {
    constexpr int kWidth = kPart < 32 ? kPart : 32;  // lanes that share a part
    constexpr unsigned kAll = 0xffffffffu;
    const int lane = threadIdx.x % 32;
    const int before = __shfl_up_sync(kAll, value, 1);
    int2 extrema = {exists ? value : 0x7fffffff, exists ? value : -0x7fffffff - 1};
#pragma unroll
    for (int distance = kWidth / 2; distance > 0; distance /= 2)
      extrema = {min(extrema.x, __shfl_xor_sync(kAll, extrema.x, distance)),
                 max(extrema.y, __shfl_xor_sync(kAll, extrema.y, distance))};
    if (lane % kWidth == 0) {
      atomicMin(&pair.x, extrema.x);
      atomicMax(&pair.y, extrema.y);
    }
    return __ballot_sync(kAll, lane == 0 || value != before);
  }

  __device__ __forceinline__ TileBox box_of(int q_tile, int kv_tile) const {
    return {q_tile * kTileQ, min(q_tile * kTileQ + kTileQ, p_.q_len) - 1, kv_tile * kTileKv,
            min(kv_tile * kTileKv + kTileKv, p_.kv_len) - 1};
  }

  /// The extrema of a summary over some parts of a q tile and of a kv tile.
  struct Pairs {
    int query, query_count, key, key_count;

    __device__ __forceinline__ int2 operator()(int which) const {
      const bool of_query = which < Classes::kNumQuerySummaries;
      const int2* const pairs = pairs_of(which) + (of_query ? query : key);
      int2 all = pairs[0];
#pragma unroll 1
      for (int i = 1; i < (of_query ? query_count : key_count); ++i)
        all = {min(all.x, pairs[i].x), max(all.y, pairs[i].y)};
      return all;
    }
  };

  /// What bounds say of a tile (`part` is -1) or of one of its parts. One copy of the code for both.
  __device__ __noinline__ static int bounds_class(const ForwardParams& p, int b, int h, TileBox box, int row,
                                                  int column, int part) {
    const Pairs pairs = {row * TileParts::kRows + (part < 0 ? 0 : part / TileParts::kColumns),
                         part < 0 ? TileParts::kRows : 1,
                         column * TileParts::kColumns + (part < 0 ? 0 : part % TileParts::kColumns),
                         part < 0 ? TileParts::kColumns : 1};
    return Classes::tile_class(p, pairs, b, h, box.q_lo, box.q_hi, box.kv_lo, box.kv_hi);
  }

  /// The class of a tile of few blocks.
  __device__ __forceinline__ int class_of_blocks(const TileBox& tile) const {
    bool keeps = false, drops = false;
#pragma unroll 1
    for (int q = tile.q_lo; q <= tile.q_hi; q = (q / kAlike.row_block + 1) * kAlike.row_block) {
#pragma unroll 1
      for (int kv = tile.kv_lo; kv <= tile.kv_hi; kv = (kv / kAlike.column_block + 1) * kAlike.column_block) {
        const bool kept = Classes::keeps(p_, b_, h_, q, kv);
        keeps |= kept;
        drops |= !kept;
      }
    }
    return keeps ? drops ? kTilePartial : kTileFull : kTileEmpty;
  }

  /// A warp: what bounds show of the 32 tiles of a word. Those that stay open go on the list.
  __device__ __forceinline__ void bound(int q_tile, int word) {
    const int kv_tile = word * kTilesPerWord + lane_;
    const TileBox tile = box_of(q_tile, kv_tile);
    int found = kTileEmpty;
    if (tile.exists()) {
      if constexpr (kShownByBlocks)
        found = class_of_blocks(tile);
      else if constexpr (kNeedsBounds)
        found = bounds_class(p_, b_, h_, tile, warp_, lane_, -1);
      else
        found = kTilePartial | kAlike.always;
    }
    const int alike = found & (kRowsAlike | kColumnsAlike);
    found &= kTileClassBits;
    Shared& to = shared();
    const unsigned all = 0xffffffffu;
    const bool is_open = !kShownByBlocks && found == kTilePartial;
    const unsigned open = __ballot_sync(all, is_open);
    const unsigned some = __ballot_sync(all, found != kTileEmpty && !is_open);
    const unsigned full = __ballot_sync(all, found == kTileFull);
    unsigned plain = 0;
    if constexpr (Classes::kHasScoreClass)
      plain =
          __ballot_sync(all, found != kTileEmpty && Classes::score_is_plain(p_, b_, h_, tile.q_lo, tile.q_hi,
                                                                            tile.kv_lo, tile.kv_hi));
    int at = 0;
    if (lane_ == 0) {
      to.some[warp_] = some;
      to.full[warp_] = full;
      to.plain[warp_] = plain;
      at = atomicAdd(&to.open_count, __popc(open));
    }
    at = __shfl_sync(all, at, 0) + __popc(open & ((1u << lane_) - 1));
    if (is_open) to.open[at] = alike * (kMapTiles * kTilesPerWord) + warp_ * kTilesPerWord + lane_;
  }

  /// A warp that asks, a question a lane.
  struct Asker {
    const ForwardParams& p;
    int b, h, row, column;

    template <class Ask>
    __device__ __forceinline__ unsigned ballot(Ask ask) const {
      return __ballot_sync(0xffffffffu, ask(static_cast<int>(threadIdx.x % 32)));
    }

    __device__ __forceinline__ bool differs(bool of_rows, int i) const {
      if constexpr (!kNeedsBounds) return false;
      const int count = of_rows ? Classes::kNumQuerySummaries : Classes::kNumKeySummaries;
      const unsigned* const bits = of_rows ? shared().rows_differ : shared().columns_differ;
      const int line = of_rows ? row * kPaddedQ + i : column * kPaddedKv + i;
      return count > 0 && (bits[line / 32] >> line % 32 & 1) != 0;
    }

    __device__ __forceinline__ unsigned* words(bool of_rows) const {
      return shared().shown[threadIdx.x / 32] + (of_rows ? 0 : kRowWords);
    }
    __device__ __forceinline__ void store(unsigned* word, unsigned bits) const {
      if (threadIdx.x % 32 == 0) *word = bits;
    }
    __device__ __forceinline__ void meet() const { __syncwarp(); }

    template <class At>
    __device__ __forceinline__ Found elements(At at) const {
      const TileElement element = at(static_cast<int>(threadIdx.x % 32));
      bool kept = false;
      if (element.exists) kept = Classes::keeps(p, b, h, element.q, element.kv);
      return {__ballot_sync(0xffffffffu, kept), __ballot_sync(0xffffffffu, element.exists && !kept)};
    }

    template <class At>
    __device__ __forceinline__ PartClasses parts(At at) const {
      const int lane = threadIdx.x % 32;
      const TileBox box = at(lane);
      int found = -1;
      if constexpr (kNeedsBounds)
        if (box.exists()) found = bounds_class(p, b, h, box, row, column, lane) & kTileClassBits;
      return {__ballot_sync(0xffffffffu, found == kTileEmpty),
              __ballot_sync(0xffffffffu, found == kTilePartial),
              __ballot_sync(0xffffffffu, found == kTileFull)};
    }
  };

  /// All warps: the tiles that bounds leave open.
  __device__ __forceinline__ void search(int first_q, int word) {
    if constexpr (kShownByBlocks) return;
    constexpr TileSearch kSearch = {kParts, kAlike, Classes::kMostSteps, kNeedsBounds};
    for (int i = warp_; i < shared().open_count; i += blockDim.x / 32) {
      const int entry = shared().open[i];
      const int row = entry / kTilesPerWord % kMapTiles;
      const int column = entry % kTilesPerWord;
      Asker asker{p_, b_, h_, row, column};
      const int found = class_by_parts(asker, kSearch, box_of(first_q + row, word * kTilesPerWord + column),
                                       entry / (kMapTiles * kTilesPerWord));
      if (lane_ != 0 || found == kTileEmpty) continue;
      atomicOr(&shared().some[row], 1u << column);
      if (found == kTileFull) atomicOr(&shared().full[row], 1u << column);
    }
  }

  /// A thread: the words of a q tile. A tile that the end of the keys cuts counts as partial: its columns
  /// past the end are to be dropped.
  __device__ __forceinline__ void store(int q_tile, int word) {
    if (q_tile >= count_tiles(p_.q_len, kTileQ)) return;
    const int whole = p_.kv_len / kTileKv - word * kTilesPerWord;  // tiles of the word that are not cut
    const unsigned cut = whole >= kTilesPerWord ? 0 : ~0u << (whole > 0 ? whole : 0);
    const int row = q_tile % kMapTiles;
    int* const to = p_.tile_map + map_row(Classes::kMap, p_, kTileQ, kTileKv, b_, h_, q_tile) +
                    word * bits_a_tile(Classes::kMap);
    to[0] = static_cast<int>(shared().some[row]);
    to[1] = static_cast<int>(shared().full[row] & ~cut);
    if constexpr (Classes::kMap.has_plain) to[2] = static_cast<int>(shared().plain[row] & shared().some[row]);
  }

  const ForwardParams& p_;
  const int b_, h_, warp_, lane_;
};

}  // namespace fa
