// tools/reference/interpreter: the language's integer and float semantics, reads, reductions, examples.
#include "tools/reference/interpreter.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "tests/catch.h"
#include "tools/problem/problem.h"

using namespace fa;
using namespace fa::tools;

namespace {

constexpr int kMin = std::numeric_limits<std::int32_t>::min();
constexpr int kMax = std::numeric_limits<std::int32_t>::max();

/// Evaluates an i32 expression of params a and c. Params are run-time numbers, so that nothing is folded.
std::int32_t integer(const std::string& expression, std::int32_t a, std::int32_t c = 0) {
  const Spec spec =
      Spec::parse(fmt::format("attention t\nhead_dim 16\nparam a : i32 = {}\nparam c : i32 = {}\n"
                              "score_mod = score + f32({})\n",
                              a == kMin ? kMin + 1 : a, c, expression));
  const std::vector<Scalar> params{a, c};
  Environment environment =
      problem_environment(spec, {.batch = 1, .num_q_heads = 1, .num_kv_heads = 1}, params);
  const ExprPtr sum = spec.checked().score_mod;
  return Interpreter(sum->args.at(1)->args.at(0)).evaluate_i32(environment, 1)[0];  // of f32(expression)
}

double real(const std::string& expression, float x, float y = 0) {
  const Spec spec =
      Spec::parse(fmt::format("attention t\nhead_dim 16\nparam x : f32 = 0\nparam y : f32 = 0\n"
                              "score_mod = {} + 0 * (x + y) * 0\n",
                              expression));
  const std::vector<Scalar> params{x, y};
  Environment environment =
      problem_environment(spec, {.batch = 1, .num_q_heads = 1, .num_kv_heads = 1}, params);
  const double score = 3;
  environment.score = &score;
  return Interpreter(spec.checked().score_mod).evaluate_f32(environment, 1)[0];
}

}  // namespace

TEST_CASE("integer division and remainder round to minus infinity, by zero they are 0") {
  CHECK(integer("a / c", 7, 2) == 3);
  CHECK(integer("a / c", -7, 2) == -4);
  CHECK(integer("a / c", 7, -2) == -4);
  CHECK(integer("a / c", -7, -2) == 3);
  CHECK(integer("a / c", -6, 2) == -3);
  CHECK(integer("a / c", 5, 0) == 0);
  CHECK(integer("a / c", kMin, -1) == kMin);
  CHECK(integer("a % c", 7, 2) == 1);
  CHECK(integer("a % c", -7, 2) == 1);
  CHECK(integer("a % c", 7, -2) == -1);
  CHECK(integer("a % c", -7, -2) == -1);
  CHECK(integer("a % c", 5, 0) == 0);
  CHECK(integer("a % c", kMin, -1) == 0);
  CHECK(integer("ceil_div(a, c)", 7, 2) == 4);
  CHECK(integer("ceil_div(a, c)", -7, 2) == -3);
  CHECK(integer("ceil_div(a, c)", 7, 0) == 0);
}

TEST_CASE("integers wrap around, shifts take their amount modulo 32") {
  CHECK(integer("a + c", kMax, 1) == kMin);
  CHECK(integer("a - c", kMin, 1) == kMax);
  CHECK(integer("a * c", 1 << 20, 1 << 20) == 0);
  CHECK(integer("-a", kMin) == kMin);
  CHECK(integer("abs(a)", kMin) == kMin);
  CHECK(integer("a << c", 1, 33) == 2);
  CHECK(integer("a << c", 3, 31) == kMin);
  CHECK(integer("a >> c", -8, 1) == -4);
  CHECK(integer("a >> c", -8, -31) == -4);
  CHECK(integer("~a", 5) == -6);
  CHECK(integer("popcount(a) + 100 * popcount(c)", -1, 0x8001) == 232);
  CHECK(integer("sign(a) + 10 * sign(c)", kMin, 5) == 9);
  CHECK(integer("a ** 3", -2000) == 589934592);  // -8e9 + 2^33
  CHECK(integer("(a & c) + (a | c) * 100 + (a ^ c) * 10000", 6, 3) == 50702);
}

