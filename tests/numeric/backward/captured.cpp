// Gradients of params and captured tensors: every way in which a gradient finds its element, in the number of
// threads that one has.
#include <fmt/format.h>

#include <thread>
#include <tuple>

#include "tests/catch.h"
#include "tests/numeric/backward/cases.h"

using namespace fa;
using namespace fa::tools;

namespace {

Spec spec_of(const std::string& items, const std::string& head = "head_dim 32\ndtype f32\n") {
  return Spec::parse("attention captured\n" + head + items);
}

constexpr ProblemSize kGrouped = {.batch = 2, .num_q_heads = 4, .num_kv_heads = 2, .q_len = 70, .kv_len = 83};
constexpr ProblemSize kSingle = {.batch = 1, .num_q_heads = 3, .num_kv_heads = 3, .q_len = 101, .kv_len = 90};

ProblemInputs inputs_of(const ProblemSize& size) {
  ProblemInputs inputs;
  inputs.size = size;
  inputs.dropout_seed = 77;
  return inputs;
}

const std::vector<std::string> kItems = {
    // one a call, a head, a row, a column, a distance, an element
    "param tau : f32 = 0.8 grad\nscore_mod = score * tau\n",
    "tensor slopes : f32[num_q_heads] grad\nscore_mod = score - slopes[h] * (q_idx - kv_idx)\n",
    "tensor rows : f32[batch, q_len] grad\nscore_mod = score + rows[b, q_idx]\n",
    "tensor columns : f32[kv_len] grad\nscore_mod = score * (1.0 + columns[kv_idx])\n",
    "tensor bias : f32[num_q_heads, 129] grad\n"
    "score_mod = score + bias[h, clamp(q_idx - kv_idx, -64, 64) + 64]\n",
    "tensor pair : f32[num_q_heads, q_len, kv_len] grad\nscore_mod = score + pair[h, q_idx, kv_idx]\n",
    "tensor pair : f32[batch, num_q_heads, q_len, kv_len] grad\n"
    "score_mod = score + 2.0 * pair[b, h, q_idx, kv_idx]\nmask_mod = kv_idx <= q_idx + 3\n",
    "tensor pair : f32[q_len, kv_len] grad\nscore_mod = score + pair[q_idx, kv_idx]\n",
    // an element of a small table, and of one that is not; indices that a clamp makes one
    "tensor t : f32[num_q_heads, 9, 11] grad\nscore_mod = score + t[h, q_idx % 9, kv_idx % 11]\n",
    "tensor t : f32[kv_len, 4] grad\nscore_mod = score * (1.0 + t[(q_idx + kv_idx) % kv_len, kv_idx % 4])\n",
    // the same tensor twice, tables of other types, reductions, a range known at the call
    "tensor t : f32[kv_len] grad\nscore_mod = score * t[kv_idx] + t[q_idx % kv_len] * t[0]\n",
    "tensor t : bf16[num_q_heads, 9] grad\ntensor u : f16[batch, kv_len] grad\n"
    "score_mod = score + t[h, clamp(q_idx - kv_idx, -4, 4) + 4] * u[b, kv_idx]\n",
    "tensor rows : f32[q_len, 5] grad\ntensor columns : f32[kv_len, 5] grad\n"
    "score_mod = score + sum(r < 5: rows[q_idx, r] * columns[kv_idx, r])\n",
    "param n : i32 = 3\ntensor rows : f32[q_len, 8] grad\n"
    "score_mod = score + sum(r < n max 8: rows[q_idx, r] * 0.25)\n",
    // sinks
    "tensor sinks : f32[num_q_heads] grad\nparam s : f32 = 0.5 grad\nmask_mod = kv_idx <= q_idx\n"
    "sink s * sinks[h]\n",
    "tensor sinks : f32[num_q_heads, 3] grad\nsink sum(r < 3: sinks[h, r])\n"
    "score_mod = score + sinks[h, 1]\n",
    // with what else there may be
    "param cap : f32 = 3.0 grad\nscore_mod = cap * tanh(score / cap)\ndropout 0.2\n",
    "tensor gate : f32[batch, num_q_heads, kv_len] grad\n"
    "score_mod = score + log(sigmoid(gate[b, h, kv_idx]))\nmask_mod = kv_idx <= q_idx and q_idx > 9\n",
};

}  // namespace

const std::vector<std::string>& fa::tools::captured_items() { return kItems; }

TEST_CASE("gradients of what hooks capture", "[backward]") {
  for (const std::string& items : kItems) {
    check_backward(spec_of(items), inputs_of(kGrouped));
    check_backward(spec_of(items), inputs_of(kSingle), Layout::bshd);
  }
}

TEST_CASE("gradients of what hooks capture, in 16 bits and of many rows", "[backward][slow]") {
  const ProblemSize longer = {.batch = 1, .num_q_heads = 4, .num_kv_heads = 2, .q_len = 1100, .kv_len = 300};
  for (const std::string& items : kItems) {
    for (const char* dtype : {"bf16", "f16"})
      check_backward(spec_of(items, fmt::format("head_dim 64\ndtype {}\n", dtype)), inputs_of(kGrouped));
    check_backward(spec_of(items), inputs_of(longer));
  }
}

