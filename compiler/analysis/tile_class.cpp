// Mask -> summaries (tile_class_summary) -> abstract interpretation (tile_class_transfer) -> @tile_class.
#include "compiler/analysis/tile_class.h"

#include <fmt/format.h>

#include "compiler/analysis/tile_class_transfer.h"
#include "compiler/ir/simplify.h"

namespace fa {
namespace {

llvm::Function* declare_class(llvm::Function& mask, std::size_t summaries) {
  std::vector<std::string> trailing;
  for (std::size_t j = 0; j < summaries; ++j) {
    trailing.push_back(fmt::format("s{}_lo", j));
    trailing.push_back(fmt::format("s{}_hi", j));
  }
  return make_class_function(mask, "tile_class", {"b", "h", "q_lo", "q_hi", "kv_lo", "kv_hi"}, trailing);
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
  Transfer transfer(mask, sides, *classes.function, builder);
  llvm::Value* kept = llvm::cast<llvm::ReturnInst>(mask.getEntryBlock().getTerminator())->getReturnValue();
  llvm::Value* some_kept = transfer.may(kept, true);
  llvm::Value* some_dropped = transfer.may(kept, false);
  builder.CreateRet(builder.CreateSelect(
      some_kept, builder.CreateSelect(some_dropped, builder.getInt32(1), builder.getInt32(2)),
      builder.getInt32(0)));
  simplify(*classes.function);
  classes.imprecise = transfer.imprecise();
  return classes;
}

}  // namespace fa
