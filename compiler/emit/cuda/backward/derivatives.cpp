#include "compiler/emit/cuda/backward/derivatives.h"

#include "compiler/ir/llvm.h"
// after llvm.h
#include <fmt/format.h>

#include "compiler/analysis/code_size.h"
#include "compiler/emit/cuda/backward/adjoints.h"
#include "compiler/emit/cuda/expr.h"
#include "compiler/emit/cuda/hooks.h"

namespace fa {
namespace {

struct Printed {
  std::string functions, members;
};

/// d score_mod / d score, unless that is 1.
Printed print_score(const CheckedSpec& spec, const HookIr& hooks, const Derived& score) {
  if (score.number() == 1.0) return {};
  const bool fast = spec.dtype != DType::f32;
  const bool is_number = score.function == nullptr;
  return {.functions = is_number ? std::string()
                                 : print_function(*score.function, "d_score_of",
                                                  {.fast_math = fast, .fast_division = true}) +
                                       "\n",
          .members = fmt::format(
              R"(  static constexpr bool kHasScore = true;
  static constexpr int kScoreSize = {};

  static __device__ __forceinline__ float d_score(float score, const CallParams& p, int b, int h, int q_idx,
                                                  int kv_idx) {{
    return {};
  }}
)",
              is_number ? 0 : code_size(*score.function, fast),
              is_number ? fmt::format("static_cast<float>({})", *score.number())
                        : fmt::format("d_score_of(score, b, h, q_idx, kv_idx{})",
                                      print_uniforms(hooks.args, "b")))};
}

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
       {print_score(spec, hooks, derivatives.score_mod.score),
        print_list("Adjoints", print_adjoints(spec, hooks, derivatives, derivatives.score_mod, "Adjoint",
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
