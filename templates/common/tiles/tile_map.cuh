// The pass that fills the tile map (common/tiles/tile_map.h), before the forward pass.
//
// Blocks       (x, heads, batch): a round is 4 x 8 tiles, or 1 x 32 where keys have no summaries. A block has the
//              queries of one round, or its keys, and goes through its share of the others, so that what it finds once is the
//              side with more to find.
// A round      summaries, bounds, search, a barrier after each. Summaries: the minimum and maximum of each,
//              over every tile and its parts (common/tiles/tile_parts.h). Bounds: one warp, a tile a lane.
//              Search: the tiles that bounds leave open, a warp for one.
// By blocks    Where tiles are a few blocks of lines that are alike, a lane asks the mask once a block; each
//              warp goes through rounds of its own, and nothing is shared.
// Shared       the summaries' pairs, where their values change, and what each warp looks at.
#pragma once

#include "common/placement.cuh"
#include "common/tiles/extrema.cuh"
#include "common/tiles/tile_blocks.cuh"
#include "common/tiles/tile_parts.h"
#include "params.h"

namespace fa {

template <class Classes, int kTileQ, int kTileKv>
class TileMapPass {
 public:
  __device__ __forceinline__ explicit TileMapPass(const ForwardParams& params) : p_(params) {}
  __device__ __forceinline__ void run() {
    const int columns = map_columns(kShape, p_.call, kTileKv);
    const int rows = count_tiles(count_tiles(q_len(), kTileQ), kRows);
    if constexpr (kByBlocks)
      run_by_blocks(columns, rows);
    else
      run_in_turns(columns, rows);
  }

 private:
  static constexpr TileParts kParts = TileParts::of(kTileQ, kTileKv);
  static constexpr Alike kAlike = Classes::kAlike;
  using Blocks = TileBlocks<Classes, kTileQ, kTileKv>;
  // Where blocks are about as large as tiles, and summaries do not tell lines of a block apart, a lane asks
  // an element of each block that its tile touches.
  static constexpr int kMostBlocks = 16;
  static constexpr bool kHasBlocks =  // about as large as tiles, so that most tiles are shown by theirs
      kAlike.row_block <= 4 * kTileQ && kAlike.column_block <= 4 * kTileKv;
  static constexpr bool kByBlocks = kAlike.by_blocks == kBothAlike &&
                                    (kHasBlocks || kAlike.always == kBothAlike) &&
                                    Blocks::kRows * Blocks::kColumns <= kMostBlocks;
  static constexpr TileMapShape kShape = Classes::kMap;
  static constexpr int kRows = kShape.round_rows, kColumns = round_columns(kShape);  // tiles of a round
  static constexpr bool kNeedsBounds = Classes::kHasBounds && !kByBlocks;
  static constexpr bool kQueriesStay = Classes::kNumQuerySummaries > Classes::kNumKeySummaries;
  static constexpr bool kHasSummaries = Classes::kNumQuerySummaries + Classes::kNumKeySummaries > 0;

  /// What differs between the two sides of the tiles of a round.
  template <bool kOfQuery>
  struct Side {
    static constexpr int kTile = kOfQuery ? kTileQ : kTileKv;
    static constexpr int kTiles = kOfQuery ? kRows : kColumns;
    static constexpr int kPart = kOfQuery ? kParts.rows : kParts.columns;
    static constexpr int kPartsATile = kOfQuery ? TileParts::kRows : TileParts::kColumns;
    static constexpr int kPadded = kPart * kPartsATile;  // lines of a tile, a power of two
    static constexpr int kSums = !kNeedsBounds ? 0
                                 : kOfQuery    ? Classes::kNumQuerySummaries
                                               : Classes::kNumKeySummaries;
    // Whole warps summarise: a round of 16 lines has room for the tile after it.
    static constexpr int kLines = kSums == 0 || kTiles * kPadded < 32 ? 32 : kTiles * kPadded;
    static constexpr int kRoom = kLines / kPadded > 0 ? kLines / kPadded : 1;  // tiles
    static constexpr int kParts_ = kRoom * kPartsATile;
  };
  using Queries = Side<true>;
  using Keys = Side<false>;

