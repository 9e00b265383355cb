#include "compiler/emit/cuda/backward/derivatives.h"

#include "compiler/ir/llvm.h"
// after llvm.h
#include <fmt/format.h>

#include "compiler/emit/cuda/backward/adjoints.h"

namespace fa {
namespace {

struct Printed {
  std::string functions, members;
};

Printed print_list(std::string_view name, const PrintedAdjoints& adjoints) {
  return {.functions = adjoints.functions,
          .members = adjoints.functions.empty() ? std::string()
                                                : fmt::format("  using {} = {};\n", name, adjoints.list)};
}

}  // namespace

PrintedDerivatives print_derivatives(const CheckedSpec& spec, const HookIr& hooks,
                                     const Derivatives& derivatives, bool deterministic) {
  PartLowering lowering(spec, hooks, "adjoints");
  std::string functions, members;
  for (const Printed& part :
       {print_list("Adjoints", print_adjoints(spec, hooks, derivatives, derivatives.score_mod, "Adjoint",
                                              deterministic, lowering)),
        print_list("SinkAdjoints", print_adjoints(spec, hooks, derivatives, derivatives.sink, "SinkAdjoint",
                                                  deterministic, lowering))}) {
    functions += part.functions;
    members += part.members;
  }
  return {.text = fmt::format("{}struct Derivatives : PlainDerivatives {{\n{}}};\n", functions, members),
          .calls = lowering.module()};
}

}  // namespace fa
