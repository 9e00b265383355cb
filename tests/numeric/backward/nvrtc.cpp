// The backward pass of every spec builds for every architecture that has one, and spills no more registers than
// is written down here. Needs NVRTC, no GPU.
#include <fmt/format.h>

#include <array>

#include "compiler/compile.h"
#include "runtime/build/nvrtc.h"
#include "tests/build_once.h"
#include "tests/catch.h"
#include "tests/golden.h"
#include "tests/numeric/backward/cases.h"
#include "tools/reference/parallel.h"

using namespace fa;
using namespace fa::tools;

namespace {

struct Build {
  Spec spec;
  std::string name;  // for messages
  std::string_view target;
  bool deterministic = false;
};

struct Result {
  std::string error = {};  // empty: it was built
  int spill_bytes = 0;     // of all passes
};

Source backward_source(const Build& build) {
  const Target& target = find_target(build.target);
  const CheckedSpec& checked = build.spec.checked();
  const Compiled compiled = compile_front_end(checked, target, {}, Passes::forward_and_backward);
  return emit_backward_for_gpu(checked, compiled,
                               plan_backward(checked, compiled, target, build.deterministic), target);
}

Result build_one(const Build& build) {
  try {
    const Built built = tests::build_once(backward_source(build));
    if (built.cubin.empty()) return {.error = "no cubin"};
    return {.spill_bytes = built.figures.spill_bytes()};
  } catch (const BuildError& error) {
    return {.error = fmt::format("{}\n{}", error.what(), error.log())};
  } catch (const Error& error) {
    return {.error = error.what()};
  }
}

Build of(const std::string& spec, DType dtype, int head_dim, std::string_view target) {
  return {.spec = load_spec(spec).with_dtype(dtype).with_head_dim(head_dim),
          .name = fmt::format("{} {} d{} {}", spec, dtype_name(dtype), head_dim, target),
          .target = target};
}

/// Builds all, and checks that each spills at most `most(build)` bytes.
template <class Most>
void check_builds(const std::vector<Build>& builds, Most most) {
  if (tests::skip_without_nvrtc()) return;
  std::vector<Result> results(builds.size());
  parallel_for(static_cast<std::int64_t>(builds.size()), 1, [&](std::int64_t i, std::int64_t) {
    results[static_cast<std::size_t>(i)] = build_one(builds[static_cast<std::size_t>(i)]);
  });
  for (std::size_t i = 0; i < builds.size(); ++i) {
    INFO(builds[i].name << "\n" << results[i].error);
    CHECK(results[i].error == "");
    CHECK(results[i].spill_bytes <= most(builds[i]));
    if (results[i].spill_bytes != 0)
      fmt::print("{}: {} bytes spilled\n", builds[i].name, results[i].spill_bytes);
  }
}

}  // namespace

TEST_CASE("the backward pass of every spec builds for sm_80 and spills nothing at d64 and d128",
          "[backward][nvrtc][slow]") {
  std::vector<Build> builds;
  for (const std::string& spec : test::all_specs())
    for (const int head_dim : {64, 128})
      builds.push_back(of(spec, builds.size() % 4 < 2 ? DType::bf16 : DType::f16, head_dim, "a100"));
  check_builds(builds, [](const Build&) { return 0; });
}

TEST_CASE("the backward pass of every spec builds for other architectures", "[backward][nvrtc][slow]") {
  constexpr std::array<std::string_view, 5> kOthers = {"t4", "h100", "t4", "l4", "a100"};
  std::vector<Build> builds;
  for (const std::string& spec : test::all_specs()) {
    const std::size_t i = builds.size();
    builds.push_back(of(spec, DType::f16, std::array{64, 128, 256, 80}[i % 4], kOthers[i % kOthers.size()]));
  }
  // Seen: on a T4 108 bytes at d128 and 16 at d64, for sm_90 36 at d256.
  check_builds(builds, [](const Build& build) { return build.target == "t4" ? 128 : 64; });
}

TEST_CASE("the backward pass builds in f32", "[backward][nvrtc][slow]") {
  std::vector<Build> builds;
  // Every target meets every head_dim, but a T4 has no room for heads of 256; specs take turns.
  constexpr std::array kSpecs = {"full", "causal", "t5_bias", "document"};
  for (const std::string_view target : {"a100", "t4", "rtx4090"})
    for (const int head_dim : {64, 128, 256})
      if (target != "t4" || head_dim != 256)
        builds.push_back(of(kSpecs[builds.size() % kSpecs.size()], DType::f32, head_dim, target));
  check_builds(builds, [](const Build&) { return 1024; });
}

namespace {

std::vector<Build> captured_builds(bool deterministic) {
  std::vector<Build> builds;
  for (const std::string& items : captured_items()) {
    const bool is_t4 = builds.size() % 3 == 2;
    const std::string text =
        fmt::format("attention captured\nhead_dim 64\ndtype {}\n{}", is_t4 ? "f16" : "bf16", items);
    builds.push_back({.spec = Spec::parse(text),
                      .name = text,
                      .target = is_t4 ? "t4" : "a100",
                      .deterministic = deterministic});
  }
  return builds;
}

}  // namespace

// Its most expensive functions are then the same code, which compilers do once.
TEST_CASE("the derivative by the score is found from what score_mod finds", "[backward]") {
  for (const auto& [spec, shared] :
       {std::pair{"softcap", "fast_tanh(s * head.product)"},
        {"sigmoid_gate", "fast_sigmoid(head.sharpness * (scaled_score - p.params[0].f32))"}}) {
    const std::string text = backward_source(of(spec, DType::bf16, 128, "a100")).text;
    const std::size_t logit = text.find("float logit("), derivative = text.find("float d_score(");
    INFO(text);
    REQUIRE(logit < derivative);
    REQUIRE(derivative != std::string::npos);
    const std::size_t first = text.find(shared, logit), second = text.find(shared, derivative);
    CHECK(first < derivative);
    CHECK(second != std::string::npos);
    CHECK(text.find("/ ", derivative) > text.find('}', derivative));  // reciprocals are the head's
  }
  // A score that is only added to has none, a multiple's is a number.
  CHECK(backward_source(of("alibi", DType::bf16, 128, "a100")).text.find("d_score") == std::string::npos);
  const Spec doubled =
      Spec::parse("attention doubled\nhead_dim 64\ndtype bf16\nscore_mod = score * 2 + 0.1 * q_idx\n");
  const std::string text = backward_source({.spec = doubled, .name = "doubled", .target = "a100"}).text;
  CHECK(text.find("return static_cast<float>(2);") != std::string::npos);
}

TEST_CASE("the gradients of what hooks capture build", "[backward][nvrtc][slow]") {
  // Seen: 264 bytes with the sums of five elements a row and five a column, 64 with tables read at the element.
  check_builds(captured_builds(false), [](const Build&) { return 288; });
}

TEST_CASE("gradients that repeat build", "[backward][nvrtc][deterministic][slow]") {
  check_builds(captured_builds(true), [](const Build&) { return 288; });
}