  struct Shared {
    // Of summary 0, 1, ...: part by part, the least value and the complement of the greatest.
    int2 query_pairs[Queries::kSums * Queries::kParts_ + 1];
    int2 key_pairs[Keys::kSums * Keys::kParts_ + 1];
    int2 query_tiles[Queries::kSums * Queries::kRoom + 1];  // over whole tiles
    int2 key_tiles[Keys::kSums * Keys::kRoom + 1];
    // A bit a line: whether a summary has another value than in the line before.
    unsigned rows_differ[Queries::kLines / 32];
    unsigned columns_differ[Keys::kLines / 32];
    unsigned short lines[kMapThreads / 32][kTileQ + kTileKv];  // that show each warp's tile
    unsigned some, full, plain;                                // a bit a tile: 8 * row + kv tile
    int open_count;
    unsigned char open[32];   // tiles to be searched
    unsigned char alike[32];  // what is alike in them
  };
  static __device__ __forceinline__ Shared& shared() {
    __shared__ Shared memory;
    return memory;
  }

  template <bool kOfQuery>
  static __device__ __forceinline__ int2* pairs_of(int which) {
    return kOfQuery ? shared().query_pairs + which * Queries::kParts_
                    : shared().key_pairs + which * Keys::kParts_;
  }
  template <bool kOfQuery>
  static __device__ __forceinline__ int2* tiles_of(int which) {
    return kOfQuery ? shared().query_tiles + which * Queries::kRoom
                    : shared().key_tiles + which * Keys::kRoom;
  }

  template <bool kOfQuery>
  __device__ __forceinline__ void clear() {
    using Of = Side<kOfQuery>;
    constexpr int2 kNothing = {kNoValue, kNoValue};
    for (int i = thread_of_cta(); i < Of::kSums * Of::kParts_; i += threads_of_cta())
      pairs_of<kOfQuery>(0)[i] = kNothing;
    for (int i = thread_of_cta(); i < Of::kSums * Of::kRoom; i += threads_of_cta())
      tiles_of<kOfQuery>(0)[i] = kNothing;
  }

  /// A block at a time, with everything that a round needs in shared memory.
  __device__ __forceinline__ void run_in_turns(int columns, int rows) {
    const int stays = kQueriesStay ? rows : columns;
    const int others = kQueriesStay ? columns : rows;
    const int block = block_index().x, blocks = grid_width();
    const int shares = max(1, blocks / stays);
    if (blocks >= stays && block >= stays * shares) return;
#pragma unroll 1
    for (int own = block % stays; own < stays; own += blocks) {
      bool is_first = true;
#pragma unroll 1
      for (int other = block / stays; other < others; other += shares) {
        const int first_q = (kQueriesStay ? own : other) * kRows;
        const int first_kv = (kQueriesStay ? other : own) * kColumns;
        if constexpr (kNeedsBounds) {
          const TileBox all = {first_q * kTileQ, min((first_q + kRows) * kTileQ, q_len()) - 1,
                               first_kv * kTileKv, min((first_kv + kColumns) * kTileKv, kv_len()) - 1};
          if (!all.exists() || is_empty_for_any_tensor<Classes>(p_, b_, h_, all)) {
            if (thread_of_cta() < kRows) store(first_q, first_kv, thread_of_cta(), 0, 0, 0);
            continue;
          }
        }
        if constexpr (kNeedsBounds && kHasSummaries) {
          if (is_first) clear<kQueriesStay>();
          clear<!kQueriesStay>();
          __syncthreads();
          if (is_first) summarise<kQueriesStay>(kQueriesStay ? first_q : first_kv);
          summarise<!kQueriesStay>(kQueriesStay ? first_kv : first_q);
          __syncthreads();
        }
        is_first = false;
        if (warp_ == 0) bound(first_q, first_kv);
        __syncthreads();
        search(first_q, first_kv);
        __syncthreads();
        if (thread_of_cta() < kRows)
          store(first_q, first_kv, thread_of_cta(), shared().some, shared().full, shared().plain);
        __syncwarp();  // the first warp writes them in the next round
      }
    }
  }

