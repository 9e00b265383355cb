#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "compiler/schedule/cost.h"
#include "compiler/schedule/plan.h"
#include "tests/catch.h"
#include "tests/compiler/schedule/plain_spec.h"

using namespace fa;

namespace {

double relative_cost(std::string_view target_name, int head_dim, std::string_view slower,
                     std::string_view faster) {
  const CheckedSpec spec = plain_spec(head_dim);
  const Target& target = find_target(target_name);
  return choose_forced(spec, {}, target, slower).predicted_ms /
         choose_forced(spec, {}, target, faster).predicted_ms;
}

std::vector<std::string> messages(const CheckedSpec& spec, std::string_view target) {
  std::vector<std::string> all;
  try {
    choose(spec, {}, find_target(target));
  } catch (const SpecError& error) {
    for (const Diagnostic& finding : error.diagnostics()) {
      CHECK(finding.place.file == "plain.fa");
      CHECK(finding.place.line == 0);
      all.push_back(finding.message + " | " + finding.remedy);
    }
  }
  return all;
}

}  // namespace

TEST_CASE("the alternatives are slower, about as much as FlashAttention-2 measured on A100", "[schedule]") {
  const std::string_view best64 = "tile_q=128 tile_kv=128 warps=4 stages=1";
  const std::string_view best128 = "tile_q=128 tile_kv=64 warps=4 stages=1";
  const double wide = relative_cost("a100", 64, "tile_q=64 tile_kv=256 warps=4 stages=1", best64);  // 1.27
  const double two_warps =
      relative_cost("a100", 64, "tile_q=64 tile_kv=128 warps=2 stages=1", best64);  // 1.05
  const double eight_warps =
      relative_cost("a100", 128, "tile_q=128 tile_kv=128 warps=8 stages=1", best128);  // 1.28
  CHECK((1.15 < wide && wide < 1.4));
  CHECK((1.01 < two_warps && two_warps < 1.1));
  CHECK((1.15 < eight_warps && eight_warps < 1.45));
}

TEST_CASE("the predicted speed is near the measured one on H200", "[schedule]") {
  // 2 x 32 heads at d64, 2 x 16 at d128, 2 x 8 at d256, 8192 long.
  const Target h200 = with_sm80_alone("h200");
  const auto predicted = [&](int head_dim, std::string_view plan) {
    const int heads = 2048 / head_dim;
    const ProblemSize size{
        .batch = 2, .num_q_heads = heads, .num_kv_heads = heads, .q_len = 8192, .kv_len = 8192};
    return choose_forced(plain_spec(head_dim), {}, h200, plan, size).predicted_ms;
  };
  CHECK(std::abs(predicted(64, "tile_q=128 tile_kv=128 warps=4 stages=1") / 3.20 - 1) < 0.25);
  CHECK(std::abs(predicted(128, "tile_q=128 tile_kv=64 warps=4 stages=1") / 3.00 - 1) < 0.25);
  CHECK(std::abs(predicted(256, "tile_q=64 tile_kv=64 warps=4 stages=1") / 3.38 - 1) < 0.35);
}

TEST_CASE("every choice is legal and says why", "[schedule]") {
  int choices = 0;
  for (const Target& target : all_targets()) {
    for (int head_dim = 8; head_dim <= 256; head_dim += 8) {
      for (const auto& [head_dim_v, dtype] : {std::pair{8, DType::f16},
                                              {64, DType::f16},
                                              {128, DType::f16},
                                              {256, DType::f16},
                                              {8, DType::f32},
                                              {64, DType::f32},
                                              {256, DType::f32}}) {
        const CheckedSpec plain = plain_spec(head_dim, head_dim_v, dtype);
        for (const CheckedSpec& spec : {plain, with_hooks(plain), with_dropout(with_hooks(plain))}) {
          ++choices;
          const Choice choice = choose(spec, {}, target);
          if (const std::string reason = why_illegal(choice.plan, spec, target); !reason.empty()) {
            FAIL(target.name << " d" << head_dim << "/" << head_dim_v << " " << dtype_name(dtype) << ": "
                             << choice.plan.print() << ": " << reason);
          }
          if (choice.why.empty()) FAIL("no reason");
          if ((choice.predicted_ms > 0) != !target.is_host()) FAIL("no prediction");
        }
      }
    }
  }
  CHECK(choices == static_cast<int>(all_targets().size()) * 32 * 7 * 3);
}

