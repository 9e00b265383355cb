// A sink is one more key, with the logit that the spec states and the value 0.
#include <fmt/format.h>

#include <cmath>

#include "tests/catch.h"
#include "tests/numeric/cases.h"
#include "tools/reference/reference.h"

using namespace fa;
using namespace fa::tools;

namespace {

constexpr const char* kSinks[] = {
    "sink 0",
    "sink -3.5",
    "sink 40",
    "sink sinks[h]",
    "sink where(h % 2 == 0, -inf, 2.0 * f32(b) - 1.0)",
    "sink log(1.0 + f32(kv_len)) - max(i < 3: 0.25 * f32(i))",
};
// What kernels keep beside a row's maximum: nothing, rows' terms, a slope, values of the distance, two sets
// of hooks; and masks that leave rows empty.
constexpr const char* kSunkHooks[] = {
    "",
    "score_mod = score + gate[q_idx] - gate[kv_idx]\nmask_mod = q_idx >= kv_idx",
    "score_mod = score - 0.1 * (q_idx - kv_idx)\nmask_mod = q_idx >= kv_idx",
    "score_mod = score + floor(sqrt(f32(abs(q_idx - kv_idx))))",
    "score_mod = 20.0 * tanh(score / 20.0)\nmask_mod = kv_idx >= 40 and q_idx >= kv_idx",
    ("score_mod = where(h < 2, score + min(q_idx - kv_idx, 10), 0.5 * score)\n"
     "mask_mod = where(h < 2, q_idx % 3 != 0, kv_idx < 50)"),
};

Spec spec_of(const std::string& hooks, const std::string& sink, DType dtype) {
  return Spec::parse(
      fmt::format("attention sunk\nhead_dim 64\ndtype {}\ntensor sinks : f32[num_q_heads]\n"
                  "tensor gate : f32[max(q_len, kv_len)]\n{}\n{}\n",
                  dtype_name(dtype), hooks, sink));
}

void check_sinks(Device device, const Path& path) {
  ProblemInputs inputs;
  inputs.size = {.batch = 2, .num_q_heads = 4, .num_kv_heads = 2, .q_len = 70, .kv_len = 133};
  Options options = uncached(device);
  options.target = path.target;
  std::vector<Spec> specs;
  for (const DType dtype : path.dtypes)
    for (const char* hooks : kSunkHooks)
      for (const char* sink : kSinks) specs.push_back(spec_of(hooks, sink, dtype));
  const std::vector<Kernel> kernels =
      compile_on_all_cores(specs.size(), [&](std::size_t i) { return compile(specs[i], options); });
  for (std::size_t i = 0; i < specs.size(); ++i) {
    INFO(specs[i].text() << path.target);
    CHECK(failure(kernels[i], make_problem(specs[i], inputs)) == "");
  }
}

/// Keys up to kv_len, or one more whose k and v are 0.
Problem problem_of(const Spec& spec, bool with_key) {
  constexpr int kKeys = 90;
  ProblemInputs inputs;
  inputs.size = {.batch = 2, .num_q_heads = 4, .num_kv_heads = 2, .q_len = 33, .kv_len = kKeys};
  Problem problem = make_problem(spec, inputs);
  if (!with_key) return problem;
  inputs.size.kv_len = kKeys + 1;
  Problem longer = make_problem(spec, inputs);
  for (auto [from, to] : {std::pair{&problem.k, &longer.k}, {&problem.v, &longer.v}})
    for (std::int64_t head = 0; head < 4; ++head)
      for (std::int64_t i = 0; i < std::int64_t{kKeys + 1} * 64; ++i)
        to->set(head * (kKeys + 1) * 64 + i, i < kKeys * 64 ? from->get(head * kKeys * 64 + i) : 0);
  longer.q = problem.q;
  return longer;
}

}  // namespace

TEST_CASE("host: sinks are within the bound", "[numeric]") {
  check_sinks(Device::host, {"", {DType::f32, DType::bf16}});
}

TEST_CASE("cuda: sinks are within the bound, on every path", "[numeric][gpu]") {
  if (skip_without_gpu()) return;
  for (const Path& path : gpu_paths())  // -c "of t4" runs one of them
    DYNAMIC_SECTION("of " << (path.target.empty() ? "this GPU" : path.target)) {
      check_sinks(Device::cuda, path);
    }
}

TEST_CASE("a sink of 0 is a key of 0 without a value", "[numeric]") {
  const Spec plain = spec_of("", "", DType::f32);
  const Spec sunk = spec_of("", "sink 0.0", DType::f32);
  const Problem longer = problem_of(plain, true);
  const Problem problem = problem_of(sunk, false);
  const std::vector<RowId> rows = sample_rows(problem.size, 1 << 20);
  const ReferenceRows expected = reference_forward(longer, rows);
  const ReferenceRows found = reference_forward(problem, rows);
  const Outputs outputs = run_forward(compile(sunk, uncached(Device::host)), problem);
  double of_reference = 0, of_kernel = 0;
  for (std::size_t i = 0; i < expected.o.size(); ++i) {
    of_reference = std::max(of_reference, std::fabs(found.o[i] - expected.o[i]));
    of_kernel = std::max(of_kernel, std::fabs(outputs.o.get(static_cast<std::int64_t>(i)) - expected.o[i]));
  }
  for (std::size_t i = 0; i < rows.size(); ++i)
    of_reference = std::max(of_reference, std::fabs(found.lse[i] - expected.lse[i]));
  CHECK(rows.size() == 2 * 4 * 33);
  CHECK(of_reference < 1e-12);
  CHECK(of_kernel < 1e-5);
}

TEST_CASE("a sink of -inf is none, to the last bit", "[numeric]") {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Spec plain = spec_of(kSunkHooks[4], "", dtype);
    const Spec sunk = spec_of(kSunkHooks[4], "sink -inf", dtype);
    const Problem problem = problem_of(plain, false);
    const Outputs expected = run_forward(compile(plain, uncached(Device::host)), problem);
    const Outputs found = run_forward(compile(sunk, uncached(Device::host)), problem_of(sunk, false));
    CHECK(found.o.bytes == expected.o.bytes);
    CHECK(found.lse == expected.lse);
  }
}

TEST_CASE("a row that keeps no key has the sink alone", "[numeric]") {
  const Spec spec = spec_of("mask_mod = kv_idx < q_idx - 10", "sink sinks[h]", DType::f32);
  const Problem problem = problem_of(spec, false);
  const Outputs outputs = run_forward(compile(spec, uncached(Device::host)), problem);
  for (int head = 0; head < 8; ++head) {
    CHECK(outputs.o.get(std::int64_t{head} * 33 * 64) == 0);
    CHECK(outputs.lse[static_cast<std::size_t>(head * 33)] ==
          Catch::Detail::Approx(problem.tensors[0].get(head % 4)).margin(1e-6));
  }
}
