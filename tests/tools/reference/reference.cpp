// tools/reference/reference and tools/reference/error_bound: the reference against results worked out by
// hand, Philox's published answer, the comparison's judgement.
#include "tools/reference/reference.h"
#include "tools/reference/dropout.h"

#include <cmath>
#include <cstring>

#include "tests/catch.h"
#include "tools/reference/error_bound.h"

using namespace fa;
using namespace fa::tools;

namespace {

/// One query row against two keys, head_dim 8: scores 8 * scale and 0.
Problem two_keys(const std::string& hooks) {
  const Spec spec = Spec::parse("attention t\nhead_dim 8\ndtype f32\nscale 0.125\n" + hooks);
  ProblemInputs inputs;
  inputs.size = {.batch = 1, .num_q_heads = 1, .num_kv_heads = 1, .q_len = 1, .kv_len = 2};
  Problem problem = make_problem(spec, inputs);
  for (std::int64_t d = 0; d < 8; ++d) {
    problem.q.set(d, 1);
    problem.k.set(d, 1);
    problem.k.set(8 + d, 0);
    problem.v.set(d, 10 + static_cast<double>(d));
    problem.v.set(8 + d, -2);
  }
  return problem;
}

bool near(double value, double expected) {
  return std::fabs(value - expected) <= 1e-13 * std::max(1.0, std::fabs(expected));
}

ReferenceRows forward(const Problem& problem) {
  return reference_forward(problem, sample_rows(problem.size, 1 << 20));
}

}  // namespace

TEST_CASE("the reference is softmax(scale q k) v") {
  const auto rows = forward(two_keys(""));
  const double p = std::exp(1.0) / (std::exp(1.0) + 1);
  REQUIRE(rows.rows.size() == 1);
  CHECK(near(rows.o[3], p * 13 + (1 - p) * -2));
  CHECK(near(rows.magnitude[3], p * 13 + (1 - p) * 2));
  CHECK(near(rows.lse[0], std::log(std::exp(1.0) + 1)));
  CHECK(rows.max_logit[0] == 1);
  CHECK(rows.kept[0] == 2);
}

TEST_CASE("the reference applies score_mod and mask_mod") {
  const auto modified = forward(two_keys("score_mod = score * 2 - 5 * kv_idx\n"));
  CHECK(near(modified.lse[0], std::log(std::exp(2.0) + std::exp(-5.0))));
  CHECK(modified.max_logit[0] == 5);
  const auto masked = forward(two_keys("mask_mod = kv_idx == 1\n"));
  CHECK(masked.o[3] == -2);
  CHECK(masked.lse[0] == 0);
  CHECK(masked.kept[0] == 1);
}

TEST_CASE("an empty row is 0 with lse -inf, by the mask or by the score") {
  for (const char* hooks : {"mask_mod = kv_idx > 7\n", "score_mod = where(kv_idx > 7, score, -inf)\n"}) {
    const auto rows = forward(two_keys(hooks));
    CHECK(rows.o[0] == 0);
    CHECK(rows.lse[0] == -ReferenceRows::kInfinity);
    CHECK(rows.is_empty(0));
    CHECK(rows.max_logit[0] == 0);
  }
}

TEST_CASE("dropout draws the published Philox words, 16 bits an element") {
  // Philox4x32-7 of counter 0 and key 0: 5f6fb709 0d893f64 4f121f81 4f730a48 (Random123's known answers).
  const auto bits_are = [](int kv_idx, std::uint32_t bits) {
    return dropout_keeps(0, bits, 0, 0, 1, 0, kv_idx) && !dropout_keeps(0, bits + 1, 0, 0, 1, 0, kv_idx);
  };
  CHECK(bits_are(0, 0xb709));
  CHECK(bits_are(1, 0x5f6f));
  CHECK(bits_are(8, 0x3f64));
  CHECK(bits_are(9, 0x0d89));
  CHECK(bits_are(16, 0x1f81));
  CHECK(bits_are(25, 0x4f73));
  CHECK(dropout_threshold(0) == 0);
  CHECK(dropout_threshold(0.25F) == 16384);
  CHECK(dropout_threshold(1) == 65536);
}

TEST_CASE("the reference's dropout scales what it keeps, and leaves lse alone") {
  Problem problem = two_keys("dropout 0.5\n");
  problem.dropout_seed = 0;  // keeps key 0 (0xb709 >= 0x8000), drops key 1 (0x5f6f)
  const double p = std::exp(1.0) / (std::exp(1.0) + 1);
  const auto rows = forward(problem);
  CHECK(near(rows.o[3], 2 * p * 13));
  CHECK(near(rows.lse[0], std::log(std::exp(1.0) + 1)));
  problem.dropout = 1;
  CHECK(forward(problem).o[3] == 0);
}

