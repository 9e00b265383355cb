// The backward pass on a GPU against the fp64 reference: with its own kernels and with those of sm_80 and sm_75.
// tests/emulated_gpu/ runs the same kernels on machines without a GPU, on smaller problems.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include "fa/backward.h"
#include "fa/memory.h"
#include "tests/catch.h"
#include "tests/golden.h"
#include "tests/numeric/backward/cases.h"

using namespace fa;
using namespace fa::tools;
using fa::tests::skip_without_gpu;

namespace {

constexpr std::array<const char*, 2> kTargets = {"a100", "t4"};

Options on_gpu(const std::string& target) {
  Options options = uncached(Device::cuda);
  options.backward = true;
  options.target = target;
  return options;
}

void check_on_gpu(const std::vector<Case>& cases) {
  const auto kernels = compile_on_all_cores(
      cases.size(), [&](std::size_t i) { return compile(cases[i].load(), on_gpu(cases[i].target)); });
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    INFO(c.print());
    std::int64_t rows = 0;
    CHECK(backward_failure(kernels[i], make_problem(c.load(), c.inputs()), c.layout, &rows) == "");
    CHECK(rows > 0);
  }
}

Case of(const std::string& spec, const std::string& target, DType dtype, int head_dim,
        const ProblemSize& size) {
  return {.spec = spec,
          .dtype = dtype,
          .head_dim = head_dim,
          .head_dim_v = 0,
          .size = size,
          .layout = Layout::bhsd,
          .plan = {},
          .target = target};
}

}  // namespace

TEST_CASE("gradients of every shipped spec on a GPU", "[backward][gpu][slow]") {
  if (skip_without_gpu()) return;
  constexpr std::array kPaths = {kTargets[0], kTargets[1], ""};  // the GPU's own, too
  constexpr std::array kHeadDims = {32, 64, 128, 256};
  std::vector<Case> cases;
  for (const std::string& spec : test::all_specs())
    for (const char* target : kPaths)
      for (const int head_dim : kHeadDims) {
        const auto i = cases.size();
        constexpr std::array kOfT4 = {DType::f16, DType::f32};
        constexpr std::array kOfA100 = {DType::bf16, DType::f16, DType::f32};
        const bool is_t4 = target == kTargets[1];
        const bool is_wide = head_dim == 256;  // in f32 more than a T4 holds
        const DType dtype = !is_t4 ? kOfA100[i / 2 % 3] : is_wide ? DType::f16 : kOfT4[i / 2 % 2];
        Case c = of(spec, target, dtype, head_dim,
                    {.batch = i % 3 == 0 ? 2 : 1,
                     .num_q_heads = 4,
                     .num_kv_heads = std::array{1, 2, 4}[i % 3],
                     .q_len = std::array{1, 97, 193, 301, 640}[i % 5],
                     .kv_len = std::array{191, 1, 257, 63, 130, 777, 512}[i % 7]});
        if (i % 2 == 1) c.layout = Layout::bshd;
        cases.push_back(c);
      }
  for (const std::string target : kPaths)  // -c "own d64" runs one of them
    for (const int head_dim : kHeadDims)
      DYNAMIC_SECTION((target.empty() ? "own" : target) << " d" << head_dim) {
        std::vector<Case> of_section;
        std::ranges::copy_if(cases, std::back_inserter(of_section),
                             [&](const Case& c) { return c.target == target && c.head_dim == head_dim; });
        check_on_gpu(of_section);
      }
}

TEST_CASE("gradients where head_dim_v is not head_dim on a GPU", "[backward][gpu]") {
  if (skip_without_gpu()) return;
  std::vector<Case> cases;
  for (const auto& [head_dim, head_dim_v] : {std::pair{64, 32}, {40, 104}, {8, 24}, {192, 128}, {256, 16}}) {
    Case c = of("causal", "a100", DType::bf16, head_dim,
                {.batch = 1, .num_q_heads = 6, .num_kv_heads = 2, .q_len = 250, .kv_len = 277});
    c.head_dim_v = head_dim_v;
    cases.push_back(c);
  }
  check_on_gpu(cases);
}

