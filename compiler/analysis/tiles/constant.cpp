#include "compiler/ir/llvm.h"
// after llvm.h
#include "compiler/analysis/tiles/constant.h"

namespace fa {

std::optional<int> constant_class(const TileClasses& classes) {
  if (classes.function == nullptr) return {};
  const auto* end = llvm::cast<llvm::ReturnInst>(classes.function->getEntryBlock().getTerminator());
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(end->getReturnValue());
  if (constant == nullptr) return {};
  return static_cast<int>(constant->getSExtValue() & 3);
}

}  // namespace fa
