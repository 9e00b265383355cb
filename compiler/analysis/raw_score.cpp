#include "compiler/analysis/raw_score.h"

#include "compiler/ir/llvm.h"
// after llvm.h
#include "compiler/analysis/affine.h"
#include "compiler/analysis/dependence.h"
#include "compiler/ir/module.h"
#include "compiler/ir/signature.h"
#include "compiler/ir/simplify.h"

namespace fa {

llvm::Function* of_raw_score(const llvm::Function& function, llvm::Module& module, const char* name) {
  llvm::Function* copy = copy_function(function, module, name);
  Dependence dependence(*copy);
  multiply_by_reciprocals(*copy, dependence);
  llvm::Value* score = hook_argument(*copy, HookArgKind::score);
  score->setName("s");
  scale_uses(*copy, score, hook_argument(*copy, HookArgKind::scale), dependence);
  simplify(*copy);
  return copy;
}

}  // namespace fa
