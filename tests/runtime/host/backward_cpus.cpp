// The backward pass as code for CPUs with fewer features than this one, which can run it, too: narrower
// vectors, fewer registers, no FMA, no gathers, no half-precision instructions.
#include "compiler/compile.h"
#include "runtime/call/kernel_state.h"
#include "runtime/host/backward.h"
#include "runtime/host/run.h"
#include "tests/catch.h"
#include "tests/numeric/backward/cases.h"
#include "tests/skip.h"

using namespace fa;

namespace {

struct NarrowCpu {
  const char* name;
  const char* features;
  const char* needs;  // this machine's feature without which the code cannot run here
};

constexpr NarrowCpu kNarrowCpus[] = {
    {"x86-64", "", ""},
    {"nehalem", "+sse4.2", "+sse4.2"},
    {"haswell", "+avx,+avx2,+fma,+f16c,+bmi,+bmi2", "+avx2"},
    {"skylake-avx512", "+avx,+avx2,+fma,+f16c,+avx512f,+avx512bw,+avx512dq,+avx512vl", "+avx512vl"},
};

Kernel kernel_for(const HostCpu& cpu, const Spec& spec) {
  Target target = host_target();
  target.cpu = &cpu;
  const Compiled compiled = compile_front_end(spec.checked(), target, {}, Passes::forward_and_backward);
  const auto forward = load_host(host_object(emit_for_host(spec.checked(), compiled, target)));
  const auto backward =
      load_host_backward(host_object(emit_backward_for_host(spec.checked(), compiled, target)));
  LoadedKernel loaded{
      .spec = spec,
      .device = Device::host,
      .target = "host",
      .plan = compiled.choice.plan.print(),
      .cuda = nullptr,
      .host = {.run = [forward](const ForwardParams& params, void*) { run_host(*forward, params); }}};
  loaded.backward.workspace_bytes = [backward](const BackwardCall& call) {
    return HostBackwardLayout(*backward, call).workspace_bytes();
  };
  loaded.backward.run = [backward](const BackwardCall& call, void* workspace, Stream) {
    run_host_backward(*backward, call, workspace);
  };
  return Kernel(std::make_shared<const KernelState>(
      KernelState{.loaded = std::make_shared<const LoadedKernel>(std::move(loaded)), .times = {}}));
}

}  // namespace

TEST_CASE("host kernel: the backward pass as code for other x86 CPUs", "[backward]") {
  if (!host_cpu().triple.starts_with("x86_64")) {
    tests::skip("this is no x86-64 machine");
    return;
  }
  const std::string items =
      "param cap : f32 = 9.0 grad\ntensor bias : f32[num_q_heads, 41] grad\n"
      "tensor pair : f16[batch, num_q_heads, q_len, kv_len] grad\ntensor rows : f32[q_len, 3] grad\n"
      "tensor columns : f32[kv_len, 3] grad\n"
      "score_mod = cap * tanh(score / cap) + bias[h, clamp(q_idx - kv_idx, -20, 20) + 20] + "
      "pair[b, h, q_idx, kv_idx] + sum(r < 3: rows[q_idx, r] * columns[kv_idx, r])\n"
      "mask_mod = q_idx / 3 >= kv_idx / (q_idx % 5 + 1)\ndropout 0.25\n";
  for (const NarrowCpu& kind : kNarrowCpus) {
    if (host_cpu().features.find(kind.needs) == std::string::npos) {
      tests::skip(std::string("code for ") + kind.name + ": this CPU lacks " + kind.needs);
      continue;
    }
    const HostCpu cpu = host_cpu_with(kind.name, kind.features);
    for (const char* dtype : {"f32", "f16", "bf16"}) {
      INFO(kind.name << " " << dtype);
      const Spec spec =
          Spec::parse(std::string("attention t\nhead_dim 48\nhead_dim_v 40\ndtype ") + dtype + "\n" + items);
      tools::ProblemInputs inputs;
      inputs.size = {.batch = 2, .num_q_heads = 4, .num_kv_heads = 2, .q_len = 61, .kv_len = 130};
      inputs.dropout_seed = 9;
      CHECK(tools::backward_failure(kernel_for(cpu, spec), tools::make_problem(spec, inputs)) == "");
    }
  }
}
