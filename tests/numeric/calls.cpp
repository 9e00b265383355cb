// One kernel, many calls: with other sizes, params and strides; and rows without keys.
#include <algorithm>
#include <cstring>

#include "runtime/build/device_target.h"
#include "tests/catch.h"
#include "tests/numeric/cases.h"

using namespace fa;
using namespace fa::tools;

namespace {

/// What 16-bit kernels and the host both run.
std::vector<DType> dtypes(Device device) {
  return device == Device::cuda ? std::vector{DType::bf16, DType::f16} : std::vector{DType::f32, DType::bf16};
}

bool same_bits(const Outputs& a, const Outputs& b) {
  return a.o.bytes == b.o.bytes && std::memcmp(a.lse.data(), b.lse.data(), a.lse.size() * sizeof(float)) == 0;
}

void check_sizes_and_params(Device device) {
  for (const DType dtype : dtypes(device)) {
    const Spec spec = load_spec("sliding_window_alibi").with_head_dim(64).with_dtype(dtype);
    const Kernel kernel = compile(spec, uncached(device));
    for (const char* window : {"1", "7", "100", "100000"}) {
      for (const int length : {1, 100, 300}) {
        ProblemInputs inputs;
        inputs.size = {
            .batch = 2, .num_q_heads = 6, .num_kv_heads = 3, .q_len = length, .kv_len = length + 40};
        inputs.params = {{"window", window}};
        const std::string wrong = failure(kernel, make_problem(spec, inputs));
        INFO("window " << window << ", length " << length << ": " << wrong);
        CHECK(wrong.empty());
      }
    }
  }
}

/// The same numbers in other places give the same bits: [b, h, n, d], [b, n, h, d], and q, k, v packed side
/// by side.
void check_strides(Device device) {
  for (const DType dtype : dtypes(device)) {
    const Spec spec = load_spec("causal").with_head_dim(64).with_dtype(dtype);
    const Kernel kernel = compile(spec, uncached(device));
    ProblemInputs inputs;
    inputs.size = {.batch = 2, .num_q_heads = 3, .num_kv_heads = 3, .q_len = 150, .kv_len = 150};
    const Problem problem = make_problem(spec, inputs);
    const Outputs plain = run_forward(kernel, problem, Layout::bhsd);
    CHECK(same_bits(plain, run_forward(kernel, problem, Layout::bshd)));

    // packed[b, n, which, h, d]
    const std::int64_t heads = 3;
    const std::int64_t length = 150;
    const std::int64_t row = 64;
    const auto element = static_cast<std::size_t>(dtype_bytes(dtype));
    std::vector<std::byte> packed(problem.q.bytes.size() * 3);
    const HostTensor* const sources[] = {&problem.q, &problem.k, &problem.v};
    for (std::int64_t which = 0; which < 3; ++which) {
      for (std::int64_t b = 0; b < 2; ++b) {
        for (std::int64_t h = 0; h < heads; ++h) {
          for (std::int64_t n = 0; n < length; ++n) {
            const std::int64_t from = ((b * heads + h) * length + n) * row;
            const std::int64_t to = (((b * length + n) * 3 + which) * heads + h) * row;
            std::memcpy(packed.data() + static_cast<std::size_t>(to) * element,
                        sources[which]->bytes.data() + static_cast<std::size_t>(from) * element,
                        static_cast<std::size_t>(row) * element);
          }
        }
      }
    }
    const auto memory = device == Device::cuda ? cuda_memory(0) : host_memory();
    auto* const data = static_cast<std::byte*>(memory->allocate(packed.size()));
    memory->upload(data, packed.data(), packed.size());
    Outputs outputs = plain;
    void* const o = memory->allocate(outputs.o.bytes.size());
    void* const lse = memory->allocate(outputs.lse.size() * sizeof(float));
    const auto view = [&](std::int64_t which) {
      Tensor tensor = Tensor::bhsd(data + static_cast<std::size_t>(which * heads * row) * element, dtype, 2,
                                   heads, length, row);
      tensor.strides = {length * 3 * heads * row, row, 3 * heads * row, 1};
      return tensor;
    };
    ForwardArgs args;
    args.q = view(0);
    args.k = view(1);
    args.v = view(2);
    args.o = Tensor::bhsd(o, dtype, 2, heads, length, row);
    args.lse = static_cast<float*>(lse);
    kernel.forward(args);
    memory->synchronize();
    memory->download(outputs.o.bytes.data(), o, outputs.o.bytes.size());
    memory->download(outputs.lse.data(), lse, outputs.lse.size() * sizeof(float));
    CHECK(same_bits(plain, outputs));
  }
}

void check_repeatable(Device device) {
  for (const char* name : {"full", "dropout", "block_sparse", "t5_bias"}) {
    for (const DType dtype : dtypes(device)) {
      const Spec spec = load_spec(name).with_dtype(dtype);
      const Kernel kernel = compile(spec, uncached(device));
      ProblemInputs inputs;
      inputs.size = {.batch = 1, .num_q_heads = 4, .num_kv_heads = 2, .q_len = 300, .kv_len = 333};
      const Problem problem = make_problem(spec, inputs);
      INFO(name << " " << dtype_name(dtype));
      CHECK(same_bits(run_forward(kernel, problem), run_forward(kernel, problem)));
      // A kernel compiled again is the same kernel.
      CHECK(same_bits(run_forward(kernel, problem), run_forward(compile(spec, uncached(device)), problem)));
    }
  }
}

/// Rows, columns, whole heads and everything masked away; by the mask and by a score of -inf.
void check_empty_rows(Device device) {
  for (const char* hooks :
       {"mask_mod = kv_idx < q_idx - 40", "mask_mod = h != 1", "mask_mod = kv_idx < 0",
        "mask_mod = q_idx % 2 == 0 and kv_idx >= 64", "mask_mod = kv_idx == kv_len - 1 and q_idx != 5",
        "score_mod = where(q_idx % 3 == 0, -inf, score)",
        "score_mod = where(kv_idx < 70, -inf, score)\nmask_mod = kv_idx < 70 or q_idx > 20"}) {
    for (const DType dtype : dtypes(device)) {
      const Spec spec =
          Spec::parse(std::string("attention holes\nhead_dim 32\n") + hooks + "\n").with_dtype(dtype);
      ProblemInputs inputs;
      inputs.size = {.batch = 1, .num_q_heads = 2, .num_kv_heads = 2, .q_len = 100, .kv_len = 150};
      const std::string wrong =
          failure(compile(spec, uncached(device)), make_problem(spec, inputs), Layout::bhsd, 1000);
      INFO(hooks << ", " << dtype_name(dtype) << ": " << wrong);
      CHECK(wrong.empty());
    }
  }
}

/// Scores far outside exp's range: the running maximum keeps them apart.
void check_large_scores(Device device) {
  for (const char* hooks : {"score_mod = score * 1000", "score_mod = score - 30000 + kv_idx * 100",
                            "score_mod = score + 3e37", "score_mod = score - 3e37"}) {
    for (const DType dtype : dtypes(device)) {
      const Spec spec =
          Spec::parse(std::string("attention large\nhead_dim 32\n") + hooks + "\n").with_dtype(dtype);
      ProblemInputs inputs;
      inputs.size = {.batch = 1, .num_q_heads = 2, .num_kv_heads = 2, .q_len = 70, .kv_len = 150};
      const std::string wrong =
          failure(compile(spec, uncached(device)), make_problem(spec, inputs), Layout::bhsd, 1000);
      INFO(hooks << ", " << dtype_name(dtype) << ": " << wrong);
      CHECK(wrong.empty());
    }
  }
}

}  // namespace

