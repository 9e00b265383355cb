// Hooks that choose by a condition of the head (templates/common/score/head_case.cuh).
#include <fmt/format.h>

#include "compiler/emit/cuda/expr.h"
#include "compiler/emit/cuda/hooks.h"
#include "compiler/emit/cuda/unit/unit.h"

namespace fa {

std::string print_cases(const CheckedSpec& spec, const HookIr& hooks, const HookCases& cases,
                        const ScoreDerivative* derivative) {
  std::string text;
  for (const auto& [name, of] :
       {std::pair{"head_case_holds", &cases.holds}, {"head_case_fails", &cases.fails}})
    text += fmt::format("namespace {} {{\n\n{}}}  // namespace {}\n\n", name,
                        print_hooks(spec, of->hooks, of->facts, {}, false, derivative).text, name);
  const PrintedSink sink = print_sink(hooks.sink, hooks.args, spec.dtype);
  text += print_function(*cases.condition.function, "head_case_of", {}) + sink.functions;
  text += fmt::format(R"(
struct Hooks : HooksByHead<head_case_holds::Hooks, head_case_fails::Hooks> {{
  static __device__ __forceinline__ bool head_case(const CallParams& p, int b, int h) {{
    return head_case_of(0.0f, b, h, 0, 0{});
  }}

  template <class H, class R, class C>
  static __device__ __forceinline__ float logit(float s, const CallParams& p, const H& head, const R& row, const C& column) {{
    return head_case(p, head.b, head.h)
               ? ElementOfCase<Holds>::logit(s, p, head.b, head.h, row.q_idx, column.kv_idx)
               : ElementOfCase<Fails>::logit(s, p, head.b, head.h, row.q_idx, column.kv_idx);
  }}

  template <class H, class R, class C>
  static __device__ __forceinline__ float d_score(float s, const CallParams& p, const H& head, const R& row, const C& column) {{
    return head_case(p, head.b, head.h)
               ? ElementOfCase<Holds>::d_score(s, p, head.b, head.h, row.q_idx, column.kv_idx)
               : ElementOfCase<Fails>::d_score(s, p, head.b, head.h, row.q_idx, column.kv_idx);
  }}

  template <class H, class R, class C>
  static __device__ __forceinline__ bool mask(const CallParams& p, const H& head, const R& row, const C& column) {{
    return head_case(p, head.b, head.h)
               ? ElementOfCase<Holds>::mask(p, head.b, head.h, row.q_idx, column.kv_idx)
               : ElementOfCase<Fails>::mask(p, head.b, head.h, row.q_idx, column.kv_idx);
  }}

  template <class H>
  static __device__ __forceinline__ float row_addend(const CallParams& p, const H& head, int q_idx) {{
    return head_case(p, head.b, head.h) ? ElementOfCase<Holds>::row_addend(p, head.b, head.h, q_idx)
                                        : ElementOfCase<Fails>::row_addend(p, head.b, head.h, q_idx);
  }}
{}}};
)",
                      print_uniforms(hooks.args, "b"), sink.members);
  return text;
}

}  // namespace fa
