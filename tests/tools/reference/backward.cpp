// The backward reference against differences of the forward reference, on problems small enough to take the
// difference by every single number.
#include "tools/reference/backward.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "compiler/spec/spec.h"
#include "tests/catch.h"
#include "tools/reference/reference.h"

using namespace fa;
using namespace fa::tools;

namespace {

constexpr double kStep = 0x1p-9;
constexpr double kTolerance = 2e-4;  // differences of values that decide something carry f32's rounding

struct Case {
  const char* name;
  std::string items;  // after `dtype f32`
  ProblemSize size;
  bool with_lse = true;
  float dropout = 0;
};

Problem problem_of(const Case& c) {
  const Spec spec = Spec::parse("attention tiny\nhead_dim 8\ndtype f32\n" + c.items);
  ProblemInputs inputs{.size = c.size, .params = {}, .files = {}, .dropout = {}, .data_seed = 5};
  if (spec.has_dropout()) inputs.dropout = c.dropout;
  return make_problem(spec, inputs);
}

std::vector<RowId> all_rows(const ProblemSize& size) {
  return sample_rows(size, std::int64_t{size.batch} * size.num_q_heads * size.q_len);
}

/// The number whose gradient is asked for: the outputs times their gradients.
double loss(const Problem& problem, const OutputGradients& outputs) {
  const ReferenceRows rows = reference_forward(problem, all_rows(problem.size));
  double sum = 0;
  for (std::size_t i = 0; i < rows.o.size(); ++i) sum += rows.o[i] * outputs.o[i];
  for (std::size_t i = 0; i < outputs.lse.size(); ++i)
    if (std::isfinite(rows.lse[i])) sum += rows.lse[i] * outputs.lse[i];
  return sum;
}

OutputGradients random_outputs(const Problem& problem, bool with_lse) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  const std::size_t rows = all_rows(problem.size).size();
  OutputGradients outputs{
      .o = std::vector<double>(rows * static_cast<std::size_t>(problem.spec.head_dim_v())),
      .lse = std::vector<double>(with_lse ? rows : 0)};
  for (double& x : outputs.o) x = normal(random);
  for (double& x : outputs.lse) x = normal(random);
  return outputs;
}

struct Largest {
  double error = 0;
  int compared = 0;
  void add(double derived, double quotient) {
    error = std::max(error, std::fabs(derived - quotient) / (1 + std::fabs(quotient)));
    if (std::isnan(derived) || std::isnan(quotient)) error = INFINITY;
    ++compared;
  }
};

/// Every element of `tensor` (a part of `problem`), moved by what f32 makes of the step.
void compare(const Problem& problem, HostTensor& tensor, const std::vector<double>& gradient,
             const OutputGradients& outputs, Largest& largest) {
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    const double value = tensor.get(i);
    tensor.set(i, value + kStep);
    const double above = tensor.get(i), after = loss(problem, outputs);
    tensor.set(i, value - kStep);
    const double below = tensor.get(i), before = loss(problem, outputs);
    tensor.set(i, value);
    largest.add(gradient[static_cast<std::size_t>(i)], (after - before) / (above - below));
  }
}

}  // namespace

