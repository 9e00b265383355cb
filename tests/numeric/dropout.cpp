// Dropout draws the same bits on every device: they are read out of o, one for each (q, kv).
#include <cmath>

#include "tests/catch.h"
#include "tests/numeric/cases.h"
#include "tools/reference/dropout.h"
#include "tools/reference/reference.h"

using namespace fa;
using namespace fa::tools;

namespace {

constexpr int kWidth = 256;  // columns of v, and so of kv positions seen at a time

/// With q = 0 all scores are equal, and with v one-hot from `first` on, o[q, j] is not 0 just where (q, first
/// + j) is kept.
Problem kept_problem(const Spec& spec, const ProblemSize& size, int first, std::uint64_t seed) {
  ProblemInputs inputs;
  inputs.size = size;
  inputs.dropout = 0.3F;
  inputs.dropout_seed = seed;
  Problem problem = make_problem(spec, inputs);
  std::ranges::fill(problem.q.bytes, std::byte{0});
  std::ranges::fill(problem.v.bytes, std::byte{0});
  for (std::int64_t head = 0; head < problem.v.shape[0] * problem.v.shape[1]; ++head) {
    for (int j = 0; j < kWidth && first + j < size.kv_len; ++j) {
      problem.v.set((head * size.kv_len + first + j) * kWidth + j, 1);
    }
  }
  return problem;
}

void check_bits(Device device, DType dtype, const std::string& plan = {}) {
  const Spec spec =
      Spec::parse("attention keep\nhead_dim 16\nhead_dim_v 256\ndropout 0.1\n").with_dtype(dtype);
  Options options = uncached(device);
  options.plan = plan;
  const Kernel kernel = compile(spec, options);
  const ProblemSize size{.batch = 2, .num_q_heads = 4, .num_kv_heads = 2, .q_len = 70, .kv_len = 500};
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{0xfedcba9876543210}}) {
    for (const int first : {0, 250}) {
      const Problem problem = kept_problem(spec, size, first, seed);
      const Outputs outputs = run_forward(kernel, problem);
      const std::uint32_t threshold = dropout_threshold(0.3F);
      std::int64_t wrong = 0;
      std::int64_t kept = 0;
      std::int64_t seen = 0;
      for (const RowId& row : sample_rows(size, 1 << 20)) {
        const std::int64_t flat = (std::int64_t{row.b} * size.num_q_heads + row.h) * size.q_len + row.q_idx;
        for (int j = 0; j < kWidth && first + j < size.kv_len; ++j, ++seen) {
          const bool keep =
              dropout_keeps(seed, threshold, row.b, row.h, size.num_q_heads, row.q_idx, first + j);
          kept += keep ? 1 : 0;
          wrong += keep != (outputs.o.get(flat * kWidth + j) != 0) ? 1 : 0;
        }
      }
      INFO(dtype_name(dtype) << " seed " << seed << " from " << first << " " << plan);
      CHECK(wrong == 0);
      CHECK(std::fabs(static_cast<double>(kept) / static_cast<double>(seen) - 0.7) < 0.01);
    }
  }
}

/// lse belongs to the probabilities before dropout: it does not change with it, not by a bit.
void check_lse(Device device, DType dtype) {
  const Case test_case{.spec = "dropout",
                       .dtype = dtype,
                       .head_dim = 64,
                       .head_dim_v = 0,
                       .size = {.batch = 1, .num_q_heads = 2, .num_kv_heads = 1, .q_len = 130, .kv_len = 200},
                       .layout = Layout::bhsd,
                       .plan = {}};
  const Spec spec = test_case.load();
  const Kernel kernel = compile(spec, uncached(device));
  const auto lse = [&](float probability) {
    ProblemInputs inputs = test_case.inputs();
    inputs.dropout = probability;
    const Problem problem = make_problem(spec, inputs);
    CHECK(failure(kernel, problem) == "");
    return run_forward(kernel, problem).lse;
  };
  const auto without = lse(0);
  CHECK(lse(0.5F) == without);
  CHECK(lse(1) == without);
}

}  // namespace

TEST_CASE("host: dropout keeps what the reference keeps, bit for bit", "[numeric]") {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) check_bits(Device::host, dtype);
}

TEST_CASE("host: dropout leaves lse alone, and 0 and 1 are probabilities too", "[numeric]") {
  for (const DType dtype : {DType::f32, DType::bf16}) check_lse(Device::host, dtype);
}

TEST_CASE("cuda: dropout keeps what the reference keeps, bit for bit", "[numeric][gpu]") {
  if (skip_without_gpu()) return;
  for (const DType dtype : {DType::bf16, DType::f16}) check_bits(Device::cuda, dtype);
}

TEST_CASE("cuda: dropout leaves lse alone, and 0 and 1 are probabilities too", "[numeric][gpu]") {
  if (skip_without_gpu()) return;
  for (const DType dtype : {DType::bf16, DType::f16}) check_lse(Device::cuda, dtype);
}
