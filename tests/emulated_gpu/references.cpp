// Scores that rise from tile to tile, for kernels that trust what their exponentials refer to (templates/common/row_references.cuh).
#include <limits>

#include "compiler/compile.h"
#include "tests/catch.h"
#include "tests/emulated_gpu/cases.h"
#include "tests/emulated_gpu/kernel.h"
#include "tools/reference/reference.h"

using namespace fa;
using namespace fa::tools;
using fa::test::emulated_kernel;
using fa::test::failure_in_any_order;

namespace {

constexpr const char* kOneStage = "tile_q=64 tile_kv=32 warps=4 stages=1";
constexpr const char* kTwoStages = "tile_q=64 tile_kv=32 warps=4 stages=2 min_ctas=1";

Spec spec_of(const std::string& rest, DType dtype) {
  return Spec::parse("attention rising\nhead_dim 32\ndtype bf16\n" + rest).with_dtype(dtype);
}

Problem problem_of(const Spec& spec, int q_len = 70, int kv_len = 400) {
  ProblemInputs inputs;
  inputs.size = {.batch = 1, .num_q_heads = 1, .num_kv_heads = 1, .q_len = q_len, .kv_len = kv_len};
  return make_problem(spec, inputs);
}

Source source_of(const Spec& spec, const char* target, const char* plan) {
  return *compile_front_end(spec.checked(), find_target(target), plan).source;
}

std::string failure_of(const Spec& spec, const char* target, const char* plan, const Problem& problem) {
  return failure_in_any_order(spec, source_of(spec, target, plan), problem);
}

struct Kind {
  const char* target;
  const char* plan;
  DType dtype;
};
constexpr Kind kKinds[] = {{"a100", kOneStage, DType::bf16},
                           {"a100", kTwoStages, DType::bf16},
                           {"a100", kTwoStages, DType::f32},
                           {"a100", kTwoStages, DType::f16},
                           {"t4", kOneStage, DType::f32}};

}  // namespace

// In base 2: by 5 a tile, where references follow the sums now and then; by 40, carefully; by 290 at once, where all is done
// again; behind tiles of a large negative addend; of one row alone.
TEST_CASE("emulated kernels of scores that rise from tile to tile", "[emulated]") {
  if (test::skip_without_compiler()) return;
  for (const char* rest :
       {"score_mod = score + f32(kv_idx / 32) * 3.5\n", "score_mod = score + f32(kv_idx / 32) * 28.0\n",
        "score_mod = score + where(kv_idx == 300, 200.0, 0.0)\n",
        "score_mod = score + where(kv_idx < 200, -10000.0, 0.0)\nmask_mod = kv_idx != q_idx\n",
        "score_mod = score + where(q_idx == 69 and kv_idx > 222, 70.0, 0.0)\n"})
    for (const Kind& kind : kKinds) {
      CAPTURE(rest, kind.target, kind.plan, kind.dtype);
      const Spec spec = spec_of(rest, kind.dtype);
      CHECK(failure_of(spec, kind.target, kind.plan, problem_of(spec)) == "");
    }
}

// What columns take to find has one room that all warps share; a table's tiles have one or two.
TEST_CASE("emulated kernels that visit tiles again share what hooks read ahead", "[emulated]") {
  if (test::skip_without_compiler()) return;
  for (const char* rest : {"tensor gate : f32[kv_len]\nscore_mod = score * exp(gate[kv_idx]) + where(kv_idx "
                           "== 300, 200.0, 0.0)\n",
                           "tensor pair : bf16[q_len, kv_len]\nscore_mod = score + pair[q_idx, kv_idx]\n"})
    for (const char* plan : {kOneStage, kTwoStages, "tile_q=64 tile_kv=64 warps=4 stages=2 min_ctas=3"}) {
      CAPTURE(rest, plan);
      const Spec spec = spec_of(rest, DType::bf16).with_head_dim(64);
      Problem problem = problem_of(spec);
      if (problem.tensors[0].elements() > 400) problem.tensors[0].set(33 * 400 + 307, 300.0);
      CHECK(failure_of(spec, "a100", plan, problem) == "");
    }
}

