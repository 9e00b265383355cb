// The baselines' kernels of sm_80 and sm_75 (docs/baselines.md), as NVRTC gets them, run on the host against the fp64
// reference.
#include <array>

#include "tests/catch.h"
#include "tests/emulated_gpu/cases.h"
#include "tests/golden.h"

using namespace fa;
using namespace fa::tools;
using fa::test::tiny;

namespace {

Case planned(Case c, const std::string& plan) {
  c.plan = plan;
  return c;
}

/// Every spec, with dtypes, head dims, targets, layouts and ragged lengths that take turns.
std::vector<Case> of_every_spec(const std::string& plan) {
  std::vector<Case> cases;
  for (const std::string& spec : test::all_specs()) {
    const std::size_t i = cases.size();
    const bool is_t4 = i % 3 == 2;
    Case c = tiny(spec, is_t4 ? "t4" : "a100", is_t4 || i % 2 == 0 ? DType::f16 : DType::bf16,
                  std::array{64, 128, 80}[i % 3]);
    if (i % 4 == 1) c.size.q_len = 70;
    if (i % 4 == 3) c.size.kv_len = 61;
    if (i % 2 == 1) c.layout = Layout::bshd;
    if (i % 5 == 4) c.head_dim_v = 40;
    cases.push_back(planned(c, plan));
  }
  return cases;
}

std::vector<Case> in_f32(const std::string& plan) {
  std::vector<Case> cases;
  for (const char* target : {"a100", "t4", "rtx4090"})  // by tf32, and by FFMA with either family's copies
    for (const char* spec : {"causal", "dropout", "alibi", "gpt_oss"})
      cases.push_back(planned(tiny(spec, target, DType::f32, spec[0] == 'c' ? 64 : 40), plan));
  return cases;
}

}  // namespace

TEST_CASE("emulated standard attention", "[emulated][baseline]") {
  test::check_emulated({planned(tiny("causal", "a100", DType::bf16, 64), "standard"),
                        planned(tiny("dropout", "t4", DType::f16, 64), "standard")});
}

TEST_CASE("emulated standard attention of every spec", "[emulated][baseline][slow]") {
  test::check_emulated(of_every_spec("standard"));
  test::check_emulated(in_f32("standard"));
}
