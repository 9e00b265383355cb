#include <fmt/format.h>

#include "compiler/emit/cuda/passes/passes.h"
#include "compiler/schedule/shape.h"

namespace fa {

PrintedPass print_forward_pass(const Plan& plan, const Facts& facts, int shared_memory) {
  const Pass pass = {.entry = "facet_forward",
                     .grid = order_of_q_tiles(facts).grid,
                     .tile_q = plan.tile_q,
                     .tile_kv = plan.tile_kv,
                     .threads = threads_of(plan),
                     .shared_memory = shared_memory};
  return {.pass = pass,
          .include = {},
          .text = fmt::format(R"(extern "C" __global__ void __launch_bounds__({threads}, {min_ctas})
    {entry}(const __grid_constant__ fa::ForwardParams params) {{
  fa::Forward<fa::Config, fa::Hooks, fa::Classes> forward;
  forward.run(params);
}}

// What the host launches with is what the device was built for.
static_assert(fa::Forward<fa::Config, fa::Hooks, fa::Classes>::kThreads == {threads});
static_assert(fa::Forward<fa::Config, fa::Hooks, fa::Classes>::kSharedBytes == {shared_memory});
)",
                              fmt::arg("threads", pass.threads), fmt::arg("min_ctas", plan.min_ctas),
                              fmt::arg("entry", pass.entry), fmt::arg("shared_memory", shared_memory))};
}

}  // namespace fa
