// Terms added to the score, as people write them: constants where a condition holds, minima and clamps of the
// distance, tables by block, products of rows. None of these forms is in specs/.
#include <fmt/format.h>

#include "tests/catch.h"
#include "tests/numeric/cases.h"

using namespace fa;
using namespace fa::tools;

namespace {

constexpr const char* kScores[] = {
    "score + where(q_idx == kv_idx, -5.0, 0.0)",
    "score + min(q_idx - kv_idx, 10)",
    "score + where(kv_idx > q_idx, -1e9, 0.0)",
    "score + bias[q_idx / 64, kv_idx / 64]",
    "score + max(kv_idx - q_idx, -10) * 0.125",
    "score + where(abs(q_idx - kv_idx) < 5, 1.0, 0.0)",
    "score + clamp(q_idx - kv_idx, -8, 8)",
    "score + where(q_idx < 10, 1.0, 0.0) * where(kv_idx < 10, 2.0, 0.0)",
    "score + where(q_idx / 16 == kv_idx / 16, 0.5, -0.5)",
    "score + where(q_idx % 2 == kv_idx % 2, 0.5, -0.5)",
    "score + floor(f32(q_idx - kv_idx) / 64.0)",
    "score + f32((q_idx / 32) * (kv_idx / 32)) * 0.001",
    "score + min(f32(q_idx), f32(kv_idx)) * 0.01",
    "score + max(q_idx, kv_idx) * 0.001",
    "score + where(h < 2, 1.0, min(q_idx - kv_idx, 10))",
    "score + where(kv_idx < 4, 2.0, where(q_idx - kv_idx < 100, 0.0, -3.0))",
    "score + tab[clamp(q_idx - kv_idx, 0, 63)]",
    "score + gate[q_idx] - gate[kv_idx]",
    "score + gate[q_idx] * gate[kv_idx]",
    "score + sin(f32(q_idx)) * cos(f32(kv_idx))",
    "score * 0.5 + where(q_idx >= kv_idx, 0.0, -4.0)",
    "score + where(seg[q_idx] == seg[kv_idx], 1.0, 0.0)",
    "score + exp(-f32(abs(q_idx - kv_idx)) * 0.01)",
    "score + 1.0 / (1.0 + f32(abs(q_idx - kv_idx)))",
    "score - sqrt(f32(abs(q_idx - kv_idx)))",
    "score + sum(i < 32: f32(gate[q_idx]) * f32(i) * gate[kv_idx])",
    "score + sum(i < 32: qf[q_idx, i] * kf[kv_idx, i])",
    "score + sum(i < 8: qf[q_idx, i] * kf[kv_idx, i])",
    "score + max(i < 16: qf[q_idx, i] + kf[kv_idx, i])",
    "score + sin(gate[q_idx] + gate[kv_idx]) + cos(gate[q_idx] * gate[kv_idx])",
    ("score + tanh(sin(gate[q_idx] + gate[kv_idx])) * sigmoid(cos(gate[q_idx] * gate[kv_idx])) + "
     "erf(gate[q_idx] - gate[kv_idx])"),
    "where(score > 0.0, score, 0.1 * score)",
    "where(h % 2 == 0, score, score * 0.5) + where(q_idx > kv_idx + 3, 1.0, 0.0)",
    "score + where(q_idx - kv_idx > 100, -2.0, 0.0)",
    "score + 0.25 * (q_idx / 64 - kv_idx / 64)",
    "score + where(kv_idx == 0, 4.0, 0.0)",
    "score + abs(q_idx - kv_idx) % 7",
    "score + where(b == 0, 0.5, -0.5) * f32(kv_idx % 3)",
    "score + i32(sqrt(f32(abs(q_idx - kv_idx))))",
    // These rise from tile to tile (templates/common/row_references.cuh).
    "score + where(kv_idx == 320, 200.0, 0.0)",
    "score + f32(kv_idx / 64) * 15.0",
    "score + where(kv_idx < 100, -10000.0, 0.0)",
};

Spec spec_with_score(const char* score, DType dtype) {
  return Spec::parse(
      fmt::format("attention additive\nhead_dim 64\ndtype {}\n"
                  "tensor bias : f32[512, 512]\n"
                  "tensor gate : f32[max(q_len, kv_len)]\n"
                  "tensor kf : f32[kv_len, 32]\n"
                  "tensor qf : f32[q_len, 32]\n"
                  "tensor seg : i32[max(q_len, kv_len)] = i0 / 50\n"
                  "tensor tab : f32[64]\n"
                  "score_mod = {}\n",
                  dtype_name(dtype), score));
}

void check_additive(Device device, const Path& path) {
  Options options = uncached(device);
  options.target = path.target;
  std::vector<Spec> specs;
  for (const DType dtype : path.dtypes)
    for (const char* score : kScores) specs.push_back(spec_with_score(score, dtype));
  const auto kernels =
      compile_on_all_cores(specs.size(), [&](std::size_t i) { return compile(specs[i], options); });
  for (std::size_t i = 0; i < specs.size(); ++i) {
    ProblemInputs inputs;
    inputs.size = {.batch = 2, .num_q_heads = 4, .num_kv_heads = 2, .q_len = 140, .kv_len = 333};
    INFO(specs[i].text() << " " << path.target);
    CHECK(failure(kernels[i], make_problem(specs[i], inputs)) == "");
  }
}

}  // namespace

TEST_CASE("host: terms added to the score are within the bound", "[numeric]") {
  check_additive(Device::host, {"", {DType::f32, DType::bf16}});
}

TEST_CASE("cuda: terms added to the score are within the bound, on every path", "[numeric][gpu]") {
  if (skip_without_gpu()) return;
  for (const Path& path : gpu_paths()) check_additive(Device::cuda, path);
}
