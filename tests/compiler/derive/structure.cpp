// What derivatives look like: no code where none is needed, nothing computed twice, and what each depends on.
#include "compiler/ir/llvm.h"
// after llvm.h
#include <algorithm>
#include <tuple>

#include "compiler/derive/derive.h"
#include "fa/error.h"
#include "fa/spec.h"
#include "tests/catch.h"
#include "tests/compiler/derive/evaluate.h"
#include "tests/compiler/ir/hook_eval.h"

using namespace fa;

namespace {

Derivatives derived(const std::string& items) {
  const Spec spec = Spec::parse("attention one\n" + items, FA_SOURCE_DIR "/tests/import/good/one.fa");
  return derive(spec.checked(), lower(spec.checked()));
}

std::string text_of(const Derived& value) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (value.function != nullptr) value.function->print(stream);
  return text;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++found;
  return found;
}

std::size_t num_instructions(const Derived& value) {
  return value.function == nullptr ? 0 : value.function->getInstructionCount();
}

}  // namespace

TEST_CASE("identity and additive scores have the derivative 1 and no code", "[derive]") {
  for (const char* items : {"", "score_mod = score\n",
                            "tensor t : f32[num_q_heads]\nscore_mod = score - t[h] * (q_idx - kv_idx)\n",
                            "tensor t : f32[q_len, kv_len] grad\nscore_mod = t[q_idx, kv_idx] + score\n",
                            "tensor t : f32[q_len]\nscore_mod = where(h == 0, score, score + t[q_idx])\n",
                            "score_mod = 2.0 * (score * 0.5) + sum(i < 5: f32(i))\n"}) {
    INFO(items);
    const Derivatives result = derived(items);
    CHECK(result.score_mod.score.number() == 1.0);
    CHECK(result.score_mod.score.function == nullptr);
  }
}

TEST_CASE("an element's own bias has the derivative 1, and the element is [q_idx, kv_idx]", "[derive]") {
  const Derivatives result =
      derived("tensor t : f16[num_q_heads, q_len, kv_len] grad\nscore_mod = score + t[h, q_idx, kv_idx]\n");
  REQUIRE(result.score_mod.adjoints.size() == 1);
  const Adjoint& t = result.score_mod.adjoints[0];
  CHECK(t.value.number() == 1.0);
  CHECK(t.place == Per::element);
  REQUIRE(t.indices.size() == 3);
  CHECK(t.indices[0].per == Per::head);
  CHECK(t.indices[1].per == Per::row);
  CHECK(t.indices[2].per == Per::column);
}

TEST_CASE("the derivative of a soft cap is made of its own tanh", "[derive]") {
  const Derivatives result = derived("score_mod = 50.0 * tanh(score / 50.0)\n");
  const std::string text = text_of(result.score_mod.score);
  INFO(text);
  CHECK(count(text, "call ") == 1);
  CHECK(count(text, "llvm.tanh") == 1);
  CHECK(count(text, "fdiv") == 1);                       // score / 50
  CHECK(num_instructions(result.score_mod.score) == 5);  // and 1 - t * t, and the return
}

TEST_CASE("sigmoid, exp, sqrt and rsqrt are not computed again for their derivatives", "[derive]") {
  for (const char* function : {"sigmoid", "exp", "exp2", "sqrt", "rsqrt", "expm1"}) {
    const std::string text =
        text_of(derived("score_mod = " + std::string(function) + "(score)\n").score_mod.score);
    INFO(text);
    CHECK(count(text, " call ") == 1);
  }
}

TEST_CASE("at corners the derivative is one beside it, and softplus has none", "[derive]") {
  const auto at_zero = [](const std::string& expression) {
    const Spec spec = Spec::parse("attention one\nscore_mod = " + expression + "\n");
    const tools::Problem problem = test::small_problem(
        spec, 1, {.batch = 1, .num_q_heads = 1, .num_kv_heads = 1, .q_len = 1, .kv_len = 1});
    const test::Point point(problem, 0, 0, 0, 0, 0);
    return test::Evaluator(point).value(*derive(spec.checked(), lower(spec.checked())).score_mod.score.expr);
  };
  CHECK(at_zero("softplus(score)") == 0.5);
  CHECK(at_zero("relu(score)") == 1);
  CHECK(at_zero("max(0.0, score)") == 0);
  CHECK(at_zero("abs(score)") == 1);
  CHECK(at_zero("clamp(score, 0.0, 1.0)") == 1);
  CHECK(at_zero("clamp(score, -1.0, 0.0)") == 1);
  CHECK(at_zero("where(score > 0.0, log(score), 0.0) + score") == 1);
  CHECK(at_zero("where(score > 0.0, sqrt(score), 0.0)") == 0);
}

TEST_CASE("the derivative by ALiBi's slopes is the distance, and one slope a head gets it", "[derive]") {
  const Derivatives result =
      derived("tensor slopes : f32[num_q_heads] grad\nscore_mod = score - slopes[h] * (q_idx - kv_idx)\n");
  REQUIRE(result.score_mod.adjoints.size() == 1);
  const Adjoint& slopes = result.score_mod.adjoints[0];
  CHECK(slopes.name == "slopes");
  CHECK(slopes.place == Per::head);
  CHECK(slopes.value.per == Per::distance);
  CHECK(text_of(slopes.value).find("load") == std::string::npos);
}

