// Plans of the baselines: chosen for every target, printed and parsed, refused with a reason.
#include "compiler/schedule/baseline/baseline.h"

#include <array>

#include "compiler/compile.h"
#include "compiler/schedule/baseline/flash1.h"
#include "runtime/build/key.h"
#include "tests/catch.h"
#include "tests/compiler/schedule/plain_spec.h"

using namespace fa;

namespace {

Plan chosen(const char* target, const CheckedSpec& spec, std::string_view text = "standard") {
  return choose_baseline(LoopOrder::standard, spec, Facts{}, find_target(target), text).plan;
}

}  // namespace

TEST_CASE("standard attention has a plan for every target, dtype and head_dim", "[schedule][baseline]") {
  for (const char* name : {"t4", "a100", "a10", "l4", "rtx4090", "h100", "h200"}) {
    const Target& target = find_target(name);
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
      if (dtype == DType::bf16 && !target.has_bf16) continue;
      for (int head_dim = 8; head_dim <= 256; head_dim += 8) {
        const CheckedSpec spec = plain_spec(head_dim, 264 - head_dim, dtype);
        const Plan plan = chosen(name, spec);
        INFO(name << " " << plan.print());
        CHECK(plan.loop_order == LoopOrder::standard);
        CHECK(plan.is_baseline());
        CHECK(why_illegal(plan, spec, target).empty());
        CHECK(parse_plan(plan.print(), {}) == plan);
        CHECK(chosen(name, spec, plan.print()) == plan);
      }
    }
  }
  CHECK(chosen("h200", plain_spec(128)).print() ==
        "sm80 standard tile_q=128 tile_kv=128 warps=4 stages=3 q_in_registers=0 min_ctas=2");
  CHECK(chosen("h200", plain_spec(128), "tile_kv=64 standard").print() ==
        "sm80 standard tile_q=128 tile_kv=64 warps=4 stages=3 q_in_registers=0 min_ctas=2");
  CHECK(chosen("t4", plain_spec(64, 64, DType::f16)).family == Family::sm75);
}

TEST_CASE("algorithm 1 has a plan for every target, dtype and head_dim", "[schedule][baseline]") {
  for (const char* name : {"t4", "a100", "a10", "l4", "rtx4090", "h100", "h200"}) {
    const Target& target = find_target(name);
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
      if (dtype == DType::bf16 && !target.has_bf16) continue;
      for (int head_dim = 8; head_dim <= 256; head_dim += 8) {
        const CheckedSpec spec = plain_spec(head_dim, 264 - head_dim, dtype);
        const Plan plan = choose_baseline(LoopOrder::kv_outer, spec, Facts{}, target, "kv_outer").plan;
        INFO(name << " " << plan.print());
        CHECK(plan.loop_order == LoopOrder::kv_outer);
        CHECK(plan.is_baseline());
        CHECK(why_illegal(plan, spec, target).empty());
        CHECK(parse_plan(plan.print(), {}) == plan);
        CHECK(tiles_shared_memory(plan, spec) <= target.max_smem_per_block);
      }
    }
  }
  const CheckedSpec spec = plain_spec(128);
  const auto why = [&](std::string_view text, const char* target = "a100") {
    const Plan plan = choose_baseline(LoopOrder::kv_outer, spec, Facts{}, find_target("a100"), "").plan;
    return why_illegal(parse_plan(text, plan), spec, find_target(target));
  };
  CHECK(why("") == "");
  CHECK(why("tile_q=32 tile_kv=48 warps=2") == "");
  CHECK(why("tile_q=48 tile_kv=48 warps=1") == "a thread would need about 312 registers; it has 255");
  CHECK(why("stages=2") == "stages=2: flash1 attention takes 1");
  CHECK(why("q_in_registers=1") == "q_in_registers=1: flash1 attention reads Q from shared memory");
  CHECK(why("warps=3") == "warps=3 is not 1, 2, 4 or 8");
  CHECK(why("sm90", "h100") == "flash1 attention has no sm90 kernels");
}

TEST_CASE("baselines on the host have the fused kernel's tiles", "[schedule][baseline]") {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
    const CheckedSpec spec = plain_spec(72, 40, dtype);
    Target host = find_target("host");
    for (const auto& [name, features] : {std::pair{"skylake-avx512", "+avx512f,+avx512vl"},
                                         {"znver4", "+avx512f,+avx512vl,+avx512bf16"},
                                         {"sapphirerapids", "+avx512f,+avx512vl,+amx-bf16,+amx-tile"}}) {
      const HostCpu cpu = HostCpu::from_features("x86_64-pc-linux-gnu", name, features);
      host.cpu = &cpu;
      Plan fused = choose(spec, Facts{}, host, {}).plan;
      for (const LoopOrder order : {LoopOrder::standard, LoopOrder::kv_outer}) {
        const Plan plan = choose_baseline(order, spec, Facts{}, host, loop_order_name(order)).plan;
        INFO(plan.print());
        CHECK(why_illegal(plan, spec, host).empty());
        CHECK(parse_plan(plan.print(), {}) == plan);
        fused.loop_order = order;
        CHECK(plan == fused);
      }
    }
    host.cpu = nullptr;
    CHECK(choose_baseline(LoopOrder::kv_outer, spec, Facts{}, host, "tile_q=64 tile_kv=48").plan.print() ==
          "host kv_outer tile_q=64 tile_kv=48");
    for (const Plan& plan : legal_plans(spec, host)) REQUIRE_FALSE(plan.is_baseline());
  }
}

