#include "compiler/ir/llvm.h"
// after llvm.h
#include "compiler/analysis/tile_map.h"

#include <algorithm>

#include "compiler/analysis/dependence.h"
#include "compiler/analysis/region.h"
#include "compiler/analysis/relative.h"

namespace fa {
namespace {

/// Roughly the instructions of a GPU for one element.
long long work(const llvm::Function& mask) {
  long long sum = 0;
  for_each_instruction(region_of(mask), [&](const llvm::Instruction& instruction, long long times) {
    long long each = 1;
    if (llvm::isa<llvm::LoadInst>(instruction)) each = 4;
    if (instruction.isIntDivRem() && !llvm::isa<llvm::Constant>(instruction.getOperand(1))) each = 20;
    if (llvm::isa<llvm::CallInst>(instruction) && !llvm::isa<llvm::MinMaxIntrinsic>(instruction)) each = 10;
    sum += times * each;
  });
  return std::max(sum, 1LL);
}

}  // namespace

TileMap describe_tile_map(const llvm::Function& mask, const std::vector<HookArg>& args,
                          const AlikeLines& rows, const AlikeLines& columns) {
  // In instructions of an SM's warps: a tile of 128 x 64 at head_dim 128 takes some 10,000 of them, in each head. Where
  // heads share the map, one that turns out to be empty saves that of all of them.
  constexpr long long kWorthOfHeads = 32768, kWorthOfHead = 4096;
  constexpr long long kAround = 20;  // a look costs beside the mask
  constexpr long long kFewest = 8;   // looks: 256 elements
  Dependence dependence(mask, args);
  const auto* end = llvm::cast<llvm::ReturnInst>(mask.back().getTerminator());
  const DependsOn depends = dependence.of(*end->getReturnValue());
  const bool of_head = depends.has(DependsOn::h);
  return {.of_batch = depends.has(DependsOn::b),
          .of_head = of_head,
          .row_block = rows.block,
          .column_block = columns.block,
          .always_alike =
              (rows.always() ? TileMap::kRowsAlike : 0) | (columns.always() ? TileMap::kColumnsAlike : 0),
          .is_relative = is_relative(mask),
          .most_steps = static_cast<int>(
              std::max(kFewest, (of_head ? kWorthOfHead : kWorthOfHeads) / (work(mask) + kAround)))};
}

}  // namespace fa
