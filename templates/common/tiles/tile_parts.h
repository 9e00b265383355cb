// The class of a tile to the last element, where bounds on the whole tile leave it open.
//
// Rows that the mask sees alike are looked at once, and columns: where ids come in runs and blocks, few
// elements show the tile. Else 32 elements are tried, as most partial tiles show an element of either kind in
// them; then the bounds are asked of 32 parts of the tile, and the mask of every element of those that are
// open still.
//
// Host and device share this. It asks 32 questions at a time, by an `Asker`, which on the device is a warp
// with a question a lane:
//
//   unsigned ballot(f);         // f(lane) -> bool
//   void each(f);               // f(lane); what all of them write is seen by all
//   Found elements(at);         // at(lane) -> TileElement: which of them the mask keeps, and which it drops
//   PartClasses parts(at);      // at(lane) -> TileBox: what bounds show of those that are not empty
//   bool differs(of_rows, i);   // whether a summary's value in row (column) i of the tile is not that in
//                               // i - 1
//   unsigned short* lines(of_rows);  // room for as many as the tile has rows (columns)
#pragma once

#include "common/tiles/tile_map.h"

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define FA_ASKING __device__ __forceinline__  // what asks a warp is no code for the host
#define FA_ROLLED _Pragma("unroll 1")         // there to be compiled fast
#else
#define FA_ASKING inline
#define FA_ROLLED
#endif

namespace fa {

/// The number of the lowest bit set; there is one.
FA_ASKING int lowest_bit(unsigned bits) {
#if defined(__CUDA_ARCH__)
  return __ffs(static_cast<int>(bits)) - 1;
#else
  return __builtin_ctz(bits);
#endif
}

FA_ASKING int count_bits(unsigned bits) {
#if defined(__CUDA_ARCH__)
  return __popc(bits);
#else
  return __builtin_popcount(bits);
#endif
}

/// Rows q_lo..q_hi and columns kv_lo..kv_hi, inclusive.
struct TileBox {
  int q_lo, q_hi, kv_lo, kv_hi;

  FA_HOST_DEVICE bool exists() const { return q_lo <= q_hi && kv_lo <= kv_hi; }
  FA_HOST_DEVICE int rows() const { return q_hi - q_lo + 1; }
  FA_HOST_DEVICE int columns() const { return kv_hi - kv_lo + 1; }
};

struct TileElement {
  int q, kv;
  bool exists;
};

struct Found {
  unsigned kept, dropped;
};

struct PartClasses {
  unsigned empty, partial, full;
};

/// Which elements of a mask are alike, so that one of them shows the others (compiler/analysis/tiles/alike.h).
struct Alike {
  int row_block;  // rows that may be alike lie in one block
  int column_block;
  bool relative;      // all elements of a diagonal are alike
  int always;         // kRowsAlike and kColumnsAlike, where no class has to say so
  int by_blocks = 0;  // the same, where summaries take one value in all of a block
};

/// What a class adds to kTilePartial: rows (columns) of one block are alike where summaries take the same
/// values.
enum { kTileClassBits = 3, kRowsAlike = 4, kColumnsAlike = 8, kBothAlike = kRowsAlike | kColumnsAlike };

/// How tiles are cut: 8 x 4 parts, each as large as a power of two, so that the lanes of a warp share them
/// evenly.
struct TileParts {
  static constexpr int kRows = 8;
  static constexpr int kColumns = 4;
  int rows, columns;  // of a part

  static FA_HOST_DEVICE constexpr int part(int tile, int parts) {
    int size = 1;
    while (size * parts < tile) size *= 2;
    return size;
  }
  static FA_HOST_DEVICE constexpr TileParts of(int tile_q, int tile_kv) {
    return {part(tile_q, kRows), part(tile_kv, kColumns)};
  }

  FA_HOST_DEVICE TileBox box(const TileBox& tile, int number) const {
    const int q_lo = tile.q_lo + number / kColumns * rows;
    const int kv_lo = tile.kv_lo + number % kColumns * columns;
    const int q_hi = q_lo + rows - 1;
    const int kv_hi = kv_lo + columns - 1;
    return {q_lo, q_hi < tile.q_hi ? q_hi : tile.q_hi, kv_lo, kv_hi < tile.kv_hi ? kv_hi : tile.kv_hi};
  }

  /// One element of a part, at another place in each.
  FA_HOST_DEVICE TileElement sample(const TileBox& tile, int number) const {
    const TileBox part = box(tile, number);
    const int q = part.q_lo + (number * 5 + 3) % rows;
    const int kv = part.kv_lo + (number * 11 + 6) % columns;
    return {q < part.q_hi ? q : part.q_hi, kv < part.kv_hi ? kv : part.kv_hi, part.exists()};
  }

