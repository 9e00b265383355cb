#include <algorithm>
#include <cmath>

#include "compiler/schedule/cost.h"
#include "compiler/schedule/plan.h"
#include "tests/catch.h"
#include "tests/compiler/schedule/plain_spec.h"

using namespace fa;

namespace {

const Plan kGood{.family = Family::sm80, .tile_q = 128, .tile_kv = 64, .warps = 4};

std::string why(Plan plan, std::string_view target = "h200", const CheckedSpec& spec = plain_spec(128)) {
  return why_illegal(plan, spec, find_target(target));
}

Plan changed(std::string_view fields) { return parse_plan(fields, kGood); }

}  // namespace

TEST_CASE("a plan that fits has no reason against it", "[schedule]") {
  for (const std::string_view target : {"a100", "a100-40gb", "a10", "l4", "rtx4090", "h100", "h200"})
    CHECK(why(kGood, target).empty());
  CHECK(why(changed("min_ctas=2")).empty());
}

TEST_CASE("the reason against a plan names the limit and the number", "[schedule]") {
  CHECK(why(changed("warps=3")) == "warps=3 is not 1, 2, 4 or 8");
  CHECK(why(changed("warps=0")) == "warps=0 is not 1, 2, 4 or 8");
  CHECK(why(changed("tile_q=96")) == "tile_q=96 is not a multiple of 16 x warps = 64, up to 1024");
  CHECK(why(changed("tile_q=0")) == "tile_q=0 is not a multiple of 16 x warps = 64, up to 1024");
  CHECK(why(changed("tile_q=-64")) == "tile_q=-64 is not a multiple of 16 x warps = 64, up to 1024");
  CHECK(why(changed("tile_q=1073741824")) ==
        "tile_q=1073741824 is not a multiple of 16 x warps = 64, up to 1024");
  CHECK(why(changed("tile_kv=24")) == "tile_kv=24 is not a multiple of 16, up to 1024");
  CHECK(why(changed("tile_kv=2147483632")) == "tile_kv=2147483632 is not a multiple of 16, up to 1024");
  CHECK(why(changed("stages=3")) == "stages=3 is not 1 or 2");
  CHECK(why(changed("tile_kv=128 warps=8 stages=2"), "l4") ==
        "the tiles take 163880 bytes of shared memory; a CTA on l4 has 101376");
  CHECK(why(changed("tile_kv=96")) == "a thread would need about 264 registers; it has 255");
  CHECK(why(changed("min_ctas=0")) == "min_ctas=0 is not in 1..32, the CTAs an SM of h200 can hold");
  CHECK(why(changed("min_ctas=25"), "l4") == "min_ctas=25 is not in 1..24, the CTAs an SM of l4 can hold");
  CHECK(why(changed("min_ctas=17")) == "min_ctas=17 x 128 threads = 2176; an SM of h200 holds 2048");
  CHECK(why(changed("min_ctas=2"), "l4") ==
        "min_ctas=2 x 66560 bytes of shared memory (with the 1024 reserved for each CTA) = 133120; an SM of "
        "l4 has "
        "102400");
  CHECK(why(changed("min_ctas=3")) ==
        "min_ctas=3 x 128 threads leave a thread 168 of h200's 65536 registers; it would need about 232");
}

TEST_CASE("a plan is for one family", "[schedule]") {
  CHECK(why(changed("host")) == "it is a plan for host kernels; h200 runs sm90 and sm80 kernels");
  CHECK(why(kGood, "host") == "it is a plan for sm80 kernels; host runs host kernels");
  CHECK(why(changed("sm90 warps=8 stages=2")).empty());
  CHECK(why(changed("sm90 warps=8 stages=2"), "h200", plain_spec(128, 0, DType::f32)) ==
        "sm90 kernels multiply 16-bit elements; f32 runs sm80 kernels");
  CHECK(why(changed("sm90"), "a100") == "it is a plan for sm90 kernels; a100 runs sm80 kernels");
}