// So many and long rows that passes wait for heads where they overlap (runtime/cuda/by_head.h): on the GPU's own kernels, from Hopper on.
TEST_CASE("gradients of many heads on a GPU", "[backward][gpu]") {
  if (skip_without_gpu()) return;
  std::vector<Case> cases;
  for (const auto& [spec, dtype] : {std::pair{"sliding_window", DType::bf16},
                                    {"document", DType::f16},
                                    {"causal", DType::bf16},
                                    {"relative_bias", DType::f32}})
    cases.push_back(of(spec, "", dtype, dtype == DType::f32 ? 64 : 128,
                       {.batch = 17, .num_q_heads = 32, .num_kv_heads = 8, .q_len = 140, .kv_len = 150}));
  check_on_gpu(cases);
}

TEST_CASE("gradients of what hooks capture on a GPU", "[backward][gpu]") {
  if (skip_without_gpu()) return;
  struct Captured {
    Spec spec;
    const char* target;
  };
  std::vector<Captured> cases;
  for (const std::string& items : captured_items())
    for (const char* target : kTargets)
      cases.push_back(
          {Spec::parse(fmt::format("attention captured\nhead_dim 64\ndtype f16\n{}", items)), target});
  const auto kernels = compile_on_all_cores(
      cases.size(), [&](std::size_t i) { return compile(cases[i].spec, on_gpu(cases[i].target)); });
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto& [spec, target] = cases[i];
    INFO(spec.text() << target);
    ProblemInputs inputs;
    inputs.size = {.batch = 2, .num_q_heads = 4, .num_kv_heads = 2, .q_len = 170, .kv_len = 283};
    inputs.dropout_seed = 77;
    CHECK(backward_failure(kernels[i], make_problem(spec, inputs)) == "");
  }
}

TEST_CASE("a backward call without queries or without keys gives zeros on a GPU", "[backward][gpu]") {
  if (skip_without_gpu()) return;
  constexpr int kHeads = 2, kDim = 64, kMost = 10;
  const Kernel kernel =
      compile(load_spec("causal").with_dtype(DType::f16).with_head_dim(kDim), on_gpu("a100"));
  for (const auto& [q_len, kv_len] : {std::pair{0, 5}, {kMost, 0}}) {
    INFO(q_len << " queries, " << kv_len << " keys");
    const std::vector<std::byte> poison(kHeads * kMost * kDim * 2, std::byte{0x55});
    std::vector<GpuMemory> memory;
    const auto make = [&](int length) {
      memory.emplace_back(poison.size()).upload(poison.data(), poison.size());
      return Tensor::bhsd(memory.back().data(), DType::f16, 1, kHeads, length, kDim);
    };
    BackwardArgs args;
    args.forward.q = make(q_len);
    args.forward.k = make(kv_len);
    args.forward.v = make(kv_len);
    args.forward.o = make(q_len);
    args.forward.lse = static_cast<float*>(make(q_len).data);
    args.d_o = make(q_len);
    args.d_q = make(q_len);
    args.d_k = make(kv_len);
    args.d_v = make(kv_len);
    CHECK(kernel.backward_workspace_bytes(args) == 0);
    kernel.backward(args);
    for (const auto& [gradient, length] : {std::pair{6, q_len}, {7, kv_len}, {8, kv_len}}) {
      std::vector<std::byte> found(poison.size());
      memory[static_cast<std::size_t>(gradient)].download(found.data(), found.size());
      const auto written = static_cast<std::size_t>(kHeads * length * kDim * 2);
      for (std::size_t i = 0; i < found.size(); ++i)
        CHECK(found[i] == (i < written ? std::byte{0} : std::byte{0x55}));
    }
  }
}