  /// A warp at a time, a tile a lane. What is left of the blocks has nothing to do.
  __device__ __forceinline__ void run_by_blocks(int columns, int rows) {
    const int warps = static_cast<int>(threads_of_cta()) / 32;
#pragma unroll 1
    for (int round = block_index().x * warps + warp_; round < columns * rows; round += grid_width() * warps) {
      const int first_q = round / columns * kRows;
      const int first_kv = round % columns * kColumns;
      const TileBox tile = box_of(first_q + lane_ / kColumns, first_kv + lane_ % kColumns);
      const int found = tile.exists() ? Blocks::class_of_tile(p_, b_, h_, tile) : kTileEmpty;
      int of_tile = found & kTileClassBits;
      if constexpr (kAlike.always != kBothAlike) {
        unsigned open = __ballot_sync(0xffffffffu, (found & Blocks::kOpen) != 0);
#pragma unroll 1
        for (; open != 0; open &= open - 1) {
          const int number = lowest_bit(open);
          const int alike = __shfl_sync(0xffffffffu, found, number) & kBothAlike;
          const int searched = search_tile(first_q, first_kv, number, alike);
          if (lane_ == number) of_tile = searched;
        }
      }
      const unsigned some = __ballot_sync(0xffffffffu, of_tile != kTileEmpty);
      const unsigned full = __ballot_sync(0xffffffffu, of_tile == kTileFull);
      const unsigned plain = find_plain(of_tile != kTileEmpty, tile);
      if (lane_ < kRows) store(first_q, first_kv, lane_, some, full, plain);
    }
  }

  /// The extrema of a side's summaries over the parts of its tiles from `first_tile` on. A thread asks for all values of
  /// its lines, up to 8, before it uses the first: what takes time is to wait for reads.
  template <bool kOfQuery>
  __device__ __forceinline__ void summarise(int first_tile) {
    using Of = Side<kOfQuery>;
    if constexpr (Of::kSums > 0) {
      constexpr int kMostUnrolled = 16;
      [[maybe_unused]] constexpr int kUnrolled = Of::kSums <= kMostUnrolled ? Of::kSums : 1;
      constexpr int kMostLines = Of::kLines > kMapThreads ? Of::kLines / kMapThreads : 1;  // of a thread
      constexpr int kMostAtOnce = Of::kSums < 8 ? 8 / Of::kSums : 1;
      constexpr int kAtOnce = kMostLines < kMostAtOnce ? kMostLines : kMostAtOnce;
      const int length = kOfQuery ? q_len() : kv_len();
      const int threads = threads_of_cta();
#pragma unroll 1
      for (int first = thread_of_cta(); first < Of::kLines; first += kAtOnce * threads) {
        int values[kAtOnce][Of::kSums];
        bool exists[kAtOnce];
#pragma unroll
        for (int at = 0; at < kAtOnce; ++at) {
          const int line = first + at * threads;
          const int idx = (first_tile + line / Of::kPadded) * Of::kTile + line % Of::kPadded;
          exists[at] = line < Of::kLines && line % Of::kPadded < Of::kTile && idx < length;
#pragma unroll(kUnrolled)
          for (int which = 0; which < Of::kSums; ++which)
            values[at][which] = !exists[at] ? 0
                                : kOfQuery  ? Classes::query_summary(which, p_.call, b_, h_, idx)
                                            : Classes::key_summary(which, p_.call, b_, h_, idx);
        }
#pragma unroll
        for (int at = 0; at < kAtOnce; ++at) {
          const int line = first + at * threads;
          if (line >= Of::kLines) break;  // a whole warp's lines
          unsigned differ = 0;
#pragma unroll(kUnrolled)
          for (int which = 0; which < Of::kSums; ++which)
            differ |= add_to_part<Of::kPart, Of::kPadded>(pairs_of<kOfQuery>(which)[line / Of::kPart],
                                                          tiles_of<kOfQuery>(which)[line / Of::kPadded],
                                                          values[at][which], exists[at]);
          if (lane_ == 0) (kOfQuery ? shared().rows_differ : shared().columns_differ)[line / 32] = differ;
        }
      }
    }
  }