TEST_CASE("gradients are the same to the bit for any number of threads", "[backward]") {
  // Long enough for several parts of a head's rows.
  const ProblemSize size = {.batch = 2, .num_q_heads = 2, .num_kv_heads = 1, .q_len = 1030, .kv_len = 200};
  const Spec spec = spec_of(
      "param tau : f32 = 0.8 grad\ntensor bias : f32[num_q_heads, 9] grad\n"
      "tensor pair : f32[q_len, kv_len] grad\n"
      "score_mod = score * tau + bias[h, clamp(q_idx - kv_idx, -4, 4) + 4] + pair[q_idx, kv_idx]\n"
      "mask_mod = kv_idx <= q_idx\ndropout 0.1\n");
  const Problem problem = make_problem(spec, inputs_of(size));
  const OutputGradientTensors outputs = random_output_gradients(problem, 3);
  std::vector<std::vector<HostTensor>> results;
  for (const int threads : {1, 2, 3, 7})
    results.push_back(run_backward(compile(spec, with_backward(threads)), problem, outputs).tensors);
  REQUIRE(results[0].size() == 6);
  for (const auto& result : results)
    for (std::size_t i = 0; i < result.size(); ++i) {
      INFO(result[i].name);
      CHECK(result[i].bytes == results[0][i].bytes);
    }
  CHECK(backward_failure(compile(spec, with_backward()), problem) == "");
}

TEST_CASE("keys of probability 0 and rows without a key give nothing", "[backward]") {
  // Row 0 keeps nothing; key 1 has the logit -inf, whose derivative by t is infinite.
  const Spec spec = Spec::parse(
      "attention tiny\nhead_dim 8\ndtype f32\ntensor t : f32[kv_len] = f32(1 - i0 % 2) grad\n"
      "score_mod = score + log(t[kv_idx])\nmask_mod = q_idx > 0\n");
  const Problem problem = make_problem(
      spec, inputs_of({.batch = 1, .num_q_heads = 1, .num_kv_heads = 1, .q_len = 2, .kv_len = 3}));
  const KernelGradients gradients =
      run_backward(compile(spec, with_backward()), problem, random_output_gradients(problem, 5));
  const auto& [d_q, d_k, d_v, d_t] =
      std::tie(gradients.tensors[0], gradients.tensors[1], gradients.tensors[2], gradients.tensors[3]);
  for (std::int64_t d = 0; d < 8; ++d) {
    CHECK(d_q.get(d) == 0);
    CHECK(d_q.get(8 + d) != 0);
    CHECK(d_k.get(8 + d) == 0);
    CHECK(d_v.get(8 + d) == 0);
  }
  CHECK(d_t.get(1) == 0);
  CHECK(backward_failure(compile(spec, with_backward()), problem) == "");
}

// More than 256 MiB of sums, were each batch entry to have its own.
TEST_CASE("gradients of a large bias that batch entries share", "[backward][slow]") {
  check_backward(
      spec_of(
          "tensor pair : f32[num_q_heads, q_len, kv_len] grad\nscore_mod = score + pair[h, q_idx, kv_idx]\n"
          "mask_mod = kv_idx <= q_idx\n",
          "head_dim 8\ndtype f32\n"),
      inputs_of({.batch = 3, .num_q_heads = 4, .num_kv_heads = 2, .q_len = 1900, .kv_len = 1700}));
}

TEST_CASE("gradients of more reads than sums have room on the stack", "[backward]") {
  std::string score = "score";
  for (int i = 0; i < 14; ++i) score += fmt::format(" + 0.1 * pair[max(q_idx - {}, 0), kv_idx]", i);
  check_backward(spec_of("tensor pair : f32[q_len, kv_len] grad\nscore_mod = " + score + "\n"),
                 inputs_of(kGrouped));
}

TEST_CASE("a backward pass may be run by several threads at once", "[backward]") {
  const Spec spec = spec_of(
      "tensor bias : f32[num_q_heads, 9] grad\nscore_mod = score + bias[h, clamp(q_idx - kv_idx, -4, 4) + "
      "4]\n"
      "mask_mod = kv_idx <= q_idx\n");
  const Problem problem = make_problem(spec, inputs_of(kGrouped));
  const OutputGradientTensors outputs = random_output_gradients(problem, 3);
  const Kernel kernel = compile(spec, with_backward());
  const std::vector<HostTensor> alone = run_backward(kernel, problem, outputs).tensors;
  std::vector<int> same(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < same.size(); ++i)
    threads.emplace_back([&, i] {
      for (int repeat = 0; repeat < 5; ++repeat) {
        const std::vector<HostTensor> result = run_backward(kernel, problem, outputs).tensors;
        for (std::size_t t = 0; t < result.size(); ++t) same[i] += result[t].bytes == alone[t].bytes ? 1 : 0;
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const int count : same) CHECK(count == 5 * static_cast<int>(alone.size()));
}
