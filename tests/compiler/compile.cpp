#include "compiler/compile.h"

#include <fmt/format.h>

#include <string_view>

#include "tests/catch.h"

using namespace fa;

namespace {

Spec causal(DType dtype = DType::bf16) {
  return Spec::parse("attention causal\nhead_dim 128\nmask_mod = q_idx + (kv_len - q_len) >= kv_idx\n")
      .with_dtype(dtype);
}

}  // namespace

TEST_CASE("the front end runs from a spec to the source of its kernel", "[compile]") {
  for (const Target& target : all_targets()) {
    if (target.is_host()) continue;
    CAPTURE(target.name);
    const Spec spec = causal(target.has_bf16 ? DType::bf16 : DType::f16);
    const Compiled compiled = compile_front_end(spec.checked(), target);
    CHECK(compiled.hooks.mask_mod != nullptr);
    CHECK(compiled.facts.has_mask);
    const Plan& plan = compiled.choice.plan;
    CHECK(why_illegal(plan, spec.checked(), target).empty());
    REQUIRE(compiled.source);
    const std::string suffix(traits_of(plan.family).arch_suffix);
    CHECK(compiled.source->arch == std::string(target.nvrtc_arch) + suffix);
    REQUIRE(compiled.source->program.size() == 1);
    const Pass& pass = compiled.source->program[0];
    CHECK(pass.grid == Grid::last_q_tiles_first);
    CHECK(pass.threads == (plan.warps + traits_of(plan.family).copying_warps) * 32);
    CHECK(pass.tile_q == plan.tile_q);
    CHECK(pass.shared_memory == shared_memory_bytes(plan, spec.checked()));
    CHECK(compiled.source->text.find(pass.entry) != std::string::npos);
    CHECK(compiled.source->text.find(plan.print()) != std::string::npos);
  }
}

TEST_CASE("heads that read one table with an element for each query and key take turns by its grid",
          "[compile]") {
  const auto grid = [](std::string_view tensor, std::string_view score) {
    const Spec spec =
        Spec::parse(fmt::format("attention a\nhead_dim 64\ndtype f16\n{}score_mod = {}\n", tensor, score));
    return compile_front_end(spec.checked(), find_target("a100")).source.value().program.back().grid;
  };
  CHECK(grid("tensor t : f16[q_len, kv_len]\n", "score + t[q_idx, kv_idx]") == Grid::q_tiles_of_shared_table);
  CHECK(grid("tensor t : f16[batch, q_len, kv_len]\n", "score + t[b, q_idx, kv_idx]") ==
        Grid::q_tiles_of_shared_table);
  CHECK(grid("tensor t : f16[num_q_heads, q_len, kv_len]\n", "score + t[h, q_idx, kv_idx]") == Grid::q_tiles);
  CHECK(grid("tensor t : f16[kv_len]\n", "score + t[kv_idx]") == Grid::q_tiles);
  CHECK(grid("", "score") == Grid::q_tiles);
}

TEST_CASE("on the host the plan is the last stage of the front end", "[compile]") {
  const Spec spec = causal(DType::f32);
  const Compiled compiled = compile_front_end(spec.checked(), find_target("host"));
  CHECK(compiled.choice.plan.family == Family::host);
  CHECK(compiled.facts.has_mask);
  CHECK_FALSE(compiled.source);
}

TEST_CASE("a forced plan reaches the source", "[compile]") {
  const Spec spec = causal();
  const Compiled compiled =
      compile_front_end(spec.checked(), find_target("a100"), "tile_q=64 tile_kv=32 min_ctas=1");
  CHECK(compiled.choice.plan.print() ==
        "sm80 q_outer tile_q=64 tile_kv=32 warps=4 stages=1 q_in_registers=0 min_ctas=1");
  REQUIRE(compiled.source);
  CHECK(compiled.source->program.at(0).tile_q == 64);
  CHECK(compiled.source->program.at(0).shared_memory == (64 + 32 + 32) * 256);
}

TEST_CASE("the front end gives no source it could not launch", "[compile]") {
  CHECK_THROWS_AS(compile_front_end(causal(DType::bf16).checked(), find_target("t4")), SpecError);
  CHECK_THROWS_AS(compile_front_end(causal().checked(), find_target("a100"), "tile_q=128 tile_kv=96 warps=4"),
                  Error);
  CHECK_THROWS_AS(compile_front_end(causal().checked(), find_target("h200"), "tile_kv=soon"), Error);
}

TEST_CASE("the same spec gives the same source", "[compile]") {
  const Spec spec = causal();
  const Target& target = find_target("h200");
  CHECK(compile_front_end(spec.checked(), target).source->text ==
        compile_front_end(spec.checked(), target).source->text);
}
