// Where the sm_80 kernels' plan has 256 rows (compiler/schedule/many_rows.h).
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

// As `score + pair[q_idx, kv_idx]`.
Facts pair_bias() {
  Facts facts;
  facts.has_score_mod = true;
  facts.score_form = ScoreForm::affine;
  facts.addend_is_zero = false;
  facts.addend = {DependsOn::q | DependsOn::kv};
  facts.addend_reads_elements = true;
  facts.addend_is_element = true;
  facts.element_ops = 3;
  return facts;
}

}  // namespace

TEST_CASE("256 rows where a tile is products and softmax alone", "[schedule]") {
  // On an H200, B2 H16 N8192: 2.66 ms, 128 x 64 2.79; padded 2.39, 2.50.
  const std::string many_rows = "sm80 q_outer tile_q=256 tile_kv=64 warps=8 stages=2";
  for (const DType dtype : {DType::bf16, DType::f16}) {
    CHECK(plan_of(plain_spec(128, 0, dtype), {}).print().starts_with(many_rows));
    CHECK(plan_of(plain_spec(128, 0, dtype), padded()).print().starts_with(many_rows));
  }
  // A bias for each pair, in bf16: 3.10 ms, 128 x 64 3.22. An f32 table is not multiplied by tensor cores.
  Facts pair = pair_bias();
  CHECK(plan_of(with_hooks(plain_spec(128)), pair)
            .print()
            .starts_with("sm80 q_outer tile_q=256 tile_kv=64 warps=8 stages=1"));
  pair.addend_is_element = false;
  CHECK(plan_of(with_hooks(plain_spec(128)), pair).tile_q == 128);
  // Slower with a causal mask (1.01 at N4096), a score_mod (softcap 1.07), dropout, fewer columns; more do not fit.
  Facts capped;
  capped.has_score_mod = true;
  CHECK(plan_of(plain_spec(128), masked()).tile_q == 128);
  CHECK(plan_of(with_hooks(plain_spec(128)), capped).tile_q == 128);
  CHECK(plan_of(with_dropout(plain_spec(128)), {}).tile_q <= 128);
  for (const int dim : {64, 96, 120, 136, 256}) CHECK(plan_of(plain_spec(dim), {}).tile_q <= 128);
  CHECK(plan_of(plain_spec(128, 64), {}).tile_q <= 128);
  CHECK(plan_of(plain_spec(128, 0, DType::f32), {}).tile_q <= 128);
}

TEST_CASE("what score_mod adds is told to be a table's tile alone, with room for two", "[schedule]") {
  const auto rows = [](const std::string& hooks, std::string_view gpu) {
    const Spec spec = Spec::parse(
        "attention pair\nhead_dim 128\ndtype bf16\ntensor a : bf16[q_len, kv_len]\n"
        "tensor f : f32[q_len, kv_len]\n" +
        hooks + "\n");
    return compile_front_end(spec.checked(), with_sm80_alone(gpu), "").choice.plan.tile_q;
  };
  CHECK(rows("score_mod = score + a[q_idx, kv_idx]", "h200") == 256);
  CHECK(rows("score_mod = score + 0.5 * a[q_idx, kv_idx]", "h200") == 256);
  CHECK(rows("score_mod = score + a[q_idx, kv_idx]\nmask_mod = kv_idx < 1000", "h200") == 256);
  CHECK(rows("score_mod = score + a[q_idx, kv_idx]\nmask_mod = kv_idx <= q_idx", "h200") == 128);
  CHECK(rows("score_mod = score + f[q_idx, kv_idx]", "h200") == 128);
  CHECK(rows("score_mod = 2.0 * score + a[q_idx, kv_idx]", "h200") == 128);
  CHECK(rows("score_mod = score + a[q_idx, kv_idx] + f[q_idx, kv_idx]", "h200") == 128);
  CHECK(rows("score_mod = score + a[q_idx, kv_idx]", "l4") == 128);  // of 99 KiB Q, K and V take 96
}

TEST_CASE("the model takes 256 rows for as much faster as they are in long calls", "[schedule]") {
  // B8 H16: 0.968 of the time at N2048, 0.969 at N4096; B2 N8192 0.953.
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
          Approx(0.96).margin(0.02));
  }
}

TEST_CASE("the model does not take 256 rows for faster where they are not", "[schedule]") {
  const Target h200 = with_sm80_alone("h200");
  Facts capped;
  capped.has_score_mod = true;
  const auto slower = [&](const CheckedSpec& spec, const Facts& facts) {
    return choose_forced(spec, facts, h200, "tile_q=256 tile_kv=64 warps=8 stages=2 min_ctas=1")
               .predicted_ms > choose(spec, facts, h200).predicted_ms;
  };
  CHECK(slower(plain_spec(128), masked()));
  CHECK(slower(with_hooks(plain_spec(128)), capped));
  CHECK(slower(plain_spec(64), {}));
}

TEST_CASE("a mask that queries do not decide cuts no tile's rows", "[schedule]") {
  const MaskEdges rectangle = edges_of(padded());
  CHECK(rectangle.excess(16, 64) == rectangle.excess(256, 64));
  CHECK(rectangle.excess(16, 64) < rectangle.excess(16, 128));
  CHECK(edges_of(masked()).excess(16, 64) < edges_of(masked()).excess(256, 64));
}