TEST_CASE("a choice holds for tiny and huge problems", "[schedule]") {
  const Target& h200 = find_target("h200");
  const CheckedSpec spec = plain_spec(128);
  const ProblemSize one{.batch = 1, .num_q_heads = 1, .num_kv_heads = 1, .q_len = 1, .kv_len = 1};
  const ProblemSize huge{
      .batch = 1024, .num_q_heads = 128, .num_kv_heads = 8, .q_len = 1 << 20, .kv_len = 1 << 20};
  for (const ProblemSize& size : {one, huge}) {
    const Choice choice = choose(spec, {}, h200, size);
    CHECK(why_illegal(choice.plan, spec, h200).empty());
    CHECK(choice.predicted_ms > 0);
  }
  // A problem too small to fill the SMs with tall tiles gets lower ones.
  const ProblemSize narrow{.batch = 1, .num_q_heads = 4, .num_kv_heads = 4, .q_len = 2048, .kv_len = 8192};
  CHECK(choose(spec, {}, with_sm80_alone("h200"), narrow).plan.tile_q == 64);
}

TEST_CASE("hooks make room for themselves in registers", "[schedule]") {
  const Target h200 = with_sm80_alone("h200");
  const Plan wide = choose(with_hooks(plain_spec(64)), {}, h200).plan;
  CHECK(wide.tile_q == 256);
  CHECK(wide.tile_kv == 64);  // 128 without hooks
  CHECK(choose(with_hooks(plain_spec(128)), {}, h200).plan == choose(plain_spec(128), {}, h200).plan);
}

TEST_CASE("hooks cost what they compute", "[schedule]") {
  const Target h200 = with_sm80_alone("h200");
  Facts heavy;
  heavy.element_ops = 20;
  const Plan plan = choose(plain_spec(128), {}, h200).plan;
  const double plain = step_cost(plan, plain_spec(128), {}, h200, 2).softmax;
  CHECK(step_cost(plan, plain_spec(128), heavy, h200, 2).softmax > 2 * plain);
  CHECK(step_cost(plan, with_dropout(plain_spec(128)), {}, h200, 2).softmax > plain);
}

TEST_CASE("the host takes a plan of its own", "[schedule]") {
  const Choice choice = choose(plain_spec(64, 0, DType::f32), {}, find_target("host"));
  CHECK(choice.plan.family == Family::host);
  CHECK(choice.plan.warps == 1);
  CHECK(choice.predicted_ms == 0);
  Target with_tiles = find_target("host");
  HostCpu with_amx;
  with_amx.lanes = 16, with_amx.amx = true;
  with_tiles.cpu = &with_amx;
  CHECK(choose(plain_spec(64, 0, DType::f32), {}, with_tiles).plan == choice.plan);
  CHECK(choose(plain_spec(64, 0, DType::bf16), {}, find_target("host")).plan == choice.plan);
  const Plan tiles = choose(plain_spec(64, 0, DType::bf16), {}, with_tiles).plan;
  CHECK(tiles.tile_q % 32 == 0);  // whole blocks of tiles
  CHECK(tiles.tile_kv % 32 == 0);
  CHECK(rank_plans(plain_spec(64, 0, DType::bf16), {}, with_tiles, {}).front().plan == tiles);
}

