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
// either way). <uniforms> are those of hook_ir.h; <summaries> is a pair i32 %sJ_lo, %sJ_hi for each summary
// J. Bounds are inclusive and lie inside the problem: 0 <= q_lo <= q_hi < q_len, 0 <= kv_lo <= kv_hi <
// kv_len.
//
// A *summary* is a part of the mask that depends on one side only and that intervals see badly (a table read,
// bit tricks): its minimum and maximum over the tile's rows or columns are found by evaluating it once per
// index, O(N).
//
//   i32 @summary.J(i32 %b, i32 %h, i32 %idx, <uniforms>)
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/hook_ir.h"

namespace fa {

struct Summary {
  llvm::Function* function = nullptr;
  bool of_query = false;  // evaluated at q_idx; else at kv_idx
  bool depends_on_b = false;
  bool depends_on_h = false;
};

struct TileClasses {
  llvm::Function* function = nullptr;  // null: no mask, or nothing can be seen (every tile is partial)
  std::vector<Summary> summaries;
  llvm::Function* score = nullptr;  // @score_class (score_class.h), or null
  /// What keeps the class from being exact, one line each, for `explain`.
  std::vector<std::string> imprecise;
};

/// Derives the tile class of `hooks.mask_mod` and adds its functions to `hooks.module`, verified and
/// simplified.
TileClasses derive_tile_classes(HookIr& hooks);

}  // namespace fa
