#include "tests/emulated_gpu/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "compiler/compile.h"
#include "compiler/program/grid.h"
#include "compiler/program/workspace.h"
#include "fa/error.h"
#include "runtime/call/kernel_state.h"
#include "tests/emulated_gpu/launch.h"
#include "tests/emulated_gpu/library.h"
#include "tests/skip.h"

namespace fa::test {
namespace {

/// One pass, with arguments of that type.
template <class Params>
void run_pass(const Library& library, const Pass& pass, const Blocks& blocks, Params params, Order order) {
  struct Call {
    void (*entry)(Params);
    const Params* params;
  } call = {library.find<void(Params)>(pass.entry), &params};
  const auto of = [](int count) { return static_cast<unsigned>(count); };
  const bool reversed = order == Order::last_to_first;
  const emulated::Launch launch = {.blocks = {of(blocks.x), of(blocks.y), of(blocks.z)},
                                   .threads = of(pass.threads),
                                   .shared_memory = of(pass.shared_memory),
                                   .last_first = reversed,
                                   .copies_at_once = reversed};
  const char* const error = library.find<emulated::Run>("facet_emulate")(
      launch,
      [](void* context) {
        const auto& [entry, arguments] = *static_cast<Call*>(context);
        entry(*arguments);
      },
      &call);
  if (error != nullptr) throw DeviceError(fmt::format("{}: {}", pass.entry, error), 0);
}

/// As runtime/cuda/launch does; heads take turns where that is possible, so that it is tried: two, or four of any batch entries
/// in one of the orders.
int head_shift(const Pass& pass, int heads, Order order) {
  if (order == Order::first_to_last && turns_cross_entries(pass.grid)) return 2;
  return heads % 2 == 0 ? 1 : 0;
}

void run_forward(const Library& library, const Program& program, ForwardParams params, Order order) {
  std::vector<std::max_align_t> workspace(workspace_bytes(program, params.call) / sizeof(std::max_align_t) +
                                          1);
  if (is_baseline(program)) {
    params.head_shift = params.call.num_q_heads % 2 == 0 ? 1 : 0;
    BaselineParams baseline{};
    baseline.forward = params;
    place_workspace(program, workspace.data(), baseline);
    for (const Pass& pass : program) run_pass(library, pass, blocks_of(pass, params), baseline, order);
    return;
  }
  place_workspace(program, workspace.data(), params);
  for (const Pass& pass : program) {
    params.head_shift = head_shift(pass, params.call.num_q_heads, order);
    params.entry_shift = entry_shift_of(params.call.num_q_heads);
    run_pass(library, pass, blocks_of(pass, params), params, order);
  }
}

using SharedLibrary = std::shared_ptr<const Library>;

BackwardPass emulated_backward(const SharedLibrary& library, const Program& program, Order order) {
  return {.workspace_bytes =
              [program](const BackwardCall& call) { return workspace_bytes(program, call.params); },
          .run =
              [library, program, order](const BackwardCall& call, void* workspace, Stream) {
                BackwardParams params = call.params;
                std::ranges::copy(call.gradients, params.gradients);
                for (std::size_t i = 0; i < call.gradients.size(); ++i)
                  std::fill_n(call.gradients[i], call.params.elements[i], 0.0F);
                place_workspace(program, workspace, 0, params);
                for (int i = 0; i < kMaxGradients; ++i)
                  if (params.exact_sums[i] != nullptr)
                    std::fill_n(params.exact_sums[i], params.elements[i], ExactSum{});
                for (std::size_t number = 0; number < program.size(); ++number) {
                  place_workspace(program, workspace, number, params);
                  // Passes that wait for heads in one of the orders, for whole passes in the other.
                  if (order == Order::last_to_first)
                    params.head_counts = nullptr;
                  else if (number == 0)
                    std::fill_n(params.head_counts, head_counts_size(params.forward.call), 0U);
                  const CallParams& sizes = params.forward.call;
                  const bool of_kv = is_of_keys(program[number].grid);
                  const int heads = of_kv ? sizes.num_kv_heads : sizes.num_q_heads;
                  params.forward.head_shift = head_shift(program[number], heads, order);
                  params.forward.entry_shift = entry_shift_of(heads);
                  run_pass(*library, program[number], blocks_of(program[number], params.forward), params,
                           order);
                }
              }};
}

std::shared_ptr<LoadedKernel> load(const Spec& spec, const Source& source, const SharedLibrary& library,
                                   Order order) {
  auto loaded = std::make_shared<LoadedKernel>(LoadedKernel{
      .spec = spec, .device = Device::host, .target = source.arch, .plan = {}, .cuda = nullptr, .host = {}});
  loaded->host.run = [library, program = source.program, order](const ForwardParams& params, void*) {
    run_forward(*library, program, params, order);
  };
  return loaded;
}

Kernel kernel_of(std::shared_ptr<const LoadedKernel> loaded) {
  return Kernel(std::make_shared<const KernelState>(KernelState{.loaded = std::move(loaded), .times = {}}));
}

}  // namespace

Kernel emulated_kernel(const Spec& spec, const Source& source, Order order) {
  return kernel_of(load(spec, source, std::make_shared<const Library>(source), order));
}

Kernel emulated_kernel(const Spec& spec, const std::string& target, const std::string& plan, Order order) {
  return emulated_kernel(spec, *compile_front_end(spec.checked(), find_target(target), plan).source, order);
}

std::array<Kernel, 2> emulated_kernels_with_backward(const Spec& spec, const std::string& target,
                                                     const std::function<void(BackwardPlan&)>& change,
                                                     bool deterministic) {
  const CheckedSpec& checked = spec.checked();
  const Target& gpu = find_target(target);
  // Hopper's own forward kernels are not emulated.
  const std::string forward_plan = gpu.families.front() == Family::sm90 ? "sm80" : "";
  const Compiled compiled = compile_front_end(checked, gpu, forward_plan, Passes::forward_and_backward);
  BackwardPlan plan = plan_backward(checked, compiled, gpu, deterministic);
  if (change) change(plan);
  const Source& forward = *compiled.source;
  const Source backward = emit_backward_for_gpu(checked, compiled, plan, gpu);
  const auto of_forward = std::make_shared<const Library>(forward),
             of_backward = std::make_shared<const Library>(backward);
  const auto in_order = [&](Order order) {
    const std::shared_ptr<LoadedKernel> loaded = load(spec, forward, of_forward, order);
    loaded->backward = emulated_backward(of_backward, backward.program, order);
    return kernel_of(loaded);
  };
  return {in_order(Order::first_to_last), in_order(Order::last_to_first)};
}

Kernel emulated_kernel_with_backward(const Spec& spec, const std::string& target, Order order,
                                     const std::function<void(BackwardPlan&)>& change) {
  return emulated_kernels_with_backward(spec, target, change)[static_cast<std::size_t>(order)];
}

bool skip_without_compiler() {
  if (std::system("'" FA_GXX "' --version > /dev/null 2>&1") == 0) return false;
  tests::skip("no " FA_GXX);
  return true;
}

}  // namespace fa::test