  __device__ __forceinline__ TileBox box_of(int q_tile, int kv_tile) const {
    return {q_tile * kTileQ, min(q_tile * kTileQ + kTileQ, q_len()) - 1, kv_tile * kTileKv,
            min(kv_tile * kTileKv + kTileKv, kv_len()) - 1};
  }

  /// The extrema of a summary over a tile or a part of it: those of summary 0, and how far the next lies.
  struct Pairs {
    const int2 *query, *key;
    int query_step, key_step;

    __device__ __forceinline__ int2 operator()(int which) const {
      const int2 extrema = which < Classes::kNumQuerySummaries
                               ? query[which * query_step]
                               : key[(which - Classes::kNumQuerySummaries) * key_step];
      return {extrema.x, ~extrema.y};
    }
  };

  /// What bounds say of a tile (`part` is -1) or of one of its parts. One copy of the code for both.
  __device__ __noinline__ static int bounds_class(const ForwardParams& p, int b, int h, TileBox box, int row,
                                                  int column, int part) {
    Pairs pairs = {tiles_of<true>(0) + row, tiles_of<false>(0) + column, Queries::kRoom, Keys::kRoom};
    if (part >= 0)
      pairs = {pairs_of<true>(0) + row * TileParts::kRows + part / TileParts::kColumns,
               pairs_of<false>(0) + column * TileParts::kColumns + part % TileParts::kColumns,
               Queries::kParts_, Keys::kParts_};
    return Classes::tile_class(p.call, pairs, b, h, box.q_lo, box.q_hi, box.kv_lo, box.kv_hi);
  }

  /// A warp: of which of its tiles score_mod adds one number to all scores.
  __device__ __forceinline__ unsigned find_plain(bool is_some, const TileBox& tile) const {
    if constexpr (!Classes::kHasScoreClass) return 0;
    return __ballot_sync(0xffffffffu, is_some && Classes::score_is_plain(p_.call, b_, h_, tile.q_lo,
                                                                         tile.q_hi, tile.kv_lo, tile.kv_hi));
  }

  /// A warp: what bounds show of the round's tiles. Those that stay open go on the list.
  __device__ __forceinline__ void bound(int first_q, int first_kv) {
    const int row = lane_ / kColumns;
    const int column = lane_ % kColumns;
    const TileBox tile = box_of(first_q + row, first_kv + column);
    int found = kTileEmpty;
    if (tile.exists()) {
      if constexpr (kNeedsBounds)
        found = bounds_class(p_, b_, h_, tile, row, column, -1);
      else
        found = kTilePartial | kAlike.always;
    }
    const int alike = found & ~kTileClassBits;
    found &= kTileClassBits;
    const unsigned all = 0xffffffffu;
    const bool is_open = found == kTilePartial;
    const unsigned open = __ballot_sync(all, is_open);
    const unsigned some = __ballot_sync(all, found != kTileEmpty && !is_open);
    const unsigned full = __ballot_sync(all, found == kTileFull);
    const unsigned plain = find_plain(found != kTileEmpty, tile);
    Shared& to = shared();
    if (lane_ == 0) {
      to.some = some;
      to.full = full;
      to.plain = plain;
      to.open_count = __popc(open);
    }
    if (!is_open) return;
    const int at = __popc(open & ((1u << lane_) - 1));
    to.open[at] = static_cast<unsigned char>(lane_);
    to.alike[at] = static_cast<unsigned char>(alike);
  }

  /// A warp that asks about a tile, a question a lane.
  struct Asker {
    const ForwardParams& p;
    int b, h, row, column;

    static __device__ __forceinline__ int lane() { return lane_of_warp(); }

    template <class Ask>
    __device__ __forceinline__ unsigned ballot(Ask ask) const {
      return __ballot_sync(0xffffffffu, ask(lane()));
    }
    template <class Do>
    __device__ __forceinline__ void each(Do act) const {
      __syncwarp();  // what is overwritten has been read
      act(lane());
      __syncwarp();
    }