TEST_CASE("warps that multiply together have shapes of their own", "[schedule]") {
  const auto of_sm90 = [](std::string_view fields) {
    return parse_plan(fields, parse_plan("sm90 tile_q=128 tile_kv=128 warps=8 stages=2", kGood));
  };
  CHECK(why(of_sm90("")).empty());
  CHECK(why(of_sm90("warps=6 tile_q=96")) ==
        "warps=6 is not 4, 8 or 12: sm90 kernels multiply by four warps together");
  CHECK(why(of_sm90("tile_q=64")) == "tile_q=64: sm90 kernels own 16 rows a warp, 128");
  CHECK(why(of_sm90("tile_kv=272")) == "tile_kv=272 is not a multiple of 16, up to 256");
  CHECK(why(of_sm90("tile_kv=0")) == "tile_kv=0 is not a multiple of 16, up to 256");
  CHECK(why(of_sm90("stages=1")) == "stages=1: sm90 kernels take 2");
  CHECK(why(of_sm90("q_in_registers=1")) == "q_in_registers=1: sm90 kernels read Q from shared memory");
  CHECK(why(of_sm90("search_first=1")) ==
        "search_first=1: sm90 kernels always search before the loop, and take 0");
  CHECK(why(of_sm90("tile_kv=192")) ==
        "min_ctas=1 x 384 threads leave a thread 232 of h200's 65536 registers; it would need about 236");
  // NVRTC refuses these (C7602), and builds those with 16 columns fewer, or for one CTA less.
  CHECK(why(of_sm90("tile_q=64 warps=4 tile_kv=208 min_ctas=2"), "h200", plain_spec(64)) ==
        "min_ctas=2 x 256 threads leave a thread 128 registers at the launch; a product takes 130");
  CHECK(why(of_sm90("tile_q=64 warps=4 tile_kv=192 min_ctas=2"), "h200", plain_spec(64)).empty());
  CHECK(why(of_sm90("tile_q=64 warps=4 tile_kv=16 min_ctas=3"), "h200", plain_spec(128)) ==
        "min_ctas=3 x 256 threads leave a thread 80 registers at the launch; a product takes 94");
  CHECK(ctas_that_fit(of_sm90("tile_q=64 warps=4 tile_kv=16"), plain_spec(128), find_target("h200")) == 2);
  CHECK(why(of_sm90("tile_kv=64"), "h200", plain_spec(256)).empty());
  CHECK(why(of_sm90("tile_kv=96"), "h200", plain_spec(256)) ==
        "the tiles take 262224 bytes of shared memory; a CTA on h200 has 232448");
}

TEST_CASE("kernels of one architecture alone are not built for others", "[schedule]") {
  Target plain = find_target("h200");
  plain.has_arch_features = false;
  const Plan plan = parse_plan("sm90 tile_q=128 tile_kv=128 warps=8 stages=2", kGood);
  CHECK(why_illegal(plan, plain_spec(128), plain) ==
        "sm90 kernels are for sm_90a alone, and these are to be built for sm_90");
  CHECK(choose(plain_spec(128), {}, plain).plan.family == Family::sm80);
}

TEST_CASE("what the target cannot run at all comes before its tiles", "[schedule]") {
  CHECK(why(kGood, "t4", plain_spec(128)) ==
        "dtype bf16 is more than t4 has: its tensor cores multiply f16; write `dtype f16` (facet: --dtype "
        "f16) and "
        "convert q, k and v, or run it on the host");
}

TEST_CASE("a T4 has one stage and 64 KiB of shared memory", "[schedule]") {
  const CheckedSpec spec = plain_spec(128, 0, DType::f16);
  CHECK(why(changed("sm75 warps=8"), "t4", spec).empty());
  CHECK(why(changed("sm75 warps=8 stages=2"), "t4", spec) ==
        "stages=2: sm75 kernels copy through registers and take 1");
  CHECK(why(changed("sm75 warps=8 tile_kv=128"), "t4", spec) ==
        "the tiles take 98304 bytes of shared memory; a CTA on t4 has 65536");
  CHECK(why(changed("sm75 warps=8 min_ctas=2"), "t4", spec) ==
        "min_ctas=2 x 65536 bytes of shared memory (with the 0 reserved for each CTA) = 131072; an SM of t4 "
        "has "
        "65536");
  CHECK(why(kGood, "t4", spec) == "it is a plan for sm80 kernels; t4 runs sm75 kernels");
}

TEST_CASE("a search may stand before the loop where tiles may have classes", "[schedule]") {
  const Plan plan = changed("search_first=1");
  CHECK(why(plan) == "search_first=1: without mask_mod and score_mod no tile is searched for");
  CHECK(why(plan, "h200", with_hooks(plain_spec(128))).empty());
  CHECK(why(changed("standard search_first=1"), "h200", with_hooks(plain_spec(128))) ==
        "search_first=1: standard attention visits every tile");
  for (const DType dtype : {DType::f16, DType::f32}) {
    for (const std::string_view name : {"t4", "a100", "h200"}) {
      const Target& target = find_target(name);
      const CheckedSpec hooks = with_hooks(plain_spec(64, 0, dtype)), none = plain_spec(64, 0, dtype);
      INFO(name << " " << static_cast<int>(dtype));
      CHECK(choose(hooks, masked(), target).plan.search_first == (dtype == DType::f32));
      CHECK_FALSE(choose(none, {}, target).plan.search_first);
      // Where a plan is asked for, what it leaves out is the default's.
      const std::string_view tile =
          name == "t4" ? "tile_q=64 tile_kv=32" : "sm80 tile_q=64 tile_kv=32 stages=1";
      CHECK(choose_forced(hooks, masked(), target, tile).plan.search_first == (dtype == DType::f32));
      const std::string other =
          std::string(tile) + (dtype == DType::f32 ? " search_first=0" : " search_first=1");
      CHECK(choose_forced(hooks, masked(), target, other).plan.search_first == (dtype != DType::f32));
    }
  }
}

