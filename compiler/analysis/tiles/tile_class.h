// Which tiles of the score matrix matter, proved from the mask itself by abstract interpretation of its LLVM
// IR.
//
// The mask is interpreted over a rectangle of (q_idx, kv_idx) instead of one element, and the interpretation
// is written down as another LLVM function, which goes the way of every hook: printed into kernels, compiled
// for the host.
//
//   i32 @tile_class(i32 %b, i32 %h, i32 %q_lo, i32 %q_hi, i32 %kv_lo, i32 %kv_hi, <uniforms>, <summaries>)
//
// gives 0 (empty: the mask drops every element), 2 (full: it keeps every one) or 1 (partial: not proved
// either way). With a tile map it adds 4 to the last where the tile's rows may be alike (TileMap), 8 where
// its columns may. <uniforms> are those of hook_ir.h; <summaries> is a pair i32 %sJ_lo, %sJ_hi for each
// summary J, those of q_idx first. Bounds are inclusive and lie inside the problem: 0 <= q_lo <= q_hi <
// q_len, 0 <= kv_lo <= kv_hi < kv_len.
//
// A *summary* is a part of the mask that depends on one side only and that intervals see badly (a table read,
// bit tricks): its minimum and maximum over the tile's rows or columns are found by evaluating it once per
// index, O(N).
//
//   i32 or float @summary.J(i32 %b, i32 %h, i32 %idx, <uniforms>)
//
// Its pair has the function's type. Of floats the least and the largest are those of an order with NaNs
// before and after all numbers, so that a pair shows them.
//
// What bounds on a whole tile cannot show, the *tile map* does: a pass before the kernel asks the class of
// ever smaller parts, and the mask itself at single elements (templates/common/tiles/tile_parts.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/hook_ir.h"

namespace fa {

/// How many summaries a side of a mask has at most: the pass that fills a tile map keeps 256 bytes of each in
/// shared memory.
constexpr int kMostSummaries = 48;

struct Summary {
  const llvm::Function* function = nullptr;
  bool of_query = false;  // evaluated at q_idx; else at kv_idx
  bool is_float = false;
};

/// What a mask's tiles are searched with where bounds leave them open.
struct TileMap {
  /// What @tile_class adds to 1.
  static constexpr int kRowsAlike = 4;
  static constexpr int kColumnsAlike = 8;

  bool of_batch = false;  // it differs from batch entry to batch entry
  bool of_head = false;
  // Rows are alike, so that one shows the others, that lie in one block of this many and take the same value
  // of every summary: in any tile, or where the class says so. Likewise columns.
  int row_block = 1;
  int column_block = 1;
  int always_alike = 0;      // in any tile: kRowsAlike and kColumnsAlike
  int by_blocks = 0;         // those whose summaries are the same all over a block
  bool is_relative = false;  // the mask sees q_idx and kv_idx through q_idx - kv_idx alone
  int most_steps = 0;        // looks at 32 elements that a tile is worth
};

struct TileClasses {
  IrModule module;                           // of the functions; null where there are none
  const llvm::Function* function = nullptr;  // null: no mask, or bounds show nothing (it has a loop)
  std::vector<Summary> summaries;
  std::optional<TileMap> map;  // where bounds on whole tiles may not be all there is to see
  /// What keeps bounds from being exact, in the words of the language.
  std::vector<std::string> imprecise;
};

/// Derives the tile class of `hooks.mask_mod`; its functions are verified and simplified.
TileClasses derive_tile_classes(const HookIr& hooks);

}  // namespace fa
