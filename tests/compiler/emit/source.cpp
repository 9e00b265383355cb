// The generated unit of two kernels, to the letter: which template, element and constants a target and a
// dtype choose.
#include "compiler/emit/source.h"

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