TEST_CASE("dropout takes tiles that end inside a Philox call, at twice its cost", "[schedule]") {
  const CheckedSpec spec = with_dropout(plain_spec(64));
  const Target& h200 = find_target("h200");
  const auto cost_of_score = [&](int tile_kv) {
    Plan plan = kGood;
    plan.tile_kv = tile_kv;
    CHECK(why(plan, "h200", spec).empty());
    const double with = step_cost(plan, spec, {}, h200, 1).softmax;
    return (with - step_cost(plan, plain_spec(64), {}, h200, 1).softmax) / tile_kv;
  };
  CHECK(std::abs(cost_of_score(48) / cost_of_score(32) - 2) < 1e-9);
}

TEST_CASE("the host's plans have no threads, stages or registers", "[schedule]") {
  const Plan host{.family = Family::host, .tile_q = 64, .tile_kv = 128, .warps = 1};
  CHECK(why(host, "host").empty());
  CHECK(why(parse_plan("warps=4", host), "host") == "warps=4: the host has none and takes 1");
  CHECK(why(parse_plan("stages=2", host), "host") == "stages=2: the host reads K and V in place and takes 1");
  CHECK(why(parse_plan("q_in_registers=1", host), "host") == "q_in_registers=1: the host takes 0");
  CHECK(why(parse_plan("min_ctas=2", host), "host") == "min_ctas=2: the host takes 1");
  CHECK(why(parse_plan("search_first=1", host), "host") == "search_first=1: the host takes 0");
  CHECK(why(parse_plan("tile_q=17", host), "host") ==
        "tile_q=17 is not a multiple of 16 x warps = 16, up to 1024");
  CHECK(why(host, "host", with_dropout(plain_spec(64, 0, DType::f32))).empty());
}

TEST_CASE("every head dim has a legal plan on every target that has kernels", "[schedule]") {
  int asked = 0;
  for (const Target& target : all_targets()) {
    if (target.runs(Family::sm75)) continue;
    for (int head_dim = 8; head_dim <= 256; head_dim += 8) {
      for (int head_dim_v = 8; head_dim_v <= 256; head_dim_v += 8) {
        const CheckedSpec plain = plain_spec(head_dim, head_dim_v);
        for (const CheckedSpec& spec : {plain, with_dropout(with_hooks(plain))}) {
          ++asked;
          if (!legal_plans(spec, target).empty()) continue;
          FAIL(target.name << " has no plan for head_dim " << head_dim << ", head_dim_v " << head_dim_v);
        }
      }
    }
  }
  CHECK(asked > 5 * 32 * 32 * 2);
}

TEST_CASE("the plans called legal are, and only they", "[schedule]") {
  int asked = 0;
  for (const std::string_view name : {"t4", "a100", "l4", "h200", "host"}) {
    const Target& target = find_target(name);
    for (const int head_dim : {16, 64, 96, 128, 192, 256}) {
      const CheckedSpec plain = plain_spec(head_dim, 0, head_dim == 96 ? DType::f32 : DType::f16);
      for (const CheckedSpec& spec : {plain, with_dropout(plain)}) {
        const std::vector<Plan> plans = legal_plans(spec, target);
        for (const Plan& plan : plans) {
          if (const std::string reason = why_illegal(plan, spec, target); !reason.empty()) {
            FAIL(name << ": " << plan.print() << ": " << reason);
          }
          ++asked;
          // The plan with one more CTA is in the list exactly where it is legal.
          Plan more = plan;
          ++more.min_ctas;
          const bool listed = std::find(plans.begin(), plans.end(), more) != plans.end();
          if (listed != why_illegal(more, spec, target).empty()) FAIL(name << ": " << more.print());
        }
      }
    }
  }
  CHECK(asked > 5000);
}

TEST_CASE("a target that cannot run the spec has no legal plans", "[schedule]") {
  CHECK(legal_plans(plain_spec(64, 0, DType::bf16), find_target("t4")).empty());
  CHECK_FALSE(legal_plans(plain_spec(64, 0, DType::f16), find_target("t4")).empty());
  CHECK_FALSE(legal_plans(plain_spec(64, 0, DType::f32), find_target("a100")).empty());
  CHECK_FALSE(legal_plans(plain_spec(64, 0, DType::f32), find_target("host")).empty());
}
