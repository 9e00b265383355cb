#include "tools/problem/workspace.h"

#include <algorithm>

#include "compiler/emit/host/baseline/room.h"
#include "compiler/program/workspace.h"
#include "compiler/spec/spec.h"
#include "runtime/host/jit.h"

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

std::size_t baseline_workspace(const Spec& spec, const Compiled& compiled, const Target& target,
                               const ProblemSize& size) {
  if (target.is_host()) {
    const Plan& plan = compiled.choice.plan;
    return room_bytes(
        host_room(host_shape(spec.checked(), plan, host_cpu()), plan.loop_order),
        {.batch = size.batch, .num_q_heads = size.num_q_heads, .q_len = size.q_len, .kv_len = size.kv_len});
  }
  CallParams call{};
  call.batch = size.batch;
  call.num_q_heads = size.num_q_heads;
  call.num_kv_heads = size.num_kv_heads;
  call.q_len = size.q_len;
  call.kv_len = size.kv_len;
  return workspace_bytes(compiled.source->program, call);
}

}  // namespace fa::tools
