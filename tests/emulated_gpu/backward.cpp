// The backward kernels of sm_80 and sm_75, as NVRTC gets them, run on the host: gradients of tiny problems
// against the fp64 reference.
#include <array>

#include "tests/catch.h"
#include "tests/emulated_gpu/kernel.h"
#include "tests/golden.h"
#include "tests/numeric/backward/cases.h"
#include "tools/reference/parallel.h"

using namespace fa;
using namespace fa::tools;
using fa::test::emulated_kernel_with_backward;
using fa::test::Order;

namespace {

constexpr ProblemSize kGrouped = {
    .batch = 1, .num_q_heads = 4, .num_kv_heads = 2, .q_len = 150, .kv_len = 170};

Case of(const std::string& spec, const std::string& target, DType dtype, int head_dim, int head_dim_v = 0) {
  return {.spec = spec,
          .dtype = dtype,
          .head_dim = head_dim,
          .head_dim_v = head_dim_v,
          .size = kGrouped,
          .layout = Layout::bhsd,
          .plan = {},
          .target = target};
}

/// A spec on a problem, as a GPU's kernels.
struct Emulated {
  Spec spec;
  ProblemInputs inputs;
  Layout layout;
  std::string target;
  std::string plan = {};  // parts of the backward plan that are forced
};

/// What is wrong with its gradients, or an empty text.
std::string wrong_with(const Emulated& c, Order order) {
  try {
    return backward_failure(
        emulated_kernel_with_backward(c.spec, c.target, order,
                                      [&](BackwardPlan& plan) { plan = parse_backward_plan(c.plan, plan); }),
        make_problem(c.spec, c.inputs), c.layout);
  } catch (const BuildError& error) {
    return std::string(error.what()) + "\n" + error.log();
  } catch (const Error& error) {
    return error.what();
  }
}

void check_gradients(const std::vector<Emulated>& cases) {
  if (test::skip_without_compiler()) return;
  std::vector<std::string> wrong(cases.size());
  parallel_for(static_cast<std::int64_t>(cases.size()), 1, [&](std::int64_t at, std::int64_t) {
    const auto i = static_cast<std::size_t>(at);
    wrong[i] = wrong_with(cases[i], i % 2 == 0 ? Order::first_to_last : Order::last_to_first);
  });
  for (std::size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i].spec.text() << "on " << cases[i].target << ", " << cases[i].inputs.size.q_len << " x "
                              << cases[i].inputs.size.kv_len << " " << cases[i].plan);
    CHECK(wrong[i] == "");
  }
}

void check_gradients(const std::vector<Case>& cases) {
  std::vector<Emulated> all;
  for (const Case& c : cases)
    all.push_back(
        {c.load(), c.inputs(), c.layout, c.target, all.size() % 4 >= 2 ? "dq_by_sums=0 delays_dq=0" : ""});
  check_gradients(all);
}

}  // namespace

TEST_CASE("emulated backward kernels of sm_80 and sm_75", "[emulated][backward]") {
  Case entries = of("causal", "t4", DType::f16, 64);  // whose heads take turns across batch entries
  entries.size.batch = entries.size.num_q_heads = 3;
  entries.size.num_kv_heads = 1;
  check_gradients({of("causal", "a100", DType::bf16, 64), of("softcap", "t4", DType::f16, 64), entries});
}

TEST_CASE("emulated backward kernels of every spec", "[emulated][backward][slow]") {
  std::vector<Case> cases;
  for (const std::string& spec : test::all_specs()) {
    const std::size_t i = cases.size();
    const bool is_t4 = i % 3 == 2;
    Case c = of(spec, is_t4 ? "t4" : "a100", is_t4 || i % 2 == 0 ? DType::f16 : DType::bf16,
                std::array{64, 128, 64, 80}[i % 4]);
    if (i % 4 == 1) c.size.q_len = 70;
    if (i % 4 == 3) c.size.kv_len = 61;
    if (i % 2 == 1) c.layout = Layout::bshd;
    cases.push_back(c);
  }
  check_gradients(cases);
}

