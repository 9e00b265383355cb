// Forward kernels of sm_80 in two stages, whose warps are up to a tile apart: barriers in shared memory say which tiles are there
// and which buffers are free.
#include "compiler/compile.h"
#include "tests/catch.h"
#include "tests/emulated_gpu/cases.h"
#include "tests/emulated_gpu/kernel.h"
#include "tools/reference/reference.h"

using namespace fa;
using namespace fa::tools;
using fa::test::failure_in_any_order;
using fa::test::tiny;

namespace {

constexpr const char* kTwoStages = "tile_q=64 tile_kv=32 warps=4 stages=2 min_ctas=1";

/// The source with `from`, which the forward kernel's header has, left out.
Source without(const Source& source, const std::string& from) {
  return fa::test::replaced(source, "common/forward.cuh", from, "");
}

Source source_of(const Spec& spec, std::string_view plan) {
  return *compile_front_end(spec.checked(), find_target("a100"), plan).source;
}

}  // namespace

// Two q tiles, the last cut, and keys for three steps: both stages come twice.
TEST_CASE("emulated kernels of 256 rows in two stages", "[emulated]") {
  Case full = tiny("full", "a100", DType::bf16, 128);
  full.plan = "tile_q=256 tile_kv=64 warps=8 stages=2";
  full.size = {.batch = 1, .num_q_heads = 1, .num_kv_heads = 1, .q_len = 300, .kv_len = 150};
  test::check_emulated({full});
}

TEST_CASE("emulated kernels in two stages by the classes of tiles, with dropout, with a sink, in f32",
          "[emulated]") {
  std::vector<Case> cases;
  for (const char* spec : {"causal", "document", "dropout", "gpt_oss", "alibi", "tree"})
    cases.push_back(tiny(spec, "a100", cases.size() % 2 == 0 ? DType::bf16 : DType::f16, 64));
  cases.push_back(tiny("causal", "a100", DType::f32, 32));
  for (Case& c : cases) c.plan = kTwoStages;
  test::check_emulated(cases);
}

TEST_CASE("emulated kernels in two stages share what columns take to find, and one tile of a table",
          "[emulated]") {
  if (test::skip_without_compiler()) return;
  const Spec gate = Spec::parse(
      "attention gate\nhead_dim 64\ndtype bf16\ntensor gate : f32[num_q_heads, kv_len] = -0.01 * i1\n"
      "score_mod = score * exp(gate[h, kv_idx])\nmask_mod = q_idx >= kv_idx\n");
  const Spec pair = pair_bias_spec(DType::bf16).with_head_dim(64);
  ProblemInputs inputs;
  inputs.size = {.batch = 1, .num_q_heads = 2, .num_kv_heads = 1, .q_len = 150, .kv_len = 200};
  const Source of_gate = source_of(gate, kTwoStages);
  CHECK(of_gate.text.find("kStagesColumns = true;") != std::string::npos);
  CHECK(failure_in_any_order(gate, of_gate, make_problem(gate, inputs)) == "");
  const Source of_pair = source_of(pair, "tile_q=64 tile_kv=64 warps=4 stages=2 min_ctas=3");
  CHECK(of_pair.text.find("kStagesElements = true;") != std::string::npos);
  CHECK(of_pair.text.find("kStagedBuffers = 2;") == std::string::npos);
  CHECK(failure_in_any_order(pair, of_pair, make_problem(pair, inputs)) == "");
}

TEST_CASE("the emulation shows where a wait for a stage is missing", "[emulated]") {
  if (test::skip_without_compiler()) return;
  const Spec spec = load_spec("causal").with_head_dim(64);
  ProblemInputs inputs;
  inputs.size = {.batch = 1, .num_q_heads = 1, .num_kv_heads = 1, .q_len = 150, .kv_len = 170};
  const Problem problem = make_problem(spec, inputs);
  const Source source = source_of(spec, kTwoStages);
  CHECK(failure_in_any_order(spec, source, problem) == "");
  CHECK(failure_in_any_order(spec, without(source, "      wait(barriers().full(stage), turn / 2 % 2);\n"),
                             problem) != "");
  const std::string wait_empty = "      wait(barriers().empty(other), (turn + 3) / 2 % 2);";
  CHECK(failure_in_any_order(spec, without(source, wait_empty), problem) != "");
}
