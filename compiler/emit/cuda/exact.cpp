#include "compiler/ir/llvm.h"
// after llvm.h
#include "compiler/emit/cuda/exact.h"
#include "compiler/emit/cuda/expr.h"
#include "compiler/ir/math/exact_math.h"

namespace fa {

std::string print_exact_functions(const std::vector<IrModule>& modules, DType dtype) {
  std::set<ExactFunction> functions;
  for (const IrModule& module : modules)
    if (module != nullptr) functions.merge(exact_functions_in(*module, dtype == DType::f32));
  llvm::LLVMContext context;
  llvm::Module scratch("exact", context);
  std::string text;
  for (const ExactFunction function : functions)
    text += print_function(*define_exact(scratch, function), name_of(function), {}) + "\n";
  return text;
}

}  // namespace fa