TEST_CASE("emulated backward kernels of other dtypes, head dims and lengths", "[emulated][backward][slow]") {
  std::vector<Case> cases = {of("causal", "a100", DType::bf16, 256),
                             of("causal", "t4", DType::f16, 128),
                             of("full", "t4", DType::f16, 256),
                             of("full", "a100", DType::f16, 40, 104),
                             of("sliding_window", "a100", DType::bf16, 192, 128),
                             of("causal", "a100", DType::f16, 16),
                             of("t5_bias", "a100", DType::bf16, 32),
                             of("dropout", "a100", DType::bf16, 32),
                             of("dropout", "t4", DType::f16, 128),
                             of("dropout", "rtx4090", DType::f16, 128),
                             of("causal", "l4", DType::bf16, 128),
                             of("causal", "h100", DType::bf16, 128),  // warps that share keys, a delayed dQ
                             of("dropout", "h100", DType::f16, 128),
                             of("sliding_window", "h100", DType::f16, 256),
                             of("document", "h100", DType::bf16, 192),
                             of("softcap", "h100", DType::bf16, 96, 32)};
  // By tf32, and by FFMA with either family's copies.
  cases.push_back(of("causal", "a100", DType::f32, 64));
  cases.push_back(of("dropout", "a100", DType::f32, 40));
  cases.push_back(of("t5_bias", "t4", DType::f32, 128));
  cases.push_back(of("document", "t4", DType::f32, 64));
  cases.push_back(of("causal", "rtx4090", DType::f32, 128));
  cases.push_back(of("dropout", "rtx4090", DType::f32, 40));
  cases.push_back(of("causal", "a100", DType::f32, 256));
  cases.push_back(of("document", "a100", DType::f32, 128));  // two warps share their keys
  cases.push_back(of("causal", "h100", DType::f32, 128));
  for (const auto& [q_len, kv_len] : {std::pair{1, 1}, {1, 200}, {200, 1}, {64, 128}, {129, 127}}) {
    Case c = of("causal", "a100", DType::bf16, 64);
    c.size.q_len = q_len;
    c.size.kv_len = kv_len;
    cases.push_back(c);
  }
  check_gradients(cases);
}

TEST_CASE("emulated backward kernels of forced plans", "[emulated][backward][slow]") {
  std::vector<Emulated> cases;
  const auto add = [&](const char* spec, DType dtype, int head_dim, const char* plan) {
    const Case c = of(spec, "h100", dtype, head_dim);
    cases.push_back({c.load(), c.inputs(), c.layout, c.target, plan});
  };
  // Warps that part the query rows.
  add("causal", DType::bf16, 64, "keys(tile_q=64 tile_kv=64 warps=4 query_warps=2 parts=1 stages=1)");
  add("dropout", DType::f16, 64, "keys(tile_q=128 tile_kv=128 warps=8 query_warps=2 parts=2) delays_dq=0");
  add("dropout", DType::f32, 40, "keys(tile_q=64 tile_kv=64 warps=8 query_warps=4 parts=1 stages=1)");
  add("causal", DType::f32, 128, "keys(tile_q=64 tile_kv=64 warps=8 query_warps=2 parts=2 stages=1)");
  // Columns of dQ for half of the warps alone.
  add("causal", DType::f32, 128, "keys(tile_q=16 tile_kv=128 warps=8 parts=1 stages=1)");
  add("causal", DType::f32, 64, "keys(parts=1) delays_dq=1");
  add("document", DType::f16, 32, "keys(tile_q=64 tile_kv=128 warps=8 query_warps=4 parts=1 stages=1)");
  add("sliding_window", DType::bf16, 64, "keys(query_warps=1 parts=2 stages=1)");
  // One stage, whose copies start before dQ's part is added.
  add("causal", DType::bf16, 128, "keys(stages=1)");
  add("softcap", DType::f16, 128, "keys(stages=1) delays_dq=0");
  add("causal", DType::bf16, 256, "keys(tile_q=32 stages=1 column_warps=2) delays_dq=0");
  add("alibi", DType::bf16, 128, "keys(column_warps=1 stages=1) dq_by_sums=0 delays_dq=0");
  check_gradients(cases);
}

