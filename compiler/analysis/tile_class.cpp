// Mask -> summaries (tile_class_summary) -> abstract interpretation (tile_class_transfer) -> @tile_class.
#include "compiler/analysis/tile_class.h"

#include <fmt/format.h>

#include "compiler/analysis/code_size.h"
#include "compiler/analysis/tile_class_transfer.h"
#include "compiler/ir/narrow.h"
#include "compiler/ir/simplify.h"

namespace fa {
namespace {

// Instructions of a class, which every lane of the search holds: beyond them NVRTC takes longer than a kernel itself.
constexpr int kMostCode = 1500;

llvm::Function* declare_class(llvm::Function& mask, std::size_t summaries) {
  std::vector<std::string> trailing;
  for (std::size_t j = 0; j < summaries; ++j) {
    trailing.push_back(fmt::format("s{}_lo", j));
    trailing.push_back(fmt::format("s{}_hi", j));
  }
  return make_class_function(mask, "tile_class", {"b", "h", "q_lo", "q_hi", "kv_lo", "kv_hi"}, trailing);
}

/// Whether lo..hi touches more than two blocks of `size` indices.
llvm::Value* touches_more(llvm::IRBuilder<>& builder, llvm::Value* lo, llvm::Value* hi, int size) {
  const auto block = [&](llvm::Value* index) {
    return builder.CreateUDiv(index, builder.getInt32(static_cast<unsigned>(size)));
  };
  return builder.CreateICmpUGT(builder.CreateSub(block(hi), block(lo)), builder.getInt32(1));
}

llvm::Value* result_of(llvm::Function& mask) {
  return llvm::cast<llvm::ReturnInst>(mask.getEntryBlock().getTerminator())->getReturnValue();
}

AbstractBool of_tile(llvm::Function& mask, const MaskSides& sides, llvm::IRBuilder<>& builder,
                     TileClasses& classes) {
  Transfer transfer(mask, sides, *classes.function, builder);
  const AbstractBool kept{transfer.may(result_of(mask), true), transfer.may(result_of(mask), false)};
  classes.imprecise = transfer.imprecise();
  return kept;
}

/// One row of a tile. Where its columns touch at most two blocks, two elements show all of them.
AbstractBool of_row(llvm::Function& mask, const MaskSides& sides, llvm::IRBuilder<>& builder,
                    TileClasses& classes, llvm::Value* row) {
  Transfer transfer(mask, sides, *classes.function, builder, row);
  AbstractBool kept{transfer.may(result_of(mask), true), transfer.may(result_of(mask), false)};
  classes.imprecise = transfer.imprecise();
  if (sides.columns_a_block() == 1) return kept;
  llvm::Value* const more = touches_more(builder, classes.function->getArg(4), classes.function->getArg(5),
                                         sides.columns_a_block());
  const AbstractBool ends = transfer.at_ends(result_of(mask));
  return {builder.CreateSelect(more, kept.may_be_true, ends.may_be_true),
          builder.CreateSelect(more, kept.may_be_false, ends.may_be_false)};
}

/// A tile whose rows touch at most two blocks is as its first and its last row are; of others nothing is
/// known. A loop over the two: written out, it would be twice the code to compile.
AbstractBool of_blocks(llvm::Function& mask, const MaskSides& sides, llvm::IRBuilder<>& builder,
                       TileClasses& classes) {
  llvm::Value* const q_lo = classes.function->getArg(2);
  llvm::Value* const q_hi = classes.function->getArg(3);
  llvm::BasicBlock* const entry = builder.GetInsertBlock();
  auto* const loop = llvm::BasicBlock::Create(builder.getContext(), "ends", classes.function);
  auto* const done = llvm::BasicBlock::Create(builder.getContext(), "both", classes.function);
  builder.CreateBr(loop);
  builder.SetInsertPoint(loop);
  const auto carried = [&](llvm::Value* start, const char* name) {
    llvm::PHINode* const phi = builder.CreatePHI(start->getType(), 2, name);
    phi->addIncoming(start, entry);
    return phi;
  };
  const auto goes_on = [&](llvm::PHINode* phi, llvm::Value* next) {
    phi->addIncoming(next, loop);
    return next;
  };
  llvm::PHINode* const end = carried(builder.getInt32(0), "end");
  llvm::PHINode* const may_be_true = carried(builder.getFalse(), "may_be_true");
  llvm::PHINode* const may_be_false = carried(builder.getFalse(), "may_be_false");
  llvm::Value* const row =
      builder.CreateSelect(builder.CreateICmpEQ(end, builder.getInt32(0)), q_lo, q_hi, "row");
  const AbstractBool kept = of_row(mask, sides, builder, classes, row);
  const AbstractBool either{goes_on(may_be_true, builder.CreateOr(may_be_true, kept.may_be_true)),
                            goes_on(may_be_false, builder.CreateOr(may_be_false, kept.may_be_false))};
  llvm::Value* const next = goes_on(end, builder.CreateNSWAdd(end, builder.getInt32(1)));
  builder.CreateCondBr(builder.CreateICmpSLT(next, builder.getInt32(2)), loop, done);
  builder.SetInsertPoint(done);
  llvm::Value* const more = touches_more(builder, q_lo, q_hi, sides.rows_a_block());
  return {builder.CreateOr(more, either.may_be_true), builder.CreateOr(more, either.may_be_false)};
}

}  // namespace

TileClasses derive_tile_classes(HookIr& hooks) {
  TileClasses classes;
  if (hooks.mask_mod == nullptr) return classes;
  llvm::Function& mask = *hooks.mask_mod;
  if (mask.size() != 1) {
    classes.imprecise.push_back("the mask has a loop: every tile is partial");
    return classes;
  }
  const MaskSides sides(mask);
  classes.summaries = sides.summaries();
  classes.function = declare_class(mask, classes.summaries.size());
  llvm::IRBuilder<> builder(&classes.function->getEntryBlock());
  const AbstractBool kept = sides.rows_a_block() > 0 ? of_blocks(mask, sides, builder, classes)
                                                     : of_tile(mask, sides, builder, classes);
  llvm::Value* const of_kept =
      builder.CreateSelect(kept.may_be_false, builder.getInt32(1), builder.getInt32(2));
  builder.CreateRet(builder.CreateSelect(kept.may_be_true, of_kept, builder.getInt32(0)));
  simplify(*classes.function);
  narrow_integers(*classes.function);
  simplify(*classes.function);
  if (code_size(*classes.function, false) > kMostCode) {
    classes.function->eraseFromParent();
    for (const Summary& summary : classes.summaries) summary.function->eraseFromParent();
    classes = {};
    classes.imprecise.push_back("the mask is so long that no class is derived: every tile is partial");
  }
  return classes;
}

}  // namespace fa
