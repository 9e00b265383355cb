// Runs the pass list of simplify.h with only the analyses it asks for: a whole PassBuilder would cost more
// than the passes.
#include "compiler/ir/llvm.h"
#include "compiler/ir/llvm/flow.h"
#include "compiler/ir/llvm/passes.h"
// after llvm.h
#include "compiler/ir/invariants.h"
#include "compiler/ir/simplify.h"
#include "fa/error.h"

namespace fa {

void verify(const llvm::Function& function, const char* pass) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (!llvm::verifyFunction(function, &stream)) return;
  stream << "\n";
  function.print(stream);
  throw InternalError(std::string("invalid IR after ") + pass + ": " + text);
}

void simplify(llvm::Function& function) {
  hoist_invariants(function);
  simplify_in_place(function);
}

void simplify_in_place(llvm::Function& function) {
  llvm::FunctionAnalysisManager analyses;
  analyses.registerPass([] { return llvm::PassInstrumentationAnalysis(); });
  analyses.registerPass([] { return llvm::TargetLibraryAnalysis(); });
  analyses.registerPass([] { return llvm::TargetIRAnalysis(); });
  analyses.registerPass([] { return llvm::AssumptionAnalysis(); });
  analyses.registerPass([] { return llvm::DominatorTreeAnalysis(); });
  llvm::EarlyCSEPass().run(function, analyses);
  llvm::DCEPass().run(function, analyses);
  verify(function, "simplify");
}

}  // namespace fa