  /// Element `i` of a part, of rows * columns.
  FA_HOST_DEVICE TileElement element(const TileBox& part, int i) const {
    const int q = part.q_lo + i / columns;
    const int kv = part.kv_lo + i % columns;
    return {q, kv, q <= part.q_hi && kv <= part.kv_hi};
  }
};

/// What there is to know of a mask before its tiles are looked at.
struct TileSearch {
  TileParts parts;
  Alike alike;
  int most_steps;   // looks at 32 elements that a tile is worth; it counts as partial after them
  bool has_bounds;  // parts() knows more than elements() would
};

/// Finds the lines of a tile, rows or columns, that show the others, and lists them: `count` of them from
/// `first` on, alike within blocks where `alike` is set. Returns how many there are.
template <class Asker>
FA_ASKING int find_shown(Asker& ask, bool of_rows, int first, int count, int block, bool alike) {
  unsigned short* const lines = ask.lines(of_rows);
  int shown = 0;
  FA_ROLLED
  for (int begin = 0; begin < count; begin += 32) {
    const unsigned bits = ask.ballot([&](int lane) {
      const int i = begin + lane;
      return i < count && (!alike || i == 0 || (first + i) % block == 0 || ask.differs(of_rows, i));
    });
    ask.each([&](int lane) {
      const int before = count_bits(bits & ((1u << lane) - 1));
      if ((bits >> lane & 1) != 0) lines[shown + before] = static_cast<unsigned short>(begin + lane);
    });
    shown += count_bits(bits);
  }
  return shown;
}

/// The class of a tile that exists and that bounds leave open. `alike`: kRowsAlike and kColumnsAlike.
template <class Asker>
FA_ASKING int class_by_parts(Asker& ask, const TileSearch& search, const TileBox& tile, int alike) {
  constexpr int kFew = 8 * 32;  // elements that are asked one by one at once: cheaper than bounds on parts
  constexpr int kDiagonals = -3, kShown = -2, kSample = -1;
  int rows = tile.rows(), columns = tile.columns();  // those that show the tile
  if (alike != 0 || !search.has_bounds) {
    rows = find_shown(ask, true, tile.q_lo, rows, search.alike.row_block, (alike & kRowsAlike) != 0);
    columns =
        find_shown(ask, false, tile.kv_lo, columns, search.alike.column_block, (alike & kColumnsAlike) != 0);
  }
  int steps = search.most_steps;
  unsigned open = 0;  // parts, a bit each
  bool keeps = false, drops = false;
  const bool is_shown = (alike != 0 && rows * columns <= kFew) || !search.has_bounds;
  int box = search.alike.relative ? kDiagonals : is_shown ? kShown : kSample;
  while (true) {
    const TileBox part = search.parts.box(tile, box < 0 ? 0 : box);
    const int count = box == kDiagonals ? tile.rows() + tile.columns() - 1
                      : box == kShown   ? rows * columns
                      : box == kSample  ? 32
                                        : search.parts.rows * search.parts.columns;
    FA_ROLLED
    for (int first = 0; first < count; first += 32) {
      if (--steps < 0) return kTilePartial;
      const Found found = ask.elements([&](int lane) {
        const int i = first + lane;
        if (box == kDiagonals) {  // along the first row, from its last column on, then down the first column
          const int from_corner = i - (tile.columns() - 1);
          return TileElement{tile.q_lo + (from_corner > 0 ? from_corner : 0),
                             tile.kv_lo + (from_corner < 0 ? -from_corner : 0), i < count};
        }
        if (box == kShown && i < count)
          return TileElement{tile.q_lo + ask.lines(true)[i / columns],
                             tile.kv_lo + ask.lines(false)[i % columns], i < count};
        return box == kSample ? search.parts.sample(tile, lane) : search.parts.element(part, i);
      });
      keeps |= found.kept != 0;
      drops |= found.dropped != 0;
      if (keeps && drops) return kTilePartial;
    }
    if (box == kDiagonals || box == kShown) break;
    if (box == kSample) {
      const PartClasses classes = ask.parts([&](int lane) { return search.parts.box(tile, lane); });
      keeps |= classes.full != 0;
      drops |= classes.empty != 0;
      if (keeps && drops) return kTilePartial;
      open = classes.partial;
    } else {
      open &= open - 1;
    }
    if (open == 0) break;
    box = lowest_bit(open);
  }
  return keeps ? kTileFull : kTileEmpty;
}

}  // namespace fa