TEST_CASE("the host's plan is that of the first line of the table that fits the CPU", "[schedule]") {
  const std::string avx512 = "+avx2,+fma,+avx512f,+avx512bw,+avx512dq,+avx512vl";
  const auto plan = [](DType dtype, const char* name, const std::string& features) {
    Target target = find_target("host");
    const HostCpu cpu = HostCpu::from_features("x86_64-pc-linux-gnu", name, features);
    target.cpu = &cpu;
    const Plan chosen = choose(plain_spec(64, 0, dtype), {}, target).plan;
    CHECK(why_illegal(chosen, plain_spec(64, 0, dtype), target).empty());
    return std::pair(chosen.tile_q, chosen.tile_kv);
  };
  const std::pair any{96, 64}, even{128, 128}, wide{128, 256};
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    CHECK(plan(dtype, "haswell", "+avx2,+fma") == any);
    CHECK(plan(dtype, "znver4", "+avx2,+fma") == any);  // kept to AVX2
    CHECK(plan(dtype, "skylake-avx512", avx512) == any);
    CHECK(plan(dtype, "znver4", avx512 + ",+avx512bf16") == even);
    const bool is_bf16 = dtype == DType::bf16;
    CHECK(plan(dtype, "cooperlake", avx512 + ",+avx512bf16") == (is_bf16 ? even : any));
    CHECK(plan(dtype, "sapphirerapids", avx512 + ",+avx512bf16,+amx-tile,+amx-bf16") ==
          (is_bf16 ? wide : any));
  }
}

TEST_CASE("what a target cannot run is an error with a remedy", "[schedule]") {
  CHECK(
      messages(plain_spec(64, 0, DType::bf16), "t4") ==
      std::vector<std::string>{
          "dtype bf16 is more than t4 has: its tensor cores multiply f16 | write `dtype f16` (facet: --dtype "
          "f16) and convert q, k and v, or run it on the host"});
  CHECK(messages(plain_spec(64, 0, DType::f16), "t4").empty());
  CHECK(messages(plain_spec(64, 0, DType::f32), "t4").empty());
  CHECK(messages(plain_spec(64, 0, DType::f32), "h200").empty());
  CHECK(messages(plain_spec(64, 0, DType::f32), "host").empty());
}

TEST_CASE("the first plans for a T4 are those that suit its shared memory", "[schedule]") {
  const Target& t4 = find_target("t4");
  const auto plan = [&](int head_dim, DType dtype) {
    return choose(plain_spec(head_dim, 0, dtype), {}, t4).plan;
  };
  CHECK(plan(64, DType::f16).tile_q == 128);
  CHECK(plan(64, DType::f16).stages == 1);
  for (const DType dtype : {DType::f16, DType::f32})
    for (const int head_dim : {64, 128, 256}) {
      CHECK(plan(head_dim, dtype).family == Family::sm75);
      CHECK(shared_memory_bytes(plan(head_dim, dtype), plain_spec(head_dim, 0, dtype)) <= 64 * 1024);
    }
}

TEST_CASE("plans are ranked from the chosen one on, each tile once", "[schedule]") {
  for (const std::string_view name : {"h200", "a100", "host"}) {
    const Target& target = find_target(name);
    const CheckedSpec spec = plain_spec(192);
    const std::vector<Choice> ranked = rank_plans(spec, {}, target);
    REQUIRE(ranked.size() > 10);
    CHECK(ranked.front().plan == choose(spec, {}, target).plan);
    for (std::size_t i = 1; i < ranked.size(); ++i) {
      if (i > 1 && ranked[i].predicted_ms < ranked[i - 1].predicted_ms) FAIL("out of order at " << i);
      Plan same_tile = ranked[i].plan;
      same_tile.min_ctas = ranked[i - 1].plan.min_ctas;
      if (same_tile == ranked[i - 1].plan) FAIL("a tile twice: " << same_tile.print());
      if (!why_illegal(ranked[i].plan, spec, target).empty()) FAIL("illegal: " << ranked[i].plan.print());
    }
  }
}

