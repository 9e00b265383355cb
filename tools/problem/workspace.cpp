#include "tools/problem/workspace.h"

#include <algorithm>

#include "compiler/program/workspace.h"
#include "compiler/spec/spec.h"

namespace fa::tools {

std::size_t backward_workspace(const Spec& spec, const Program& program, const ProblemSize& size) {
  const CheckedSpec& checked = spec.checked();
  const Environment environment = problem_environment(spec, size, parse_params(spec, {}));
  BackwardParams params{};
  CallParams& call = params.forward.call;
  call.batch = size.batch;
  call.num_q_heads = size.num_q_heads;
  call.num_kv_heads = size.num_kv_heads;
  call.q_len = size.q_len;
  call.kv_len = size.kv_len;
  std::ranges::fill(params.elements, 1);
  for (std::size_t i = 0; i < checked.tensors.size(); ++i)
    for (const ExprPtr& extent : checked.tensors[i].extents)
      params.elements[kMaxParams + i] *= evaluate_scalar(extent, environment);
  return workspace_bytes(program, params);
}

std::size_t forward_workspace(const Program& program, const ProblemSize& size) {
  CallParams call{};
  call.batch = size.batch;
  call.num_q_heads = size.num_q_heads;
  call.num_kv_heads = size.num_kv_heads;
  call.q_len = size.q_len;
  call.kv_len = size.kv_len;
  return workspace_bytes(program, call);
}

}  // namespace fa::tools