TEST_CASE("host: one kernel serves every size and every param", "[numeric]") {
  check_sizes_and_params(Device::host);
}
TEST_CASE("host: strides do not change a bit", "[numeric]") { check_strides(Device::host); }
TEST_CASE("host: the same call gives the same bits", "[numeric]") { check_repeatable(Device::host); }
TEST_CASE("host: empty rows are 0 with lse -inf", "[numeric]") { check_empty_rows(Device::host); }
TEST_CASE("host: large scores neither overflow nor vanish", "[numeric]") { check_large_scores(Device::host); }

TEST_CASE("host: the number of threads does not change a bit", "[numeric]") {
  const Spec spec = load_spec("alibi").with_dtype(DType::bf16);
  ProblemInputs inputs;
  inputs.size = {.batch = 1, .num_q_heads = 3, .num_kv_heads = 1, .q_len = 200, .kv_len = 200};
  const Problem problem = make_problem(spec, inputs);
  Options options = uncached(Device::host);
  options.num_threads = 1;
  const Outputs one = run_forward(compile(spec, options), problem);
  options.num_threads = 3;
  CHECK(same_bits(one, run_forward(compile(spec, options), problem)));
}

TEST_CASE("cuda: one kernel serves every size and every param", "[numeric][gpu]") {
  if (!skip_without_gpu()) check_sizes_and_params(Device::cuda);
}
TEST_CASE("cuda: strides do not change a bit", "[numeric][gpu]") {
  if (!skip_without_gpu()) check_strides(Device::cuda);
}
TEST_CASE("cuda: the same call gives the same bits", "[numeric][gpu]") {
  if (!skip_without_gpu()) check_repeatable(Device::cuda);
}
TEST_CASE("cuda: empty rows are 0 with lse -inf", "[numeric][gpu]") {
  if (!skip_without_gpu()) check_empty_rows(Device::cuda);
}
TEST_CASE("cuda: large scores neither overflow nor vanish", "[numeric][gpu]") {
  if (!skip_without_gpu()) check_large_scores(Device::cuda);
}

// Hundreds are legal and each is a build: every seventeenth, which meets every tile, both stage counts and Q
// in registers.
TEST_CASE("cuda: a spread of the legal plans is within the bound", "[numeric][gpu]") {
  if (skip_without_gpu()) return;
  const Target& target = target_of(CudaDevice::get(0).info());
  std::vector<Case> cases;
  for (const char* name : {"causal", "softcap", "dropout"}) {
    for (const int head_dim : {64, 128, 256}) {
      const Spec spec = load_spec(name).with_head_dim(head_dim);
      const std::vector<Plan> plans = legal_plans(spec.checked(), target);
      for (std::size_t i = 0; i < plans.size(); i += 17) {
        const Plan& plan = plans[i];
        cases.push_back(
            {.spec = name,
             .dtype = spec.dtype(),
             .head_dim = head_dim,
             .head_dim_v = 0,
             .size = {.batch = 1, .num_q_heads = 2, .num_kv_heads = 1, .q_len = 300, .kv_len = 333},
             .layout = Layout::bhsd,
             .plan = plan.print()});
      }
    }
  }
  const auto wrong = failures(cases, Device::cuda);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i].print() << ": " << wrong[i]);
    CHECK(wrong[i].empty());
  }
}