TEST_CASE("a table of relative positions gets its gradient by distance", "[derive]") {
  const Derivatives result = derived(
      "tensor bias : f32[num_q_heads, 129] grad\nscore_mod = score + bias[h, clamp(q_idx - kv_idx, -64, 64) "
      "+ 64]\n");
  REQUIRE(result.score_mod.adjoints.size() == 1);
  const Adjoint& bias = result.score_mod.adjoints[0];
  CHECK(bias.value.number() == 1.0);
  CHECK(bias.place == Per::distance);
}

TEST_CASE("biases by row and by column, and a factor by head, are known as such", "[derive]") {
  const Derivatives result = derived(
      "tensor rows : f32[q_len] grad\ntensor columns : f32[kv_len] grad\ntensor factor : f32[num_q_heads] "
      "grad\n"
      "param tau : f32 = 1.0 grad\nscore_mod = score * factor[h] + rows[q_idx] + tau * columns[kv_idx]\n");
  REQUIRE(result.score_mod.adjoints.size() == 4);
  const auto& [tau, rows, columns, factor] =
      std::tie(result.score_mod.adjoints[0], result.score_mod.adjoints[1], result.score_mod.adjoints[2],
               result.score_mod.adjoints[3]);
  CHECK(tau.of == Adjoint::Of::param);
  CHECK(tau.value.per == Per::column);
  CHECK(rows.place == Per::row);
  CHECK(rows.value.number() == 1.0);
  CHECK(columns.place == Per::column);
  CHECK(columns.value.per == Per::call);
  CHECK(factor.place == Per::head);
  CHECK(factor.value.per == Per::element);
  CHECK(result.score_mod.score.per == Per::head);
}

TEST_CASE("a read in a reduction has a derivative an iteration", "[derive]") {
  const Derivatives result = derived(
      "param n : i32 = 5\ntensor rows : f32[q_len, 64] grad\ntensor columns : f32[kv_len, 64]\n"
      "score_mod = score + sum(r < n max 64: rows[q_idx, r] * columns[kv_idx, r])\n");
  REQUIRE(result.score_mod.adjoints.size() == 1);
  const Adjoint& a = result.score_mod.adjoints[0];
  REQUIRE(a.loops.size() == 1);
  CHECK(a.loops[0].count == 64);
  CHECK(a.loops[0].range != nullptr);
  CHECK(a.value.per == Per::column);  // columns, at the caller's iteration
  CHECK(a.value.function->size() == 1);
  CHECK(a.value.function->getArg(static_cast<unsigned>(a.value.function->arg_size()) - 1)->getName() == "i0");
}

TEST_CASE("the element that gets a gradient lies inside the tensor, as the one that was read", "[derive]") {
  const Derivatives result = derived("tensor t : f32[40] grad\nscore_mod = score + t[kv_idx - 3]\n");
  const std::string index = text_of(result.score_mod.adjoints.at(0).indices.at(0));
  INFO(index);
  CHECK(count(index, "llvm.smin") == 1);
  CHECK(count(index, "llvm.smax") == 1);
  const Derivatives proved = derived("tensor t : f32[kv_len] grad\nscore_mod = score + t[kv_idx]\n");
  CHECK(num_instructions(proved.score_mod.adjoints.at(0).indices.at(0)) == 1);  // it returns kv_idx
}

TEST_CASE("a sink's captured values have gradients, too", "[derive]") {
  const Derivatives result =
      derived("tensor sinks : f32[num_q_heads] grad\nparam s : f32 = 2.0 grad\nsink s * sinks[h]\n");
  CHECK(result.score_mod.adjoints.empty());
  REQUIRE(result.sink.adjoints.size() == 2);
  CHECK(result.sink.adjoints[0].value.per == Per::head);
  CHECK(result.sink.adjoints[1].place == Per::head);
}

TEST_CASE("derivatives print themselves, the same each time", "[derive]") {
  const std::string items =
      "tensor slopes : f32[num_q_heads] grad\nparam cap : f32 = 50.0 grad\n"
      "score_mod = cap * tanh((score - slopes[h] * (q_idx - kv_idx)) / cap)\n";
  const std::string text = derived(items).print();
  INFO(text);
  CHECK(text.starts_with("; d score_mod / d score: @d_score, one an element"));
  CHECK(text.find("; d score_mod / d cap: @d_p.cap, one an element") != std::string::npos);
  CHECK(text.find("; d score_mod / d slopes[...] at 4:33: @d_t.slopes.0") != std::string::npos);
  CHECK(text.find("define float @d_t.slopes.0(") != std::string::npos);
  CHECK(text == derived(items).print());
  CHECK(derived("score_mod = score\n").print() == "; d score_mod / d score: 1, no code\n");
}

TEST_CASE("of hooks from files derive says what no gradient reaches", "[derive]") {
  const std::string items = "param unused : f32 = 1.0 grad\nscore_mod from \"tables.ll\"\n";
  CHECK_NOTHROW(Spec::parse("attention one\n" + items, FA_SOURCE_DIR "/tests/import/good/one.fa"));
  try {
    derived(items);
    FAIL("no error");
  } catch (const SpecError& error) {
    REQUIRE(error.diagnostics().size() == 1);
    const Diagnostic& finding = error.diagnostics()[0];
    CHECK(finding.message == "no gradient reaches 'unused': neither score_mod nor the sink uses it");
    CHECK(finding.place.line == 2);
    CHECK(finding.place.column == 26);
  }
}