TEST_CASE("the reference walks groups of query heads, batches and long rows") {
  const Spec spec =
      Spec::parse("attention t\nhead_dim 16\ndtype f32\nmask_mod = (kv_idx + b + h + q_idx) % 3 != 0\n");
  ProblemInputs inputs;
  inputs.size = {.batch = 2, .num_q_heads = 4, .num_kv_heads = 2, .q_len = 3, .kv_len = 700};
  const Problem problem = make_problem(spec, inputs);
  const auto rows = forward(problem);
  REQUIRE(rows.rows.size() == 24);
  // One row again, straight from the definition.
  const std::size_t at = (1 * 4 + 3) * 3 + 2;
  CHECK(rows.rows[at] == RowId{.b = 1, .h = 3, .q_idx = 2});
  double sum = 0;
  std::vector<double> o(16);
  for (std::int64_t j = 0; j < 700; ++j) {
    if ((j + 1 + 3 + 2) % 3 == 0) continue;
    double score = 0;
    const std::int64_t kv_row = (1 * 2 + 1) * 700 + j;
    for (std::int64_t d = 0; d < 16; ++d) {
      score += problem.q.get(static_cast<std::int64_t>(at) * 16 + d) * problem.k.get(kv_row * 16 + d);
    }
    const double prob = std::exp(score / 4);
    sum += prob;
    for (std::int64_t d = 0; d < 16; ++d)
      o[static_cast<std::size_t>(d)] += prob * problem.v.get(kv_row * 16 + d);
  }
  for (std::size_t d = 0; d < 16; ++d) CHECK(near(rows.o[at * 16 + d], o[d] / sum));
  const Environment environment = problem_environment(problem);
  CHECK(count_kept(spec, environment, rows.rows) == rows.kept);
}

TEST_CASE("sampled rows are few, sorted, distinct, and hold the first and the last") {
  const ProblemSize size{.batch = 2, .num_q_heads = 3, .num_kv_heads = 1, .q_len = 1000, .kv_len = 1};
  CHECK(sample_rows(size, 6000).size() == 6000);
  CHECK(sample_rows(size, 1 << 30).size() == 6000);
  const auto rows = sample_rows(size, 100);
  CHECK(rows.size() == 100);
  CHECK(rows.front() == RowId{});
  CHECK(rows.back() == RowId{.b = 1, .h = 2, .q_idx = 999});
  CHECK(rows == sample_rows(size, 100));
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const auto flat = [](const RowId& row) { return (row.b * 3 + row.h) * 1000 + row.q_idx; };
    CHECK(flat(rows[i]) > flat(rows[i - 1]));
  }
}

TEST_CASE(
    "a comparison holds within the bound, and fails past it, on NaN and on a row that should be empty") {
  const Problem problem = two_keys("");
  const auto reference = forward(problem);
  const ErrorBound bound = error_bound(DType::f32, 8, 2);
  HostTensor o("o", DType::f32, {1, 1, 1, 8});
  std::vector<float> lse{static_cast<float>(reference.lse[0])};
  for (std::int64_t d = 0; d < 8; ++d) o.set(d, reference.o[static_cast<std::size_t>(d)]);
  CHECK(compare(reference, bound, problem.size, o, lse).holds());

  const double allowed = bound.relative(reference.max_logit[0]) * reference.magnitude[5];
  const double exact = reference.o[5];
  o.set(5, exact + 0.9 * allowed);
  CHECK(compare(reference, bound, problem.size, o, lse).holds());
  o.set(5, exact + 1.1 * allowed);
  const auto wrong = compare(reference, bound, problem.size, o, lse);
  CHECK(!wrong.holds());
  CHECK(wrong.worst_column == 5);
  o.set(5, std::nan(""));
  CHECK(!compare(reference, bound, problem.size, o, lse).holds());
  o.set(5, exact);
  lse[0] += 1e-3F;
  const auto wrong_lse = compare(reference, bound, problem.size, o, lse);
  CHECK(!wrong_lse.holds());
  CHECK(wrong_lse.worst_column == -1);

  const Problem empty = two_keys("mask_mod = kv_idx > 7\n");
  const auto empty_reference = forward(empty);
  HostTensor zeros("o", DType::f32, {1, 1, 1, 8});
  const std::vector<float> minus_infinity{-HUGE_VALF};
  const auto held = compare(empty_reference, bound, empty.size, zeros, minus_infinity);
  CHECK(held.holds());
  CHECK(held.empty_rows == 1);
  CHECK(!compare(empty_reference, bound, empty.size, zeros, {-1e30F}).holds());
  zeros.set(2, 1e-30);
  CHECK(!compare(empty_reference, bound, empty.size, zeros, minus_infinity).holds());
}