TEST_CASE("the backward reference is what differences of the forward reference show", "[reference][derive]") {
  const ProblemSize plain = {.batch = 1, .num_q_heads = 2, .num_kv_heads = 2, .q_len = 4, .kv_len = 5};
  const ProblemSize grouped = {.batch = 2, .num_q_heads = 4, .num_kv_heads = 2, .q_len = 3, .kv_len = 4};
  const ProblemSize longer = {.batch = 1, .num_q_heads = 1, .num_kv_heads = 1, .q_len = 6, .kv_len = 3};
  const std::vector<Case> cases = {
      {"dense", "", plain},
      {"without lse", "", plain, false},
      {"grouped heads", "score_mod = score * 0.5\n", grouped},
      {"another head_dim_v", "head_dim_v 16\n", plain},
      {"causal, rows without a key", "mask_mod = q_idx + (kv_len - q_len) >= kv_idx\n", longer},
      {"soft cap", "score_mod = 2.0 * tanh(score / 2.0)\n", plain},
      {"slopes", "tensor slopes : f32[num_q_heads] grad\nscore_mod = score - slopes[h] * (q_idx - kv_idx)\n",
       grouped},
      {"relative bias",
       "tensor bias : f32[num_q_heads, 9] grad\n"
       "score_mod = score + bias[h, clamp(q_idx - kv_idx, -4, 4) + 4]\n",
       grouped},
      {"the same tensor twice",
       "tensor t : f32[kv_len] grad\nscore_mod = score * t[kv_idx] + t[q_idx % kv_len] * t[0]\n", plain},
      {"a temperature",
       "param tau : f32 = 0.8 grad\nparam cap : f32 = 3.0 grad\n"
       "score_mod = cap * tanh(score * exp(tau) / cap)\n",
       plain},
      {"gates and a mask",
       "tensor gate : f32[batch, num_q_heads, kv_len] grad\n"
       "score_mod = score + log(sigmoid(gate[b, h, kv_idx]))\nmask_mod = kv_idx <= q_idx + 1\n",
       grouped},
      {"a product of tables",
       "tensor rows : f32[q_len, 3] grad\ntensor columns : f32[kv_len, 3] grad\n"
       "score_mod = score + sum(r < 3: rows[q_idx, r] * columns[kv_idx, r])\n",
       plain},
      {"a long product of tables",
       "tensor rows : f32[q_len, 40] grad\nscore_mod = score + 0.1 * sum(r < 40: rows[q_idx, r] * score)\n",
       {.batch = 1, .num_q_heads = 1, .num_kv_heads = 1, .q_len = 2, .kv_len = 3}},
      {"a largest of a table",
       "tensor rows : f32[q_len, 5] grad\nscore_mod = score + max(r < 5: rows[q_idx, r] * score)\n", plain},
      {"a logarithm of a sum",
       "tensor rows : f32[q_len, 5] grad\nscore_mod = log(sum(r < 5: exp(rows[q_idx, r] * score)))\n", plain},
      {"learned sinks",
       "tensor sinks : f32[num_q_heads] grad\nparam s : f32 = 0.5 grad\n"
       "mask_mod = kv_idx <= q_idx\nsink s * sinks[h]\n",
       grouped},
      {"dropout", "param tau : f32 = 0.8 grad\nscore_mod = score * tau\ndropout 0.3\n", grouped, true, 0.3F},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    Problem problem = problem_of(c);
    const OutputGradients outputs = random_outputs(problem, c.with_lse);
    const InputGradients gradients = reference_backward(problem, outputs);
    Largest largest;
    compare(problem, problem.q, gradients.q, outputs, largest);
    compare(problem, problem.k, gradients.k, outputs, largest);
    compare(problem, problem.v, gradients.v, outputs, largest);
    for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
      REQUIRE_FALSE(gradients.tensors[i].empty());
      compare(problem, problem.tensors[i], gradients.tensors[i], outputs, largest);
    }
    for (std::size_t i = 0; i < problem.params.size(); ++i) {
      const float value = std::get<float>(problem.params[i]);
      const float above = value + static_cast<float>(kStep), below = value - static_cast<float>(kStep);
      problem.params[i] = above;
      const double after = loss(problem, outputs);
      problem.params[i] = below;
      const double before = loss(problem, outputs);
      problem.params[i] = value;
      largest.add(gradients.params[i], (after - before) / static_cast<double>(above - below));
    }
    CHECK(largest.error < kTolerance);
    CHECK(largest.compared >= 50);
  }
}

TEST_CASE("rows without a key, and keys of probability 0, give no gradient", "[reference][derive]") {
  // Row 0 keeps nothing; key 1 has the logit -inf, whose derivative by t is infinite.
  const Spec spec = Spec::parse(
      "attention tiny\nhead_dim 8\ndtype f32\ntensor t : f32[kv_len] = f32(1 - i0 % 2) grad\n"
      "score_mod = score + log(t[kv_idx])\nmask_mod = q_idx > 0\n");
  const Problem problem =
      make_problem(spec, {.size = {.batch = 1, .num_q_heads = 1, .num_kv_heads = 1, .q_len = 2, .kv_len = 3},
                          .params = {},
                          .files = {},
                          .dropout = {}});
  const InputGradients gradients = reference_backward(problem, random_outputs(problem, true));
  for (std::size_t d = 0; d < 8; ++d) {
    CHECK(gradients.q[d] == 0);
    CHECK(gradients.k[8 + d] == 0);
    CHECK(gradients.v[8 + d] == 0);
    CHECK(gradients.q[8 + d] != 0);
  }
  CHECK(gradients.tensors[0][1] == 0);
  CHECK(std::isfinite(gradients.tensors[0][0]));
}
