// The forward kernels of sm_80 and sm_75, as NVRTC gets them, run on the host against the fp64 reference: what
// a machine without a GPU can say of them. Problems are tiny, a few tiles each way.
#include <array>
#include <cstring>
#include <limits>

#include "compiler/compile.h"
#include "tests/catch.h"
#include "tests/emulated_gpu/cases.h"
#include "tests/emulated_gpu/kernel.h"
#include "tests/golden.h"
#include "tools/reference/reference.h"

using namespace fa;
using namespace fa::tools;
using fa::test::emulated_kernel;
using fa::test::Order;
using fa::test::replaced;
using fa::test::tiny;

namespace {

bool same_bits(const Outputs& a, const Outputs& b) {
  bool same = std::memcmp(a.lse.data(), b.lse.data(), a.lse.size() * sizeof(float)) == 0;
  for (std::int64_t i = 0; i < a.o.elements(); ++i) same = same && a.o.get(i) == b.o.get(i);
  return same;
}

/// Whether a kernel's bits do not depend on the order that its threads run in.
bool orders_agree(const Case& c, const Source& source) {
  const Problem problem = make_problem(c.load(), c.inputs());
  return same_bits(run_forward(emulated_kernel(c.load(), source, Order::first_to_last), problem),
                   run_forward(emulated_kernel(c.load(), source, Order::last_to_first), problem));
}

Source source_of(const Case& c) {
  return *compile_front_end(c.load().checked(), find_target(c.target), c.plan).source;
}

}  // namespace

TEST_CASE("emulated kernels of sm_80 and sm_75 compute plain attention", "[emulated]") {
  test::check_emulated({tiny("causal", "a100", DType::bf16, 64), tiny("causal", "t4", DType::f16, 64),
                        tiny("full", "a100", DType::f32, 32), tiny("full", "t4", DType::f32, 32)});
}

// A CTA that has an SM to itself copies a table's tiles a step ahead, in one stage and in two. Numbers that are not finite stay
// those of their elements.
TEST_CASE("emulated kernels copy a table's tiles a step ahead", "[emulated]") {
  if (test::skip_without_compiler()) return;
  const Spec spec = pair_bias_spec(DType::bf16);
  ProblemInputs inputs;
  inputs.size = {.batch = 1, .num_q_heads = 1, .num_kv_heads = 1, .q_len = 300, .kv_len = 144};
  const Problem sound = make_problem(spec, inputs);
  Problem odd = sound;
  for (const int element : {0, 70, 7 * 144 + 143, 200 * 144 + 65, 299 * 144})
    odd.tensors[0].set(element, -std::numeric_limits<double>::infinity());
  for (const char* plan : {"tile_q=256 tile_kv=64 warps=8 stages=1 min_ctas=1",
                           "tile_q=64 tile_kv=32 warps=4 stages=2 min_ctas=1"}) {
    const Source source = *compile_front_end(spec.checked(), find_target("a100"), plan).source;
    CAPTURE(plan);
    CHECK(source.text.find("kStagedBuffers = 2;") != std::string::npos);
    for (const Order order : {Order::first_to_last, Order::last_to_first}) {
      const Kernel kernel = emulated_kernel(spec, source, order);
      CHECK(failure(kernel, sound) == "");
      CHECK(failure(kernel, odd) == "");
    }
  }
}

// 48 rows a warp are more than it has lanes; 144 columns under a long mask are 18 groups of 4 bits, which no
// loop over 64 bits divides into equal parts.
TEST_CASE("emulated f32 kernels of odd tiles", "[emulated]") {
  Case tall = tiny("full", "a100", DType::f32, 32), wide = tiny("tree", "a100", DType::f32, 32);
  tall.plan = "tile_q=96 tile_kv=16 warps=2";
  wide.plan = "tile_q=64 tile_kv=144 warps=4";
  test::check_emulated({tall, wide});

  if (test::skip_without_compiler()) return;
  // Every row has an infinity of V: those beyond the warp's lanes, too.
  Problem problem = make_problem(tall.load(), tall.inputs());
  problem.v.set(7, std::numeric_limits<double>::infinity());
  const Outputs outputs = run_forward(emulated_kernel(tall.load(), tall.target, tall.plan), problem);
  const Comparison found =
      compare(reference_forward(problem, sample_rows(problem.size, 1 << 20)),
              error_bound(DType::f32, 32, problem.size.kv_len), problem.size, outputs.o, outputs.lse);
  CHECK((found.holds() ? std::string() : found.print_worst()) == "");
}

// Turns of four numbers: of three heads, a fourth of which no entry has; of one head of three entries, a fourth that is none.
TEST_CASE("emulated kernels whose heads take turns across batch entries", "[emulated]") {
  std::vector<Case> cases;
  for (const char* spec : {"causal", "bigbird"})
    for (const int heads : {3, 1}) {
      Case c = tiny(spec, heads == 3 ? "a100" : "t4", DType::f16, 32);
      c.size.batch = 3;
      c.size.num_q_heads = heads;
      cases.insert(cases.end(), 2, c);  // in both orders, of which one has such turns
    }
  test::check_emulated(cases);
}

TEST_CASE("emulated kernels of every spec", "[emulated][slow]") {
  std::vector<Case> cases;
  for (const std::string& spec : test::all_specs()) {
    const std::size_t i = cases.size();
    const bool is_t4 = i % 3 == 2;
    Case c = tiny(spec, is_t4 ? "t4" : "a100", is_t4 || i % 2 == 0 ? DType::f16 : DType::bf16,
                  std::array{64, 128, 80}[i % 3]);
    if (i % 4 == 1) c.size.q_len = 70;
    if (i % 4 == 3) c.size.kv_len = 61;
    if (i % 2 == 1) c.layout = Layout::bshd;
    cases.push_back(c);
  }
  test::check_emulated(cases);
}

TEST_CASE("an emulated kernel's bits do not depend on the order of its threads", "[emulated]") {
  if (test::skip_without_compiler()) return;
  for (const Case& c : {tiny("causal", "a100", DType::bf16, 64), tiny("alibi", "t4", DType::f16, 32)}) {
    INFO(c.print());
    CHECK(orders_agree(c, source_of(c)));
  }
}

TEST_CASE("the emulation shows where a barrier or a wait for copies is missing", "[emulated]") {
  if (test::skip_without_compiler()) return;
  Case c = tiny("causal", "a100", DType::bf16, 64);
  c.plan = "stages=1";
  const Source source = source_of(c);
  const std::string wait = "      await_copies<0>();\n      __syncthreads();\n      load_v";
  const std::string barrier = "      __syncthreads();\n";
  const std::string copies_v = "      load_v(now.tile(), 0);\n      if constexpr (kElementsAhead)";
  const std::string copies_k = "      if constexpr (!kElementsAhead) load_elements";
  const auto changed = [&](const std::string& from, const std::string& to) {
    return replaced(source, "common/forward.cuh", from, to);
  };
  CHECK_FALSE(orders_agree(c, changed(wait, "      __syncthreads();\n      load_v")));
  CHECK_FALSE(orders_agree(c, changed(barrier + copies_v, copies_v)));
  CHECK_FALSE(orders_agree(c, changed(barrier + copies_k, copies_k)));
}
