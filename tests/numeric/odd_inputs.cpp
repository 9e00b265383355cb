// Calls without queries or keys, and inputs that hold NaN and infinities: the results are those of the
// reference, on the host and on a GPU.
#include <array>
#include <cmath>
#include <limits>

#include "compiler/schedule/baseline/baseline.h"
#include "tests/catch.h"
#include "tests/numeric/cases.h"
#include "tools/reference/reference.h"

using namespace fa;
using namespace fa::tools;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr int kLength = 150, kDim = 64;

Problem problem_of(const std::string& name, DType dtype) {
  ProblemInputs inputs;
  inputs.size = {.batch = 1, .num_q_heads = 2, .num_kv_heads = 2, .q_len = kLength, .kv_len = kLength};
  return make_problem(load_spec(name).with_head_dim(kDim).with_dtype(dtype), inputs);
}

/// The flat index of an element of [1, 2, kLength, kDim].
std::int64_t at(int h, int row, int d) { return (std::int64_t{h} * kLength + row) * kDim + d; }

Kernel kernel_of(const Spec& spec, Device device, Impl impl) {
  Options options = uncached(device);
  options.impl = impl;
  return compile(spec, options);
}

/// A spec's kernels, one for each way to compute it.
struct Kernels {
  std::vector<Impl> impls;
  std::vector<Kernel> kernels;
  Kernels(const Spec& spec, Device device, const std::vector<Impl>& ways) : impls(ways) {
    for (const Impl impl : ways) kernels.push_back(kernel_of(spec, device, impl));
  }
};

/// Every kernel's results in all rows are the reference's, NaN and infinities included.
void check_kernels(const Kernels& of, const Problem& problem, const std::string& what) {
  const ReferenceRows reference = reference_forward(problem, sample_rows(problem.size, 1 << 20));
  for (std::size_t i = 0; i < of.kernels.size(); ++i) {
    const Outputs outputs = run_forward(of.kernels[i], problem);
    const Comparison found = compare(reference, error_bound(problem.spec.dtype(), kDim, kLength),
                                     problem.size, outputs.o, outputs.lse);
    INFO(what << ", " << impl_name(of.impls[i]));
    CHECK((found.holds() ? std::string() : found.print_worst()) == "");
  }
}

void check_odd_numbers(Device device, const std::vector<Impl>& impls = {Impl::facet}) {
  const std::vector<DType> dtypes = device == Device::cuda ? std::vector{DType::bf16, DType::f16, DType::f32}
                                                           : std::vector{DType::f32, DType::bf16};
  for (const DType dtype : dtypes) {
    for (const std::string name : {"full", "causal", "sliding_window", "softcap"}) {
      const Problem sound = problem_of(name, dtype);
      const Kernels kernels(sound.spec, device, impls);
      const auto check = [&](const std::string& what, auto change) {
        Problem problem = sound;
        change(problem);
        check_kernels(kernels, problem, name + " " + std::string(dtype_name(dtype)) + ", " + what);
      };
      check("a NaN in a row of q", [](Problem& p) { p.q.set(at(1, 70, 3), kNan); });
      check("an infinity in a row of q", [](Problem& p) { p.q.set(at(0, 149, 0), kInf); });
      check("a NaN in a row of k", [](Problem& p) { p.k.set(at(1, 65, 60), kNan); });
      // Rows of q of the other sign see a score of -inf: they lose this key and nothing else.
      check("an infinity in a row of k", [](Problem& p) { p.k.set(at(0, 66, 5), kInf); });
      check("infinities of both signs in a row of k", [](Problem& p) {
        p.k.set(at(1, 20, 63), -kInf);
        p.k.set(at(1, 20, 2), kInf);
      });
      check("a row of q and a row of k with an infinity each", [](Problem& p) {
        p.q.set(at(0, 80, 7), -kInf);
        p.k.set(at(0, 12, 9), kInf);
      });
      check("a NaN in the last row of k", [](Problem& p) { p.k.set(at(0, 149, 0), kNan); });
    }
    // 0 * NaN is NaN: in v an odd number reaches all rows of the tiles that it is in, so here every row sees
    // it.
    const Problem sound = problem_of("full", dtype);
    Problem problem = sound;
    problem.v.set(at(0, 100, 7), kNan);
    problem.v.set(at(1, 3, 9), kInf);
    // In tiles apart: of one sign, of both, and beside a NaN.
    for (const int row : {5, 77, 149}) problem.v.set(at(1, row, 0), -kInf);
    problem.v.set(at(1, 30, 63), kInf);
    problem.v.set(at(1, 130, 63), -kInf);
    problem.v.set(at(1, 130, 62), kInf);
    problem.v.set(at(1, 20, 62), kNan);
    problem.q.set(at(1, 140, 1), kNan);
    check_kernels(Kernels(sound.spec, device, impls), problem,
                  std::string(dtype_name(dtype)) + ", odd numbers in v");
  }
}

