// A spec's sink as CUDA C++: a function of the head, in base 2 as all logits.
#include "compiler/ir/llvm.h"
// after llvm.h
#include <fmt/format.h>

#include "compiler/emit/cuda/expr.h"
#include "compiler/emit/cuda/hooks.h"

namespace fa {

PrintedSink print_sink(const llvm::Function* sink, const HookSignature& args, DType dtype) {
  if (sink == nullptr) return {};
  return {.functions = print_function(*sink, "sink_of", {.fast_math = dtype != DType::f32}) + "\n",
          .members = fmt::format(R"(
  static constexpr bool kHasSink = true;

  static __device__ __forceinline__ float sink(const CallParams& p, int b, int h) {{
    return 1.44269504f * sink_of(0.0f, b, h, 0, 0{});
  }}
)",
                                 print_uniforms(args, "b"))};
}

}  // namespace fa
