// Which of the sm_80 kernels' plans have two stages (compiler/schedule/two_stages.h).
#include <string>

#include "compiler/compile.h"
#include "compiler/schedule/cost.h"
#include "compiler/schedule/mask_tiles.h"
#include "compiler/schedule/plan.h"
#include "fa/spec.h"
#include "tests/catch.h"
#include "tests/compiler/schedule/plain_spec.h"

using namespace fa;

namespace {

Plan plan_of(const CheckedSpec& spec, const Facts& facts) {
  return choose(spec, facts, with_sm80_alone("h200")).plan;
}

// As `kv_idx < length[b]`.
Facts padded() {
  Facts facts = masked();
  facts.mask_mod = {DependsOn::b | DependsOn::kv};
  return facts;
}

}  // namespace

TEST_CASE("two stages where shared memory has room, with 256 rows where masks leave long rows",
          "[schedule]") {
  // On an H200, B2 H16 N8192 D128, beside 128 x 64 in one stage: dense 0.94 of the time, causal 0.90, documents (128 x 64) 0.97.
  const std::string many_rows = "sm80 q_outer tile_q=256 tile_kv=64 warps=8 stages=2";
  for (const DType dtype : {DType::bf16, DType::f16}) {
    CHECK(plan_of(plain_spec(128, 0, dtype), {}).print().starts_with(many_rows));
    CHECK(plan_of(plain_spec(128, 0, dtype), padded()).print().starts_with(many_rows));
  }
  CHECK(plan_of(plain_spec(64), {})
            .print()
            .starts_with("sm80 q_outer tile_q=256 tile_kv=128 warps=8 stages=2"));
  CHECK(plan_of(plain_spec(256), {})
            .print()
            .starts_with("sm80 q_outer tile_q=128 tile_kv=64 warps=8 stages=2"));
  CHECK(plan_of(plain_spec(128), masked())
            .print()
            .starts_with("sm80 q_outer tile_q=128 tile_kv=64 warps=4 stages=2"));
  CHECK(plan_of(plain_spec(128, 0, DType::f32), {}).stages == 1);
  // A score_mod gains less by 256 rows, and loses short calls.
  Facts capped;
  capped.has_score_mod = true;
  const Plan of_capped = plan_of(with_hooks(plain_spec(128)), capped);
  CHECK(of_capped.tile_q == 128);
  CHECK(of_capped.stages == 2);
  Facts linear = masked();
  linear.has_score_mod = true;
  linear.addend_is_zero = false;
  linear.addend_is_linear = true;
  CHECK(plan_of(with_hooks(plain_spec(128)), linear).stages == 1);
}

TEST_CASE("one stage where Q would have to be in registers, or the rows of global tokens alone on an SM",
          "[schedule]") {
  CHECK(plan_of(plain_spec(256), {}).stages == 2);
  // An A100 has room for Q, or for two buffers of K and V.
  CHECK(choose(plain_spec(256), {}, find_target("a100")).plan.stages == 1);
  Facts global = masked();
  CHECK(plan_of(plain_spec(256), global).stages == 2);
  global.global_tokens.see = true;
  CHECK(plan_of(plain_spec(256), global).stages == 1);
  CHECK(plan_of(plain_spec(128), global).stages == 2);  // two CTAs on an SM
}

TEST_CASE("256 rows where a mask leaves few holes, one stage where columns are staged", "[schedule]") {
  const auto plan = [](const std::string& hooks) {
    const Spec spec =
        Spec::parse("attention holes\nhead_dim 128\ndtype bf16\ntensor gate : f32[max(q_len, kv_len)]\n" +
                    hooks + "\nmask_mod = q_idx >= kv_idx\n");
    return compile_front_end(spec.checked(), with_sm80_alone("h200"), "").choice.plan;
  };
  CHECK(plan("").tile_q == 256);
  CHECK(plan("score_mod = score + gate[q_idx] - gate[kv_idx]").stages == 1);
  const Spec sparse = Spec::parse(
      "attention log_sparse\nhead_dim 128\ndtype bf16\nlet distance = q_idx - kv_idx\n"
      "mask_mod = distance >= 0 and (distance < 8 or (distance & (distance - 1)) == 0)\n");
  CHECK(compile_front_end(sparse.checked(), with_sm80_alone("h200"), "").choice.plan.tile_q == 128);
}

TEST_CASE("what score_mod adds is told to be a table's tile alone, with room for two", "[schedule]") {
  const auto plan = [](const std::string& hooks, std::string_view gpu) {
    const Spec spec = Spec::parse(
        "attention pair\nhead_dim 128\ndtype bf16\ntensor a : bf16[q_len, kv_len]\n"
        "tensor f : f32[q_len, kv_len]\n" +
        hooks + "\n");
    return compile_front_end(spec.checked(), with_sm80_alone(gpu), "").choice.plan;
  };
  const auto has_many_rows = [&](const std::string& hooks, std::string_view gpu) {
    const Plan of = plan(hooks, gpu);
    return of.tile_q == 256 && of.stages == 2;
  };
  CHECK(has_many_rows("score_mod = score + a[q_idx, kv_idx]", "h200"));
  CHECK(has_many_rows("score_mod = score + 0.5 * a[q_idx, kv_idx]", "h200"));
  CHECK(has_many_rows("score_mod = score + a[q_idx, kv_idx]\nmask_mod = kv_idx < 1000", "h200"));
  CHECK(plan("score_mod = score + a[q_idx, kv_idx]\nmask_mod = kv_idx <= q_idx", "h200").tile_q ==
        128);  // not timed
  CHECK(plan("score_mod = score + f[q_idx, kv_idx]", "h200").stages == 1);
  CHECK(plan("score_mod = 2.0 * score + a[q_idx, kv_idx]", "h200").stages == 1);
  CHECK(plan("score_mod = score + a[q_idx, kv_idx] + f[q_idx, kv_idx]", "h200").stages == 1);
  CHECK(plan("score_mod = score + a[q_idx, kv_idx]", "l4").stages == 1);  // of 99 KiB Q, K and V take 96
}

TEST_CASE("the model takes 256 rows in two stages for as much faster as they are in long calls",
          "[schedule]") {
  // B8 H16: 0.94 of the time at N2048; B2 N8192 0.937.
  const CheckedSpec spec = plain_spec(128);
  const Target h200 = with_sm80_alone("h200");
  for (const int length : {2048, 4096, 8192}) {
    const ProblemSize size = {.batch = length == 8192 ? 2 : 8,
                              .num_q_heads = 16,
                              .num_kv_heads = 16,
                              .q_len = length,
                              .kv_len = length};
    const auto ms = [&](std::string_view plan) {
      return predict(choose_forced(spec, {}, h200, plan).plan, spec, {}, h200, size).ms;
    };
    CAPTURE(length);
    CHECK(ms("tile_q=256 tile_kv=64 warps=8 stages=2 min_ctas=1") /
              ms("tile_q=128 tile_kv=64 warps=4 stages=1 min_ctas=2") ==
          Approx(0.94).margin(0.02));
  }
}

TEST_CASE("a mask that queries do not decide cuts no tile's rows", "[schedule]") {
  const MaskEdges rectangle = edges_of(padded());
  CHECK(rectangle.excess(16, 64) == rectangle.excess(256, 64));
  CHECK(rectangle.excess(16, 64) < rectangle.excess(16, 128));
  CHECK(edges_of(masked()).excess(16, 64) < edges_of(masked()).excess(256, 64));
}