/// Numbers that are not finite, or that a factor makes so, in a table read at the element: kernels whose
/// scores begin with its tiles must not let them out of their own element.
void check_odd_table(Device device, const std::vector<Impl>& impls = {Impl::facet}) {
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    for (const std::string table : {"bf16", "f16"}) {
      for (const std::string mask : {"", "\nmask_mod = kv_idx <= q_idx"}) {
        const Spec spec = Spec::parse("attention odd_table\nhead_dim 64\nscale 0.2\ndtype " +
                                      std::string(dtype_name(dtype)) + "\ntensor a : " + table +
                                      "[q_len, kv_len]\nscore_mod = score + 3.0 * a[q_idx, kv_idx]" + mask);
        ProblemInputs inputs;
        inputs.size = {.batch = 1, .num_q_heads = 2, .num_kv_heads = 2, .q_len = kLength, .kv_len = kLength};
        const Problem sound = make_problem(spec, inputs);
        const Kernels kernels(spec, device, impls);
        const auto check = [&](const std::string& what, const std::vector<std::array<int, 2>>& places,
                               double number) {
          Problem problem = sound;
          for (const auto& [row, column] : places)
            problem.tensors[0].set(std::int64_t{row} * kLength + column, number);
          check_kernels(kernels, problem, std::string(dtype_name(dtype)) + ", " + table + mask + ", " + what);
        };
        check("-inf at a few places", {{0, 1}, {70, 3}, {70, 4}, {149, 0}, {149, 149}, {100, 66}}, -kInf);
        check("-inf where a mask may hide it", {{3, 9}, {40, 120}}, -kInf);
        check("inf", {{90, 20}}, kInf);
        check("NaN", {{12, 5}, {148, 148}}, kNan);
        check("the largest", {{20, 20}, {130, 100}}, table == "f16" ? 65504.0 : 3.3895e38);
        check("the lowest", {{20, 19}, {130, 100}}, table == "f16" ? -65504.0 : -3.3895e38);
        std::vector<std::array<int, 2>> all;
        for (int column = 0; column < kLength; ++column) all.push_back({77, column});
        check("-inf in all of a row", all, -kInf);
      }
    }
  }
}

/// Sizes of zero: what is written, and that nothing else is.
void check_no_rows(Device device) {
  for (const std::string name : {"full", "sliding_window_alibi", "dropout"}) {
    INFO(name);
    const Problem problem = problem_of(name, DType::bf16);
    const Kernel kernel = compile(problem.spec, uncached(device));
    const auto memory = device == Device::cuda ? cuda_memory(0) : host_memory();
    const std::size_t bytes = problem.q.bytes.size(), rows = 2 * kLength;
    std::vector<std::byte> o(bytes);
    std::vector<float> lse(rows);
    void* const q = memory->allocate(bytes);
    void* const out = memory->allocate(bytes);
    auto* const out_lse = static_cast<float*>(memory->allocate(rows * sizeof(float)));
    const HostTensor slopes("slopes", DType::f32, {2});
    void* const table = memory->allocate(slopes.bytes.size());
    const auto view = [&](void* data, int batch, int length) {
      return Tensor::bhsd(data, DType::bf16, batch, 2, length, kDim);
    };
    const auto run = [&](int batch, int q_len, int kv_len) {
      std::fill(o.begin(), o.end(), std::byte{0x55});
      std::fill(lse.begin(), lse.end(), 7.0f);
      memory->upload(out, o.data(), bytes);
      memory->upload(out_lse, lse.data(), rows * sizeof(float));
      ForwardArgs args = {.q = view(q, batch, q_len),
                          .k = view(q, batch, kv_len),
                          .v = view(q, batch, kv_len),
                          .o = view(out, batch, q_len),
                          .lse = out_lse};
      if (!problem.tensors.empty())
        args.tensors = {{.name = "slopes", .data = table, .dtype = DType::f32, .shape = {2}, .rank = 1}};
      CHECK(kernel.workspace_bytes(args) == 0);
      kernel.forward(args);
      memory->synchronize();
      memory->download(o.data(), out, bytes);
      memory->download(lse.data(), out_lse, rows * sizeof(float));
    };
    const auto count = [&](int value) {
      return std::count(o.begin(), o.end(), static_cast<std::byte>(value));
    };
    const auto all = static_cast<std::ptrdiff_t>(bytes);
    run(1, kLength, 0);
    CHECK(count(0) == all);
    CHECK(std::count(lse.begin(), lse.end(), -std::numeric_limits<float>::infinity()) == 2 * kLength);
    run(1, 0, kLength);
    CHECK(count(0x55) == all);
    run(0, kLength, kLength);
    CHECK(count(0x55) == all);
    run(1, 0, 0);
    CHECK(count(0x55) == all);
    CHECK(std::count(lse.begin(), lse.end(), 7.0f) == 2 * kLength);
  }
}

}  // namespace

TEST_CASE("host: NaN and infinities go where the reference's go", "[numeric]") {
  check_odd_numbers(Device::host);
}
TEST_CASE("host: NaN and infinities go where the reference's go in baselines, too", "[numeric][baseline]") {
  check_odd_numbers(Device::host, {Impl::standard, Impl::flash1});
  check_odd_table(Device::host, {Impl::standard, Impl::flash1});
}
TEST_CASE("host: no queries write nothing, no keys leave zeros and -inf", "[numeric]") {
  check_no_rows(Device::host);
}

TEST_CASE("cuda: NaN and infinities go where the reference's go", "[numeric][gpu]") {
  if (!skip_without_gpu()) check_odd_numbers(Device::cuda);
}
TEST_CASE("host: odd numbers in a table stay at their element", "[numeric]") {
  check_odd_table(Device::host);
}
TEST_CASE("cuda: odd numbers in a table stay at their element", "[numeric][gpu]") {
  if (!skip_without_gpu()) check_odd_table(Device::cuda);
}
TEST_CASE("cuda: no queries write nothing, no keys leave zeros and -inf", "[numeric][gpu]") {
  if (!skip_without_gpu()) check_no_rows(Device::cuda);
}