    __device__ __forceinline__ bool differs(bool of_rows, int i) const {
      if constexpr (!kNeedsBounds) return false;
      const unsigned* const bits = of_rows ? shared().rows_differ : shared().columns_differ;
      const int line = of_rows ? row * Queries::kPadded + i : column * Keys::kPadded + i;
      return (of_rows ? Queries::kSums : Keys::kSums) > 0 && (bits[line / 32] >> line % 32 & 1) != 0;
    }
    __device__ __forceinline__ unsigned short* lines(bool of_rows) const {
      return shared().lines[warp_of_cta()] + (of_rows ? 0 : kTileQ);
    }

    template <class At>
    __device__ __forceinline__ Found elements(At at) const {
      const TileElement element = at(lane());
      bool kept = false;
      if (element.exists) kept = Classes::keeps(p.call, b, h, element.q, element.kv);
      return {__ballot_sync(0xffffffffu, kept), __ballot_sync(0xffffffffu, element.exists && !kept)};
    }

    template <class At>
    __device__ __forceinline__ PartClasses parts(At at) const {
      const TileBox box = at(lane());
      int found = -1;
      if constexpr (Classes::kHasBounds)
        if (box.exists())
          found = (kByBlocks ? Blocks::class_of_box(p, b, h, box)
                             : bounds_class(p, b, h, box, row, column, lane())) &
                  kTileClassBits;
      return {__ballot_sync(0xffffffffu, found == kTileEmpty),
              __ballot_sync(0xffffffffu, found == kTilePartial),
              __ballot_sync(0xffffffffu, found == kTileFull)};
    }
  };

  /// A warp: the class of tile `number` of a round, which bounds leave open.
  __device__ __forceinline__ int search_tile(int first_q, int first_kv, int number, int alike) const {
    constexpr TileSearch kSearch = {kParts, kAlike, Classes::kMostSteps, Classes::kHasBounds};
    const int row = number / kColumns;
    const int column = number % kColumns;
    Asker asker{p_, b_, h_, row, column};
    return class_by_parts(asker, kSearch, box_of(first_q + row, first_kv + column), alike);
  }

  /// All warps: the tiles that bounds leave open.
  __device__ __forceinline__ void search(int first_q, int first_kv) const {
#pragma unroll 1
    for (int i = warp_; i < shared().open_count; i += threads_of_cta() / 32) {
      const int number = shared().open[i];
      const int found = search_tile(first_q, first_kv, number, shared().alike[i]);
      if (lane_ != 0 || found == kTileEmpty) continue;
      atomicOr(&shared().some, 1u << number);
      if (found == kTileFull) atomicOr(&shared().full, 1u << number);
    }
  }

  /// A thread: the bits of a q tile, the round's number `row`, a byte or a word of each kind. A tile that the end of the
  /// keys cuts counts as partial: its columns past the end are to be dropped.
  __device__ __forceinline__ void store(int first_q, int first_kv, int row, unsigned some, unsigned full,
                                        unsigned plain) {
    if (first_q + row >= count_tiles(q_len(), kTileQ)) return;
    int* const words = p_.tile_map + map_row(kShape, p_.call, kTileQ, kTileKv, b_, h_, first_q + row) +
                       first_kv / kTilesPerWord * bits_a_tile(kShape);
    const auto put = [&](int kind, unsigned bits) {
      if constexpr (kColumns == kTilesPerWord)
        words[kind] = static_cast<int>(bits);
      else
        reinterpret_cast<unsigned char*>(words + kind)[first_kv % kTilesPerWord / kColumns] =
            static_cast<unsigned char>(bits >> row * kColumns);
    };
    const int whole = kv_len() / kTileKv - first_kv;  // tiles that are not cut
    const unsigned uncut = whole >= kColumns ? ~0u : whole > 0 ? (1u << whole) - 1 : 0;
    put(0, some);
    put(1, full & uncut << row * kColumns);
    if constexpr (kShape.has_plain) put(2, plain & some);
  }

  __device__ __forceinline__ int q_len() const { return Sequence::q_len(p_.call, b_); }
  __device__ __forceinline__ int kv_len() const { return Sequence::kv_len(p_.call, b_); }

  const ForwardParams& p_;
  const int b_ = block_index().z, h_ = block_index().y;
  const int warp_ = warp_of_cta(), lane_ = lane_of_warp();
};

}  // namespace fa