TEST_CASE("a plan asked for is taken where it can run", "[schedule]") {
  const Target h200 = with_sm80_alone("h200");
  const CheckedSpec spec = plain_spec(128);
  const Choice choice = choose_forced(spec, masked(), h200, "tile_q=64 tile_kv=32");
  CHECK(choice.plan.print() ==
        "sm80 q_outer tile_q=64 tile_kv=32 warps=4 stages=2 q_in_registers=0 min_ctas=4");
  CHECK(choice.why.starts_with("asked for: 4 x 4 warps on an SM, 16 rows a warp"));
  CHECK(choose_forced(spec, masked(), h200, "tile_q=64 tile_kv=32 min_ctas=1").plan.min_ctas == 1);
  CHECK(choose_forced(spec, {}, h200, "").plan == choose(spec, {}, h200).plan);
  CHECK(choose_forced(spec, {}, find_target("host"), "tile_kv=64").plan.tile_kv == 64);
}

TEST_CASE("parts of a plan are completed by the family that can run them", "[schedule]") {
  // Hopper's own kernels take no 64 x 64 in one stage, and sm80's preferred tile has eight warps.
  const CheckedSpec spec = plain_spec(64);
  const Target& h200 = find_target("h200");
  REQUIRE(choose(spec, {}, with_sm80_alone("h200")).plan.warps == 8);
  for (const char* text :
       {"tile_q=64 tile_kv=64 stages=1 min_ctas=1", "sm80 tile_q=64 tile_kv=64 stages=1 min_ctas=1"}) {
    const Plan plan = choose_forced(spec, {}, h200, text).plan;
    CHECK(plan.family == Family::sm80);
    CHECK(parse_plan(text, plan) == plan);
    CHECK(why_illegal(plan, spec, h200).empty());
  }
}

TEST_CASE("a plan asked for that cannot run is refused with the reason", "[schedule]") {
  const CheckedSpec spec = plain_spec(128);
  CHECK_THROWS_WITH(
      choose_forced(spec, masked(), with_sm80_alone("h200"), "tile_q=128 tile_kv=96 warps=4"),
      "plan 'sm80 q_outer tile_q=128 tile_kv=96 warps=4 stages=2 q_in_registers=0 min_ctas=1' cannot run: a "
      "thread would need about 264 registers; it has 255");
  CHECK_THROWS_AS(choose_forced(spec, {}, find_target("h200"), "tile=96"), Error);
  CHECK_THROWS_AS(choose_forced(plain_spec(64, 0, DType::bf16), {}, find_target("t4"), "tile_q=64"),
                  SpecError);
}