TEST_CASE("casts truncate, saturate and send NaN to 0") {
  CHECK(real("f32(i32(x))", 2.9F) == 2);
  CHECK(real("f32(i32(x))", -2.9F) == -2);
  CHECK(real("f32(i32(x))", 3e9F) == 0x1p31);  // 2147483647 as an f32
  CHECK(real("f32(i32(x))", -3e9F) == kMin);
  // NaN is made inside, as the sum around it would spread it.
  CHECK(real("f32(i32(sqrt(y - 1)))", 0, 0) == 0);
}

TEST_CASE("functions are the usual ones, in double") {
  CHECK(real("exp2(x)", 3) == 8);
  CHECK(real("sigmoid(x)", 0) == 0.5);
  CHECK(real("rsqrt(x)", 4) == 0.5);
  CHECK(real("tanh(x)", 0.5F) == std::tanh(0.5));
  CHECK(real("erf(x) + sin(x) + cos(x) + log(x) + log2(x)", 2) ==
        std::erf(2.0) + std::sin(2.0) + std::cos(2.0) + std::log(2.0) + 1);
  CHECK(real("floor(x)", -1.5F) == -2);
  CHECK(real("ceil(x)", -1.5F) == -1);
  CHECK(real("trunc(x)", -1.5F) == -1);
  CHECK(real("round(x)", 2.5F) == 2);
  CHECK(real("round(x)", -3.5F) == -4);
  CHECK(real("tan(x)", 0.5F) == std::sin(0.5) / std::cos(0.5));
  CHECK(real("atan(x) + log1p(x) + expm1(x)", 0.5F) == std::atan(0.5) + std::log1p(0.5) + std::expm1(0.5));
  CHECK(real("atan2(x, y)", 1, -2) == std::atan2(1.0, -2.0));
  CHECK(real("x ** y", 3, -2.5F) == std::pow(3.0, -2.5));
  CHECK(real("clamp(x, -1, 1)", 5) == 1);
  CHECK(real("min(x, y, 1)", 5, -2) == -2);
  CHECK(real("max(x, y, 1)", 0, -2) == 1);
  CHECK(real("where(x < y, x, y)", 1, 2) == 1);
  CHECK(real("x * 0.1", 1) == static_cast<double>(0.1F));  // a literal is the nearest f32
  CHECK(real("score * x", 2) == 6);
}

TEST_CASE("lanes count up along kv, reads clamp, reductions run over their range") {
  const Spec spec = Spec::parse(R"(attention t
head_dim 16
tensor table : i32[num_q_heads, 4] = i0 * 10 + i1
tensor flags : bool[kv_len] = i0 % 2 == 1
score_mod = score + table[h, kv_idx] + 1000 * sum(i < 3: table[i, i]) + 100000 * max(i < 2: where(any(j < 2: kv_idx == i + j), i + 1, 0))
mask_mod = flags[kv_idx] and all(i < 2: table[i, 0] <= 10)
)");
  ProblemInputs inputs;
  inputs.size = {.batch = 1, .num_q_heads = 2, .num_kv_heads = 1, .q_len = 1, .kv_len = 6};
  const Problem problem = make_problem(spec, inputs);
  CHECK(problem.tensors[0].shape == std::vector<std::int64_t>{2, 4});
  CHECK(problem.tensors[0].get(7) == 13);

  Environment environment = problem_environment(problem);
  environment[Builtin::h] = 1;
  const std::vector<double> score(6, 0.5);
  environment.score = score.data();
  Interpreter score_mod(spec.checked().score_mod);
  const auto values = score_mod.evaluate_f32(environment, 6);
  // table[1, kv] clamps at 13; the sum is 0 + 11 + 12 (row 2 clamps to row 1); the max marks kv 0, 1 and 2.
  const std::vector<double> expected{123010.5, 223011.5, 223012.5, 23013.5, 23013.5, 23013.5};
  CHECK(std::vector<double>(values.begin(), values.end()) == expected);

  Interpreter mask_mod(spec.checked().mask_mod);
  const auto kept = mask_mod.evaluate_i32(environment, 6);
  CHECK(std::vector<std::int32_t>(kept.begin(), kept.end()) == std::vector<std::int32_t>{0, 1, 0, 1, 0, 1});
}

