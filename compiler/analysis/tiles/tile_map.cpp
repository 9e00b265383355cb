#include "compiler/ir/llvm.h"
// after llvm.h
#include "compiler/analysis/tiles/tile_map.h"

#include <algorithm>

#include "compiler/analysis/code_size.h"
#include "compiler/analysis/dependence.h"
#include "compiler/analysis/relative.h"

namespace fa {

TileMap describe_tile_map(const llvm::Function& mask, const AlikeLines& rows, const AlikeLines& columns) {
  // In instructions of an SM's warps: a tile of 128 x 64 at head_dim 128 takes some 10,000 of them, in each
  // head. Where heads share the map, one that turns out to be empty saves that of all of them.
  constexpr int kWorthOfHeads = 32768, kWorthOfHead = 4096;
  constexpr int kAround = 20;  // a look costs beside the mask
  constexpr int kFewest = 8;   // looks: 256 elements
  const Dependence dependence(mask);
  const auto* end = llvm::cast<llvm::ReturnInst>(mask.back().getTerminator());
  const DependsOn depends = dependence.of(*end->getReturnValue());
  const bool of_head = depends.has(DependsOn::h);
  return {.of_batch = depends.has(DependsOn::b),
          .of_head = of_head,
          .row_block = rows.block,
          .column_block = columns.block,
          .always_alike =
              (rows.always() ? TileMap::kRowsAlike : 0) | (columns.always() ? TileMap::kColumnsAlike : 0),
          .by_blocks =
              (rows.by_blocks ? TileMap::kRowsAlike : 0) | (columns.by_blocks ? TileMap::kColumnsAlike : 0),
          .is_relative = is_relative(mask),
          .most_steps = std::max(
              kFewest, (of_head ? kWorthOfHead : kWorthOfHeads) / (instructions_run(mask, false) + kAround))};
}

}  // namespace fa