namespace {

/// Every way in which a gradient finds its element.
std::vector<Emulated> captured_cases() {
  constexpr ProblemSize kSingle = {
      .batch = 1, .num_q_heads = 3, .num_kv_heads = 3, .q_len = 101, .kv_len = 90};
  std::vector<Emulated> cases;
  for (const std::string& items : captured_items()) {
    const bool is_t4 = cases.size() % 2 == 1;
    const Spec spec = Spec::parse("attention captured\nhead_dim 64\ndtype " +
                                  std::string(is_t4 ? "f16" : "bf16") + "\n" + items);
    ProblemInputs inputs;
    inputs.size = cases.size() % 3 == 0 ? kSingle : kGrouped;
    inputs.dropout_seed = 77;
    cases.push_back({spec, inputs, Layout::bhsd, is_t4 ? "t4" : "a100"});
  }
  return cases;
}

/// What is wrong with the gradients of a deterministic pass: they differ from the reference's, or between the orders.
std::string wrong_with_repeats(const Emulated& c) {
  try {
    const Problem problem = make_problem(c.spec, c.inputs);
    const std::array<Kernel, 2> kernels = test::emulated_kernels_with_backward(c.spec, c.target, {}, true);
    const OutputGradientTensors outputs = random_output_gradients(problem, 3);
    const std::vector<HostTensor> a = run_backward(kernels[0], problem, outputs).tensors,
                                  b = run_backward(kernels[1], problem, outputs).tensors;
    std::string text = backward_failure(kernels[1], problem, c.layout);
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a[i].bytes != b[i].bytes) text += "gradient " + std::to_string(i) + " differs between the orders\n";
    return text;
  } catch (const BuildError& error) {
    return std::string(error.what()) + "\n" + error.log();
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("emulated kernels' gradients of what hooks capture", "[emulated][backward][slow]") {
  check_gradients(captured_cases());
}

TEST_CASE("deterministic gradients have the same bits in either order of blocks and threads",
          "[emulated][backward][deterministic][slow]") {
  if (test::skip_without_compiler()) return;
  // Half of them, for sm_80 and for sm_75: made-up specs repeat their bits, too (tests/generated/backward.cpp).
  std::vector<Emulated> cases;
  const std::vector<Emulated> captured = captured_cases();
  for (std::size_t i = 0; i < captured.size(); ++i)
    if (i / 2 % 2 == 0) cases.push_back(captured[i]);
  for (const char* name : {"causal", "softcap", "t5_bias", "document"}) {
    const Case c = of(name, "a100", DType::bf16, 64);
    cases.push_back({c.load(), c.inputs(), c.layout, c.target});
  }
  std::vector<std::string> wrong(cases.size());
  parallel_for(static_cast<std::int64_t>(cases.size()), 1, [&](std::int64_t at, std::int64_t) {
    wrong[static_cast<std::size_t>(at)] = wrong_with_repeats(cases[static_cast<std::size_t>(at)]);
  });
  for (std::size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i].spec.text());
    CHECK(wrong[i] == "");
  }
}

TEST_CASE("emulated backward kernels' bits do not depend on the order of their threads",
          "[emulated][backward]") {
  if (test::skip_without_compiler()) return;
  for (const bool by_sums : {true, false})
    for (const Case& c : {of("causal", "a100", DType::bf16, 64), of("softcap", "t4", DType::f16, 32)}) {
      const Problem problem = make_problem(c.load(), c.inputs());
      const OutputGradientTensors outputs = random_output_gradients(problem, 3);
      const auto gradients = [&](Order order) {
        const Kernel kernel = emulated_kernel_with_backward(
            c.load(), c.target, order, [&](BackwardPlan& plan) { plan.dq_by_sums &= by_sums; });
        return run_backward(kernel, problem, outputs).tensors;
      };
      INFO(c.print());
      const std::vector<HostTensor> a = gradients(Order::first_to_last), b = gradients(Order::last_to_first);
      // Sums in memory are added to in the order that CTAs come by.
      for (std::size_t i = by_sums ? 1 : 0; i < a.size(); ++i) CHECK(a[i].bytes == b[i].bytes);
    }
}
