// Lines of a table that nobody measured, for causal.fa, f16, d64, of a T4: the tables that ship may change at any time.
#pragma once

#include <fmt/format.h>

#include <string>

#include "fa/spec.h"
#include "runtime/tune/identity.h"
#include "runtime/tune/shipped/line.h"

namespace fa::tests {

constexpr const char* kShortPlan =
    "sm75 q_outer tile_q=64 tile_kv=64 warps=4 stages=1 q_in_registers=0 min_ctas=2";
constexpr const char* kLongPlan =
    "sm75 q_outer tile_q=128 tile_kv=32 warps=4 stages=1 q_in_registers=0 min_ctas=2";
constexpr const char* kDefaultPlan =
    "sm75 q_outer tile_q=128 tile_kv=64 warps=4 stages=1 q_in_registers=0 min_ctas=2";

inline Spec causal_spec() {
  return Spec::load(FA_SOURCE_DIR "/specs/causal.fa").with_dtype(DType::f16).with_head_dim(64);
}

/// B4 H16 at that length, faster than kDefaultPlan by `gain`.
inline ShippedPlan made_up_plan(const std::string& plan, int length, double gain, bool predicted = false) {
  const Spec spec = causal_spec();
  const TunedPlan found{
      .key = {.spec = spec_hash(spec),
              .code = "c",
              .device = predicted ? "any t4" : "Fake T4 as t4",
              .compiler = "NVRTC 13.0"},
      .label = "causal f16 d64 t4",
      .problem = fmt::format("B4 H16 N{}", length),
      .plan = plan,
      .ms = 4,
      .gain = gain,
      .default_plan = kDefaultPlan,
      .timed = 8,
      .of = 35,
      .finished = true,
      .date = 1790000000,
      .predicted = predicted,
      .size =
          ProblemSize{.batch = 4, .num_q_heads = 16, .num_kv_heads = 16, .q_len = length, .kv_len = length}};
  return shipped_plan(spec.checked(), found, "0123456789abcdef0123456789abcdef01234567");
}

}  // namespace fa::tests
