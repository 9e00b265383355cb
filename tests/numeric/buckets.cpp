// T5's buckets (Raffel et al. 2020), a logarithm that decides an index: at n = 16, 32 and 64 its f32 value is
// a whole number, and every target must fall on the same side of it. Read out of lse: each kernel counts the
// keys of one bucket, by its mask or by its score.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "tests/catch.h"
#include "tests/numeric/cases.h"

using namespace fa;
using namespace fa::tools;

namespace {

constexpr int kBuckets = 32;
constexpr int kFurthest = 8192;
constexpr int kRows = 130;

struct Form {
  const char* name;
  const char* lets;
  // The first distance of each bucket of one direction, as PyTorch 2.13 has them in f32
  // (bench/accuracy/t5_buckets.py).
  std::vector<int> first;
  bool two_sided;
};

const std::array<Form, 2>& forms() {
  static const std::array<Form, 2> kForms = {
      Form{.name = "two_sided",
           .lets = "let n = abs(distance)\n"
                   "let far = 8 + i32(log(max(n, 1) / 8.0) / log(128 / 8.0) * 8)\n"
                   "let bucket = where(n < 8, n, min(far, 15)) + where(distance < 0, 16, 0)\n",
           .first = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 23, 32, 46, 64, 91},
           .two_sided = true},
      Form{.name = "causal",
           .lets = "let n = max(distance, 0)\n"
                   "let far = 16 + i32(log(max(n, 1) / 16.0) / log(128 / 16.0) * 16)\n"
                   "let bucket = where(n < 16, n, min(far, 31))\n",
           .first = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
                     16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113},
           .two_sided = false}};
  return kForms;
}

int bucket_of(const Form& form, int distance) {
  const int n = form.two_sided ? std::abs(distance) : std::max(distance, 0);
  int bucket = 0;
  while (bucket + 1 < static_cast<int>(form.first.size()) &&
         form.first[static_cast<std::size_t>(bucket) + 1] <= n)
    ++bucket;
  return form.two_sided && distance < 0 ? bucket + 16 : bucket;
}

/// How many keys of each bucket each row has.
using Counts = std::array<std::array<int, kBuckets>, kRows>;

Counts count_keys(const Form& form) {
  Counts counts{};
  for (int distance = -kFurthest; distance < kFurthest + kRows; ++distance) {
    const auto bucket = static_cast<std::size_t>(bucket_of(form, distance));
    // distance = row + kFurthest - kv, with kv from 0 to 2 kFurthest
    for (int row = std::max(0, distance - kFurthest); row < std::min(kRows, distance + kFurthest + 1); ++row)
      ++counts[static_cast<std::size_t>(row)][bucket];
  }
  return counts;
}

void check_buckets(Device device, const Path& path) {
  for (const DType dtype : path.dtypes)
    for (const Form& form : forms()) {
      const Counts counts = count_keys(form);
      for (const char* hooks : {"score_mod = 0.0\nmask_mod = bucket == wanted\n",
                                "score_mod = where(bucket == wanted, 0.0, -inf)\n"}) {
        const Spec spec = Spec::parse(fmt::format(
            "attention t5_{}\nhead_dim 16\ndtype {}\nparam wanted : i32 = 0\nparam first : i32 = {}\n"
            "let distance = q_idx + first - kv_idx\n{}{}",
            form.name, dtype_name(dtype), kFurthest, form.lets, hooks));
        Options options = uncached(device);
        options.target = path.target;
        const Kernel kernel = compile(spec, options);
        ProblemInputs inputs;
        inputs.size = {
            .batch = 1, .num_q_heads = 1, .num_kv_heads = 1, .q_len = kRows, .kv_len = 2 * kFurthest + 1};
        for (int wanted = 0; wanted < kBuckets; ++wanted) {
          inputs.params = {{"wanted", std::to_string(wanted)}};
          const Outputs outputs = run_forward(kernel, make_problem(spec, inputs));
          int wrong = 0;
          for (std::size_t row = 0; row < kRows; ++row) {
            const double found = std::exp(static_cast<double>(outputs.lse[row]));
            wrong += std::llround(found) == counts[row][static_cast<std::size_t>(wanted)] ? 0 : 1;
          }
          INFO(form.name << " " << dtype_name(dtype) << " " << path.target << " bucket " << wanted << "\n"
                         << hooks);
          CHECK(wrong == 0);
        }
      }
    }
}

}  // namespace

TEST_CASE("host: T5's buckets are PyTorch's", "[numeric]") {
  check_buckets(Device::host, {"", {DType::f32, DType::bf16}});
}

TEST_CASE("cuda: T5's buckets are PyTorch's, on every path", "[numeric][gpu]") {
  if (skip_without_gpu()) return;
  for (const Path& path : gpu_paths()) check_buckets(Device::cuda, path);
}