TEST_CASE("Hopper runs its own kernels where their tiles suit the spec", "[schedule]") {
  const auto plan = [](const CheckedSpec& spec, const Facts& facts) {
    return choose(spec, facts, find_target("h200")).plan;
  };
  Facts causal = masked();
  causal.mask_is_relative = true;
  Facts narrow = causal, wide = causal;
  narrow.mask_band = Band{.before = 127, .after = 0};
  wide.mask_band = Band{.before = 1023, .after = 0};
  const Facts documents = masked();
  Facts tree = masked();
  tree.element_ops = 25;
  CHECK(plan(plain_spec(64), {}).warps == 12);
  CHECK(plan(plain_spec(64), causal).warps == 12);
  // 192 rows straddle documents, and a window does not fill tiles of 192 x 112: CTAs of one warpgroup, three on an SM.
  Facts dilated = wide;
  dilated.mask_is_by_diagonal = true;
  for (const Facts& facts : {documents, wide, narrow})
    CHECK(plan(plain_spec(64), facts).print().starts_with("sm90 q_outer tile_q=64 tile_kv=64 warps=4"));
  CHECK(plan(plain_spec(64), dilated).family == Family::sm80);
  // A window of 128 keys is mostly edge (specs/gpt_oss.fa on an H100: 0.90 of the time of 128 x 128).
  CHECK(plan(plain_spec(128), narrow).print().starts_with("sm90 q_outer tile_q=64 tile_kv=64 warps=4"));
  CHECK(plan(plain_spec(128), wide) == plan(plain_spec(128), causal));
  CHECK(plan(plain_spec(128), {}).print().starts_with("sm90 q_outer tile_q=192 tile_kv=80 warps=12"));
  Facts t5;
  t5.has_score_mod = true;
  t5.diagonal_ops = 24;
  CHECK(plan(plain_spec(128), t5).warps == 8);
  Facts pair_bias;
  pair_bias.addend_reads_elements = true;
  CHECK(plan(plain_spec(128), pair_bias).print().starts_with("sm90 q_outer tile_q=192 tile_kv=64 warps=12"));
  CHECK(plan(plain_spec(128), causal).print().starts_with("sm90 q_outer tile_q=128 tile_kv=128 warps=8"));
  CHECK(plan(plain_spec(128), documents) == plan(plain_spec(128), causal));
  CHECK(plan(plain_spec(128), tree).family == Family::sm80);
  // Where a mask keeps blocks, its code runs in few tiles (specs/bigbird.fa on an H100: 0.84 of sm_80's time).
  Facts layout = tree;
  layout.mask_blocks = {.queries = 64, .keys = 64, .has_line = true};
  for (const int dim : {64, 128})
    CHECK(plan(plain_spec(dim), layout).print().starts_with("sm90 q_outer tile_q=64 tile_kv=64 warps=4"));
  CHECK(plan(plain_spec(256), causal).print().starts_with("sm90 q_outer tile_q=128 tile_kv=64 warps=8"));
  CHECK(plan(plain_spec(128, 0, DType::f32), causal).family == Family::sm80);
}

TEST_CASE("where a mask takes long, tiles have little edge", "[schedule]") {
  // specs/tree.fa by sm_80's kernels on an H200, d128, N8192: 64 x 32 0.298 ms, 128 x 32 0.343, 64 x 64 0.361, 128 x 64
  // 0.477, 64 x 128 0.562; specs/bigbird.fa: 64 x 64 0.340, 64 x 32 0.503, 128 x 64 0.531.
  Facts tree = masked();
  tree.element_ops = 24;
  tree.row_ops = 49;
  tree.column_ops = 2;
  const CheckedSpec spec = with_hooks(plain_spec(128));
  for (const char* gpu : {"a100", "h200"}) {
    const Plan plan = choose(spec, tree, with_sm80_alone(gpu)).plan;
    CAPTURE(gpu, plan.print());
    CHECK((plan.tile_q == 64 && plan.tile_kv <= 32));
    CHECK(plan.warps == 2);  // 0.96 of the time on an H100
    Facts layout = tree;
    layout.mask_blocks = {.queries = 64, .keys = 64, .has_line = true};
    const Plan of_layout = choose(spec, layout, with_sm80_alone(gpu)).plan;
    CAPTURE(of_layout.print());
    CHECK((of_layout.tile_q == 64 && of_layout.tile_kv == 64 && of_layout.warps == 4));
  }
}

