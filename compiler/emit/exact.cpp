#include "compiler/ir/llvm.h"
// after llvm.h
#include "compiler/emit/exact.h"
#include "compiler/emit/expr.h"
#include "compiler/ir/exact_math.h"

namespace fa {

std::string print_exact_functions(const llvm::Module& module, DType dtype) {
  llvm::Module scratch("exact", module.getContext());
  std::string text;
  for (const ExactFunction function : exact_functions_in(module, dtype == DType::f32))
    text += print_function(*define_exact(scratch, function), name_of(function), {}) + "\n";
  return text;
}

}  // namespace fa
