// The baselines' kernels of sm_80 and sm_75 (docs/baselines.md), as NVRTC gets them, run on the host against the fp64
// reference.
#include <array>
#include <tuple>

#include "tests/catch.h"
#include "tests/emulated_gpu/cases.h"
#include "tests/golden.h"
#include "tests/pairwise.h"

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

TEST_CASE("emulated algorithm 1", "[emulated][baseline]") {
  // Several tiles each way; ALiBi's maxima move with the kv tiles.
  test::check_emulated(
      {planned(tiny("causal", "a100", DType::bf16, 64), "kv_outer tile_q=64 tile_kv=32 warps=4"),
       planned(tiny("alibi", "t4", DType::f16, 64), "kv_outer tile_q=32 tile_kv=64 warps=2")});
}

TEST_CASE("emulated algorithm 1 of every spec", "[emulated][baseline][slow]") {
  for (std::vector<Case> cases : {of_every_spec("kv_outer"), in_f32("kv_outer")}) {
    for (std::size_t i = 1; i < cases.size(); i += 2) cases[i].plan = "kv_outer tile_q=32 tile_kv=32 warps=2";
    test::check_emulated(cases);
  }
}

TEST_CASE("emulated algorithm 1 under odd plans and lengths", "[emulated][baseline][slow]") {
  constexpr std::array kPlans = {
      "kv_outer tile_q=32 tile_kv=48 warps=1", "kv_outer tile_q=16 tile_kv=16 warps=1",
      "kv_outer tile_q=64 tile_kv=144 warps=4", "kv_outer tile_q=64 tile_kv=80 warps=4"};
  constexpr std::array<std::pair<int, int>, 5> kLengths = {
      {{1, 1}, {1, 129}, {49, 48}, {130, 15}, {300, 97}}};
  constexpr std::array kSpecs = {"causal", "alibi", "gpt_oss", "dropout"};
  constexpr std::array kTargets = {"a100", "t4"};
  constexpr std::array kHeadDimsV = {0, 72};
  std::vector<Case> cases;
  for (const test::Choice& choice :
       test::pairwise({kPlans.size(), kLengths.size(), kSpecs.size(), kTargets.size(), kHeadDimsV.size()})) {
    Case c = planned(tiny(kSpecs[choice[2]], kTargets[choice[3]], DType::f16, 40), kPlans[choice[0]]);
    c.size.batch = 2;
    c.size.num_q_heads = 3;
    std::tie(c.size.q_len, c.size.kv_len) = kLengths[choice[1]];
    c.head_dim_v = kHeadDimsV[choice[4]];
    cases.push_back(c);
  }
  test::check_emulated(cases);
}

TEST_CASE("emulated standard attention of every spec", "[emulated][baseline][slow]") {
  test::check_emulated(of_every_spec("standard"));
  test::check_emulated(in_f32("standard"));
}