// Exponentials of 2^50 times such values are more than f32 holds, though the outputs are not.
TEST_CASE("emulated kernels of values that large exponentials would overflow", "[emulated]") {
  if (test::skip_without_compiler()) return;
  for (const Kind& kind : kKinds) {
    if (kind.dtype == DType::f16) continue;
    CAPTURE(kind.target, kind.plan, kind.dtype);
    for (const char* from : {"300", "390"}) {  // from a tile within on, or in the last alone
      const Spec spec =
          spec_of(std::string("score_mod = score + where(kv_idx > ") + from + ", 35.0, 0.0)\n", kind.dtype);
      Problem problem = problem_of(spec);
      for (std::int64_t i = 0; i < problem.v.elements(); ++i) problem.v.set(i, problem.v.get(i) * 1e30);
      CHECK(failure_of(spec, kind.target, kind.plan, problem) == "");
    }
  }
}

// What is not finite stays so, and spoils no other row.
TEST_CASE("emulated kernels of scores that are not finite, late in a row", "[emulated]") {
  if (test::skip_without_compiler()) return;
  for (const Kind& kind : kKinds)
    for (const double odd :
         {std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
          std::numeric_limits<double>::quiet_NaN()}) {
      CAPTURE(kind.target, kind.plan, kind.dtype, odd);
      const Spec spec =
          spec_of("tensor gate : f32[q_len]\nscore_mod = score + where(kv_idx == 333, gate[q_idx], 0.0)\n",
                  kind.dtype);
      Problem problem = problem_of(spec);
      problem.tensors[0].set(17, odd);
      const Outputs outputs = run_forward(emulated_kernel(spec, kind.target, kind.plan), problem);
      const Comparison found =
          compare(reference_forward(problem, sample_rows(problem.size, 1 << 20)),
                  error_bound(kind.dtype, 32, problem.size.kv_len), problem.size, outputs.o, outputs.lse);
      CHECK((found.holds() ? std::string() : found.print_worst()) == "");
    }
}

TEST_CASE("the emulation shows where lost sums and values are not looked for", "[emulated]") {
  if (test::skip_without_compiler()) return;
  const auto changed = [](const Source& source, const char* from, const char* to) {
    return test::replaced(source, "common/row_references.cuh", from, to);
  };
  const Spec spec = spec_of("score_mod = score + where(kv_idx > 300, 35.0, 0.0)\n", DType::bf16);
  const Source source = source_of(spec, "a100", kTwoStages);
  Problem problem = problem_of(spec);
  // By 2^50 at once: sums hold that, and so does O of small values.
  const char* values = "!output.is_surely_finite()";
  CHECK(failure_in_any_order(spec, changed(source, values, "false"), problem) == "");
  for (std::int64_t i = 0; i < problem.v.elements(); ++i) problem.v.set(i, problem.v.get(i) * 1e30);
  CHECK(failure_in_any_order(spec, source, problem) == "");
  CHECK(failure_in_any_order(spec, changed(source, values, "false"), problem) != "");

  // In the last tile, after which no reference follows.
  const Spec jump = spec_of("score_mod = score + where(kv_idx == 399, 200.0, 0.0)\n", DType::bf16);
  const Source of_jump = source_of(jump, "a100", kTwoStages);
  CHECK(failure_in_any_order(jump, of_jump, problem_of(jump)) == "");
  CHECK(failure_in_any_order(jump, changed(of_jump, "trusted && lost", "false"), problem_of(jump)) != "");
  // What is low is not trusted: else this is done twice, and right.
  const Spec padded = spec_of("score_mod = score + where(kv_idx < 200, -10000.0, 0.0)\n", DType::bf16);
  const Source of_padded = source_of(padded, "a100", kOneStage);
  const char* again = "return output.end_copies_and_ask(have_lost(store, output, softmax));";
  const char* once = "output.end_copies_and_ask(have_lost(store, output, softmax)); return false;";
  CHECK(failure_in_any_order(padded, changed(of_padded, again, once), problem_of(padded)) == "");
  CHECK(failure_in_any_order(jump, changed(of_jump, again, once), problem_of(jump)) != "");
}
