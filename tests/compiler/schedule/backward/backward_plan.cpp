// The schedule of a backward pass on a GPU.
#include "compiler/schedule/backward/backward_plan.h"

#include "fa/error.h"
#include "tests/catch.h"
#include "tests/compiler/schedule/plain_spec.h"

using namespace fa;

TEST_CASE("plans of a backward pass fit their target", "[schedule][backward]") {
  for (const char* name : {"t4", "a100", "a10", "l4", "rtx4090", "h100", "h200"}) {
    const Target& target = find_target(name);
    for (int head_dim = 8; head_dim <= 256; head_dim += 8)
      for (const int head_dim_v : {head_dim, 8, 128, 256}) {
        const CheckedSpec spec =
            plain_spec(head_dim, head_dim_v, head_dim % 16 == 0 ? DType::f16 : DType::f32);
        // f32 rows of 256 columns are 1 KiB each: 16 of K, V, Q and dO alone fill a T4's shared memory.
        const bool is_wide = target.compute_capability == 75 && spec.dtype == DType::f32;
        if (is_wide && head_dim + head_dim_v > 256) continue;
        const BackwardPlan plan = choose_backward(spec, target);
        INFO(name << " d" << head_dim << " v" << head_dim_v << ": " << plan.print());
        CHECK(keys_shared_memory(plan, spec) <= target.max_smem_per_block);
        CHECK(queries_shared_memory(plan, spec) <= target.max_smem_per_block);
        CHECK(plan.keys.tile_kv / (plan.keys.warps / plan.keys.column_warps) % 16 == 0);
        CHECK(plan.keys.tile_q / plan.keys.column_warps / plan.keys.parts % 16 == 0);
        CHECK((!plan.delays_dq || plan.dq_by_sums));
        CHECK(plan.queries.warps * 16 == plan.queries.tile_q);
        if (plan.dq_by_sums) CHECK(plan.keys.tile_kv >= plan.keys.tile_q);
      }
  }
}

TEST_CASE("a plan of a backward pass says all that it decides", "[schedule][backward]") {
  CHECK(choose_backward(plain_spec(64, 0, DType::bf16), find_target("a100")).print() ==
        "sm80 keys(tile_q=128 tile_kv=128 warps=8 column_warps=1 parts=2 stages=2) "
        "queries(tile_q=64 tile_kv=128 warps=4 column_warps=1 parts=1 stages=2) "
        "apart=0 dq_by_sums=1 delays_dq=1 deterministic=0");
  // Wide rows: warps share keys, so that dK and dV fit, but where they gather what is captured.
  const BackwardPlan wide = choose_backward(plain_spec(256, 0, DType::bf16), find_target("h100"));
  CHECK(wide.keys.column_warps == 4);
  CHECK_FALSE(wide.apart);
  CHECK(wide.dq_by_sums);
  const BackwardPlan captures =
      choose_backward(plain_spec(256, 0, DType::bf16), find_target("h100"), {.captures = true});
  CHECK(captures.keys.column_warps == 1);
  CHECK(captures.apart);
  CHECK_FALSE(captures.dq_by_sums);
  // Up to d128 both fit into one warp's registers.
  for (const char* name : {"t4", "a100"})
    CHECK_FALSE(choose_backward(plain_spec(128, 0, DType::f16), find_target(name), {.captures = true}).apart);
  CHECK_FALSE(choose_backward(plain_spec(64, 0, DType::f16), find_target("t4")).dq_by_sums);
  CHECK_FALSE(choose_backward(plain_spec(64, 0, DType::f32), find_target("a100")).dq_by_sums);
  // Sums in memory have no order.
  const BackwardPlan repeats =
      choose_backward(plain_spec(64, 0, DType::f16), find_target("a100"), {.deterministic = true});
  CHECK(repeats.deterministic);
  CHECK_FALSE(repeats.dq_by_sums);
  // What goes to a query's element is summed where the queries stay.
  CHECK_FALSE(choose_backward(plain_spec(64, 0, DType::f16), find_target("a100"), {.rows = true}).dq_by_sums);
}

TEST_CASE("a backward pass that no tiles of a target can hold is an error with a remedy",
          "[schedule][backward]") {
  try {
    choose_backward(plain_spec(256, 0, DType::f32), find_target("t4"));
    FAIL("no error");
  } catch (const SpecError& error) {
    CHECK(error.diagnostics().at(0).message ==
          "the backward pass of head_dim 256 and head_dim_v 256 in f32 takes more shared memory than t4 has");
    CHECK(error.diagnostics().at(0).remedy ==
          "write `dtype f16` (facet: --dtype f16), or run it on the host");
  }
}