TEST_CASE("nothing but its name chooses a baseline", "[schedule][baseline]") {
  for (const char* name : {"t4", "a100", "h100"})
    for (const Plan& plan : legal_plans(plain_spec(64, 64, DType::f16), find_target(name)))
      REQUIRE(plan.loop_order == LoopOrder::q_outer);
  CHECK(plan_of_impl(Impl::facet, "") == "");
  CHECK(plan_of_impl(Impl::facet, "tile_q=64") == "tile_q=64");
  CHECK(plan_of_impl(Impl::standard, "") == "standard");
  CHECK(plan_of_impl(Impl::standard, "tile_q=64") == "standard tile_q=64");
  CHECK(plan_of_impl(Impl::standard, "standard") == "standard standard");
  CHECK(plan_of_impl(Impl::flash1, "tile_q=64") == "kv_outer tile_q=64");
  CHECK_THROWS_AS(plan_of_impl(Impl::flash1, "standard"), ArgumentError);
  for (const Impl impl : {Impl::facet, Impl::standard, Impl::flash1})
    CHECK(impl_named(impl_name(impl)) == impl);
  CHECK_FALSE(impl_named("flash2"));
  CHECK(loop_order_of("standard standard") == LoopOrder::standard);
  CHECK(loop_order_of("sm80 tile_q=64") == LoopOrder::q_outer);
  CHECK_THROWS_WITH(
      plan_of_impl(Impl::standard, "q_outer tile_q=64"),
      "plan: it is either standard or q_outer: leave out one (Options::impl and --impl name one, too)");
}

TEST_CASE("a baseline's plan that cannot run says why", "[schedule][baseline]") {
  const CheckedSpec spec = plain_spec(128);
  const auto why = [&](std::string_view text, const char* target = "a100") {
    Plan plan = chosen("a100", spec);
    return why_illegal(parse_plan(text, plan), spec, find_target(target));
  };
  CHECK(why("") == "");
  CHECK(why("warps=3") == "warps=3 is not 1, 2, 4 or 8");
  CHECK(why("tile_q=256") == "tile_q=256 is not 16 or 32 rows a warp: 64 or 128");
  CHECK(why("tile_kv=96") ==
        "tile_kv=96 is not a multiple of 64, up to 256: what a row of P has in 128 bytes");
  CHECK(why("stages=1") == "stages=1 is not in 2..4, as standard attention of sm80 kernels has");
  CHECK(why("q_in_registers=1") == "q_in_registers=1: standard attention reads Q from shared memory");
  CHECK(why("tile_kv=256 warps=8 min_ctas=1") == "");
  CHECK(why("tile_kv=256 warps=8", "l4") ==
        "the tiles take 163840 bytes of shared memory; a CTA on l4 has 101376");
  CHECK(why("min_ctas=0") == "min_ctas=0 is not in 1..32, the CTAs an SM of a100 can hold");
  CHECK(why("sm90", "h100") == "standard attention has no sm90 kernels");
  CHECK_THROWS_WITH(
      chosen("a100", spec, "standard warps=3"),
      "plan 'sm80 standard tile_q=128 tile_kv=128 warps=3 stages=3 q_in_registers=0 min_ctas=1' cannot "
      "run: warps=3 is not 1, 2, 4 or 8");
  CHECK_THROWS_WITH(
      chosen("host", spec, "standard tile_kv=48"),
      "plan 'host standard tile_q=96 tile_kv=48' cannot run: tile_kv=48 is not a multiple of 32: S has "
      "whole products in memory, tile by tile");
  CHECK_THROWS_WITH(
      chosen("host", spec, "standard tile_q=40"),
      "plan 'host standard tile_q=40 tile_kv=64' cannot run: tile_q=40 is not a multiple of 16 x warps = "
      "16, up to 1024");
  CHECK_THROWS_AS(chosen("t4", spec), SpecError);  // bf16
}

TEST_CASE("a baseline is a kernel of its own, of several passes", "[schedule][baseline]") {
  const Spec spec = Spec::parse("attention a\nhead_dim 64\ndtype bf16\nmask_mod = q_idx >= kv_idx\n");
  const Target& target = find_target("a100");
  const Compiled facet = compile_front_end(spec.checked(), target);
  const Compiled standard = compile_front_end(spec.checked(), target, "standard");
  REQUIRE(standard.plans.size() == 1);
  const Program& program = standard.source->program;
  REQUIRE(program.size() == 3);
  CHECK(print(program) ==
        "facet_scores: grid=q_tiles tile_q=128 tile_kv=128 threads=128 shared_memory=49152 overlaps=0, "
        "leaves scores "
        "of 2 bytes\n"
        "facet_softmax: grid=score_rows tile_q=8 tile_kv=128 threads=256 shared_memory=0 overlaps=0\n"
        "facet_outputs: grid=q_tiles tile_q=128 tile_kv=128 threads=128 shared_memory=73728 overlaps=0\n");
  const Compiled flash1 = compile_front_end(spec.checked(), target, "kv_outer");
  CHECK(is_baseline(flash1.source->program));
  CHECK(print(flash1.source->program) ==
        "facet_tiles: grid=heads tile_q=128 tile_kv=128 threads=256 shared_memory=49152 overlaps=0, "
        "leaves sums of 64 columns\n"
        "facet_outputs: grid=score_rows tile_q=128 tile_kv=128 threads=256 shared_memory=16384 overlaps=0\n");
  CHECK_FALSE(is_baseline(facet.source->program));
  const std::vector<std::string> flags;
  CHECK_FALSE(cuda_key(*facet.source, flags, "") == cuda_key(*standard.source, flags, ""));
  CHECK_FALSE(cuda_key(*flash1.source, flags, "") == cuda_key(*standard.source, flags, ""));
  // A change of a baseline's templates leaves fused kernels in the cache.
  for (const SourceHeader& header : facet.source->headers)
    CHECK((header.path.find("standard") == std::string::npos &&
           header.path.find("flash1") == std::string::npos));
}