TEST_CASE("where rows list keys, the chosen tiles are nearly the fastest that were timed", "[schedule]") {
  // specs/tree.fa on an H200, B2 N8192, 2048 / head_dim heads: milliseconds, the fastest first.
  struct Timed {
    std::string plan;
    double ms;
  };
  struct Case {
    DType dtype;
    int head_dim;
    std::vector<Timed> timed;
  };
  const Case cases[] = {
      {DType::bf16,
       64,
       {{"tile_q=32 tile_kv=16 warps=1 ", 0.241},
        {"tile_q=16 tile_kv=16 warps=1 ", 0.261},
        {"tile_q=64 tile_kv=32 warps=2 ", 0.276},
        {"tile_q=32 tile_kv=32 warps=2 ", 0.289}}},
      {DType::bf16,
       256,
       {{"tile_q=32 tile_kv=16 warps=2 ", 0.204},
        {"tile_q=32 tile_kv=32 warps=2 ", 0.211},
        {"tile_q=64 tile_kv=32 warps=4 ", 0.235}}},
      {DType::f32,
       64,
       {{"tile_q=16 tile_kv=16 warps=1 ", 0.608},
        {"tile_q=32 tile_kv=16 warps=1 ", 0.653},
        {"tile_q=64 tile_kv=32 warps=2 ", 0.937}}},
  };
  for (const Case& c : cases) {
    const Spec spec =
        Spec::load(FA_SOURCE_DIR "/specs/tree.fa").with_dtype(c.dtype).with_head_dim(c.head_dim);
    const std::string plan = compile_front_end(spec.checked(), find_target("h200")).choice.plan.print();
    CAPTURE(plan);
    const auto chosen = std::ranges::find_if(
        c.timed, [&](const Timed& timed) { return plan.find(timed.plan) != std::string::npos; });
    REQUIRE(chosen != c.timed.end());
    CHECK(chosen->ms <= 1.08 * c.timed.front().ms);
  }
}

TEST_CASE("a warpgroup alone on an SM takes longer", "[schedule]") {
  // specs/alibi.fa on an H100, d128, beside 128 x 128: 64 x 128 takes 0.78 of the time for 32 CTAs of work, 1.36 for 192.
  Facts causal = masked();
  causal.mask_is_relative = true;
  causal.mask_band = Band{.before = Band::kUnbounded, .after = 0};
  const CheckedSpec spec = plain_spec(128);
  const auto ratio = [&](int heads, int length) {
    const ProblemSize size{
        .batch = 1, .num_q_heads = heads, .num_kv_heads = heads, .q_len = length, .kv_len = length};
    const auto ms = [&](const char* text) {
      return predict(choose_forced(spec, causal, find_target("h100"), text, size).plan, spec, causal,
                     find_target("h100"), size)
          .ms;
    };
    return ms("sm90 tile_q=64 tile_kv=128 warps=4") / ms("sm90 tile_q=128 tile_kv=128 warps=8");
  };
  CHECK(ratio(4, 1024) < 0.9);
  CHECK(ratio(12, 2048) > 1.1);
}

TEST_CASE("a plan asked for in parts is completed by the family that can run it", "[schedule]") {
  const Target& h200 = find_target("h200");
  const CheckedSpec spec = plain_spec(128);
  REQUIRE(choose(spec, {}, h200).plan.family == Family::sm90);
  const Plan wide = choose_forced(spec, {}, h200, "tile_kv=96").plan;  // too wide for the chosen 192 rows
  CHECK((wide.family == Family::sm90 && wide.tile_kv == 96 && wide.tile_q == 128));
  const Plan long_tile = choose_forced(spec, {}, with_sm80_alone("h200"), "tile_kv=96").plan;
  CHECK(long_tile.tile_kv == 96);  // 128 rows of four warps would not have the registers
  CHECK(choose_forced(spec, {}, h200, "tile_q=64 tile_kv=32 warps=4").plan.family == Family::sm90);
  // Eight warps of 256 rows have no part of such a tile each; two, which the model ranks first, `choose` would not consider.
  CHECK(choose_forced(spec, {}, with_sm80_alone("h200"), "tile_q=64 tile_kv=32").plan.warps == 4);
  CHECK(choose_forced(spec, {}, h200, "stages=1 tile_kv=64").plan.family == Family::sm80);
  CHECK(choose_forced(spec, {}, h200, "sm80").plan == choose(spec, {}, with_sm80_alone("h200")).plan);
  CHECK(choose_forced(spec, {}, with_sm80_alone("h200"), "").plan.family == Family::sm80);
  CHECK_THROWS_WITH(
      choose_forced(spec, {}, h200, "sm90 warps=2 tile_q=32"),
      Catch::Matchers::EndsWith("warps=2 is not 4, 8 or 12: sm90 kernels multiply by four warps together"));
}
