// The generated source of three kernels, to the letter: which template, element and constants a target and a
// dtype choose.
#include "compiler/emit/cuda/source.h"

#include "compiler/compile.h"
#include "tests/catch.h"
#include "tests/golden.h"

using namespace fa;

namespace {

Source source_of(const char* spec, DType dtype, int head_dim, const char* target) {
  const Spec loaded = Spec::load(test::spec_path(spec)).with_dtype(dtype).with_head_dim(head_dim);
  return *compile_front_end(loaded.checked(), find_target(target)).source;
}

}  // namespace

TEST_CASE("the source of an sm_75 kernel and of two f32 kernels", "[emit]") {
  test::check_golden("source/causal_f16_d64_t4.cu", source_of("causal", DType::f16, 64, "t4").text);
  test::check_golden("source/alibi_f32_d64_h200.cu", source_of("alibi", DType::f32, 64, "h200").text);
  test::check_golden("source/causal_f32_d128_t4.cu", source_of("causal", DType::f32, 128, "t4").text);
}

TEST_CASE("scores begin with a table of 16 bits, whatever its factor", "[emit]") {
  const auto begins_with_elements = [](const char* table, const char* factor) {
    const Spec spec =
        Spec::parse(std::string("attention t\nhead_dim 64\ndtype f16\nscale 1.0\ntensor a : ") + table +
                    "[q_len, kv_len]\nscore_mod = score + " + factor + " * a[q_idx, kv_idx]\n");
    const std::string text = compile_front_end(spec.checked(), find_target("a100")).source->text;
    return text.find("kAddendTermIsElement = true") != std::string::npos;
  };
  CHECK(begins_with_elements("f16", "3.0"));
  CHECK(begins_with_elements("f16", "-0.2"));
  CHECK(begins_with_elements("f16", "0.00001"));
  CHECK(begins_with_elements("f16", "100000.0"));
  CHECK(begins_with_elements("bf16", "0.00001"));
  CHECK(begins_with_elements("bf16", "100000.0"));
  CHECK_FALSE(begins_with_elements("f32", "3.0"));
}

TEST_CASE("a source carries the templates of its family and no other's", "[emit]") {
  for (const auto& [target, own, other] : {std::tuple{"t4", "sm75/", "sm80/"}, {"a100", "sm80/", "sm75/"}}) {
    bool has_forward = false;
    for (const SourceHeader& header : source_of("full", DType::f16, 64, target).headers) {
      CHECK_FALSE(header.path.starts_with(other));
      has_forward |= header.path == std::string(own) + "forward.cuh";
    }
    CHECK(has_forward);
  }
}

TEST_CASE("the pass of a tile map waits for the caller's kernel before attention may start", "[emit]") {
  for (const auto& [target, overlaps] : {std::pair{"a100", false}, {"h100", true}}) {
    const Source source = source_of("document", DType::bf16, 64, target);
    REQUIRE(source.program.size() == 2);
    CHECK(source.program[0].overlaps == overlaps);
    CHECK(source.program[1].overlaps == overlaps);
    const std::string entry = source.text.substr(source.text.find("    facet_tile_map("));
    const std::size_t wait = entry.find("fa::await_pass_before();"),
                      start = entry.find("fa::let_next_pass_start();");
    REQUIRE(start != std::string::npos);
    CHECK(wait < start);
    CHECK(start < entry.find(".run();"));
  }
}
