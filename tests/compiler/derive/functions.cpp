// Every function of the language, one at a time, and all of them together in made-up specs.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>

#include "compiler/spec/words.h"
#include "tests/catch.h"
#include "tests/compiler/derive/differences.h"
#include "tests/compiler/ir/hook_eval.h"
#include "tests/generated/made_up.h"
#include "tools/reference/parallel.h"

using namespace fa;
using namespace fa::test;

namespace {

const std::set<std::string_view> kWithoutGradient = {"floor", "ceil",     "round",   "trunc",
                                                     "sign",  "ceil_div", "popcount"};

/// `expression` of the score and of x, y and t, which have gradients.
ComparedDerivatives compare(const std::string& expression, double low, double high) {
  const std::string text = mark_all(fmt::format("attention one\nparam x : f32 = 0.7\nparam y : f32 = 1.3\n"
                                                "tensor t : f32[kv_len]\nscore_mod = {}\n",
                                                expression),
                                    "<one>");
  INFO(text);
  const Spec spec = Spec::parse(text);
  const tools::Problem problem =
      small_problem(spec, 7, {.batch = 1, .num_q_heads = 2, .num_kv_heads = 1, .q_len = 9, .kv_len = 11});
  const ComparedDerivatives result = compare_derivatives(problem, 40, 11, low, high);
  CHECK(result.wrong == "");
  CHECK(result.compared > 40);
  return result;
}

}  // namespace

TEST_CASE("each function of the language has its derivative", "[derive]") {
  std::vector<std::pair<std::string, int>> named;  // and how many arguments
  for (const FunctionInfo& function : functions()) named.emplace_back(function.name, function.min_args);
  for (const char* composite : {"relu", "gelu", "silu", "softplus", "sign", "tan"})
    named.emplace_back(composite, 1);
  for (const auto& [name, arity] : named) {
    INFO(name);
    const std::string others = arity == 1 ? "" : arity == 2 ? ", y" : ", -y, y";
    if (kWithoutGradient.contains(name)) {
      const bool is_integer = name == "ceil_div" || name == "popcount";
      const std::string text =
          fmt::format("attention one\nparam x : f32 = 0.7 grad\nscore_mod = score + {}({}{})\n", name,
                      is_integer ? "i32(x)" : "x", is_integer && arity == 2 ? ", 2" : "");
      CHECK_THROWS_AS(Spec::parse(text), SpecError);
      continue;
    }
    // Positive arguments, for which all are defined; then negative ones where the function has them.
    const double far = std::string_view(name) == "tan" ? 0.6 : 2;  // not beside its poles
    compare(fmt::format("{}(score + x{})", name, others), 0.1, far);
    compare(fmt::format("score * {}(x * y{}) + y", name, others), 0.1, far);
    const std::set<std::string_view> positive_only = {"log", "log2", "log1p", "sqrt", "rsqrt", "pow"};
    if (!positive_only.contains(name)) compare(fmt::format("{}(score - x{})", name, others), -far, 0.5);
  }
}

TEST_CASE("operators, choices and reductions have their derivatives", "[derive]") {
  for (const char* expression : {"score + x",
                                 "score - x",
                                 "x - score",
                                 "score * x",
                                 "score / x",
                                 "x / (score + 3.0)",
                                 "-score * x",
                                 "score * score * x",
                                 "(score + 3.0) ** y",
                                 "(score + 3.0) ** 2.5",
                                 "x ** (0.3 * score)",
                                 "score ** 3",
                                 "(score + 3.0) ** -2",
                                 "where(score > x, score * y, y * y)",
                                 "where(kv_idx > 4, score * t[kv_idx], x)",
                                 "clamp(score, -x, y)",
                                 "min(score, x, y)",
                                 "max(score, x * y, t[kv_idx])",
                                 "50.0 * tanh(score / 50.0)",
                                 "score + t[kv_idx] * t[q_idx]",
                                 "score + sum(i < 9: t[i] * score * 0.1)",
                                 "score + sum(i < 40: t[i] * x)",
                                 "score + min(i < 9: t[i] * score)",
                                 "score + max(i < 40: t[i] * x + score)",
                                 "score + sum(i < 5: sum(j < 6: t[i] * t[j] * score + t[j]))",
                                 "score + sum(i < 3: max(j < 4: t[j] * x + f32(i) * y))",
                                 "score + sum(i < 50: x * y)",
                                 "score + sum(i < 6: exp(t[i] * sum(j < 4: t[j])))",
                                 "log(sum(i < 9: exp(t[i] + score)))",
                                 "where(score > 0.0, log(abs(score)), 0.0) + x"})
    compare(expression, -2, 2);
}

TEST_CASE("a range that is known at run time ends gradients, too", "[derive]") {
  for (const int n : {0, 1, 7, 9, 40}) {
    const Spec spec = Spec::parse(fmt::format(
        "attention one\nparam n : i32 = {}\nparam x : f32 = 0.7 grad\ntensor t : f32[kv_len] grad\n"
        "score_mod = score * x + sum(i < n max 9: t[i] * score + x) + sum(i < n max 40: x * t[i] * t[i])\n",
        n));
    INFO(n);
    const tools::Problem problem =
        small_problem(spec, 7, {.batch = 1, .num_q_heads = 1, .num_kv_heads = 1, .q_len = 5, .kv_len = 11});
    CHECK(compare_derivatives(problem, 10, 3).wrong == "");
  }
}

TEST_CASE("300 made-up score_mods have the derivatives that differences show", "[derive][generated]") {
  const Range range = made_up_range(400);
  std::atomic<int> with_score_mod = 0, compared = 0, kinks = 0, points = 0, with_gradients = 0, failed = 0;
  std::mutex mutex;
  std::string failures;
  tools::parallel_for(static_cast<std::int64_t>(range.count), 1, [&](std::int64_t at, std::int64_t) {
    MadeUp made = made_up(range.first + static_cast<std::uint64_t>(at));
    std::string wrong;
    try {
      made.text = mark_all(made.text, std::string(FA_SOURCE_DIR) + "/tests/import/good/made_up.fa");
      const Spec spec = made.spec();
      made.inputs.size.batch = std::min(made.inputs.size.batch, 2);
      made.inputs.size.q_len = std::min(made.inputs.size.q_len, 70);
      made.inputs.size.kv_len = std::min(made.inputs.size.kv_len, 90);
      const tools::Problem problem = tools::make_problem(spec, made.inputs);
      const ComparedDerivatives result = compare_derivatives(problem, 4, made.number + 5);
      compared += result.compared;
      kinks += result.kinks;
      points += result.points;
      with_score_mod += spec.checked().has_score_mod() ? 1 : 0;
      with_gradients += made.text.find(" grad") != std::string::npos ? 1 : 0;
      wrong = result.wrong;
    } catch (const Error& error) {
      wrong = error.what();
    }
    if (wrong.empty()) return;
    ++failed;
    const std::lock_guard lock(mutex);
    if (failures.size() < 6000) failures += made.print() + "\nwrong: " + wrong + "\n\n";
  });
  INFO(failures);
  CHECK(failed == 0);
  if (range.count >= 400) {
    CHECK(with_score_mod >= 300);
    CHECK(with_gradients >= 200);
  }
  CHECK(kinks <= points);
  WARN(
      fmt::format("{} specs, {} with a score_mod, {} with captured gradients, {} points, {} numbers "
                  "compared, {} kinks avoided",
                  range.count, with_score_mod.load(), with_gradients.load(), points.load(), compared.load(),
                  kinks.load()));
}