TEST_CASE("what decides something is computed as f32 says, the rest in double") {
  // 0.1 and 3 are f32; their product is not. As an addend it is a double, under floor and in a comparison an
  // f32.
  const double product = static_cast<double>(0.1F) * 3;
  const auto rounded = static_cast<double>(0.1F * 3.0F);
  CHECK(real("x * y", 0.1F, 3) == product);
  CHECK(real("floor(x * y * 1e7) * 1.0", 0.1F, 3) ==
        std::floor(static_cast<double>(static_cast<float>(rounded * static_cast<double>(1e7F)))));
  CHECK(real("where(x * y == 0.3, 1.0, 2.0)", 0.1F, 3) == (rounded == static_cast<double>(0.3F) ? 1 : 2));
  // The buckets of T5 at its powers of two, where f32 is a whole number.
  for (const auto& [n, bucket] : {std::pair{16.0F, 2}, {32.0F, 4}, {64.0F, 6}, {128.0F, 8}})
    CHECK(real("f32(i32(log(x / 8.0) / log(128 / 8.0) * 8))", n) == bucket);
}

TEST_CASE("errors of a value grow with what it is computed from") {
  const Spec spec =
      Spec::parse("attention t\nhead_dim 16\nscore_mod = (score * 100.0 - score * 99.0) * 4.0\n");
  Environment environment = problem_environment(spec, {.batch = 1, .num_q_heads = 1, .num_kv_heads = 1}, {});
  const double score = 2;
  environment.score = &score;
  environment.score_error = 1e-6;
  Interpreter interpreter(spec.checked().score_mod);
  CHECK(interpreter.evaluate_f32(environment, 1)[0] == 8);
  CHECK(interpreter.errors()[0] > 4 * 199e-6);
  CHECK(interpreter.errors()[0] < 4 * 500e-6);
  CHECK(!interpreter.doubt(0));
}

TEST_CASE("a decision that errors could turn leaves a doubt, one that settles it does not") {
  const auto doubtful = [](const std::string& hook, double score) {
    const Spec spec = Spec::parse("attention t\nhead_dim 16\nscore_mod = " + hook + "\n");
    Environment environment =
        problem_environment(spec, {.batch = 1, .num_q_heads = 1, .num_kv_heads = 1}, {});
    environment.score = &score;
    environment.score_error = 1e-6;
    Interpreter interpreter(spec.checked().score_mod);
    interpreter.evaluate_f32(environment, 1);
    return interpreter.doubt(0).has_value();
  };
  CHECK(doubtful("where(score > 1.0, score, 0.0)", 1.0000001));
  CHECK(!doubtful("where(score > 1.0, score, 0.0)", 1.1));
  CHECK(!doubtful("where(score > 1.0 or kv_idx == 0, score, 0.0)", 1.0000001));
  CHECK(doubtful("where(score > 1.0 and kv_idx == 0, score, 0.0)", 1.0000001));
  CHECK(!doubtful("where(score > 1.0 and kv_idx > 0, score, 0.0)", 1.0000001));
  CHECK(!doubtful("where(score > 1.0, score, 1.0 * score)", 1.0000001));  // either way the same
  CHECK(doubtful("score + floor(score)", 1.9999999));
  CHECK(doubtful("score + round(score)", 1.4999999));
  CHECK(!doubtful("score + round(score)", 1.9999999));
  CHECK(doubtful("score + ceil(score)", 2.0000001));
  CHECK(doubtful("score + sign(score - 2.0)", 2.0000001));
  CHECK(doubtful("score + i32(score * 2.0)", 1.5));
  CHECK(!doubtful("score + floor(f32(kv_idx))", 1.9999999));
  CHECK(doubtful("where(tanh(f32(kv_idx + 1)) * 1.0 > 0.7615942, score, 0.0)", 1));
}
