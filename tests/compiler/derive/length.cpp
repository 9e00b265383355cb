// Derivatives of long hooks: as long as the hook times a small number, right, and refused with a line where
// they would be longer than any use. tests/tools/command/long_specs.cpp asks for the same with little stack.
#include "compiler/ir/llvm.h"
// after llvm.h
#include <fmt/format.h>

#include "compiler/derive/derive.h"
#include "fa/error.h"
#include "fa/spec.h"
#include "tests/catch.h"
#include "tests/compiler/derive/differences.h"
#include "tests/compiler/ir/hook_eval.h"

using namespace fa;

namespace {

constexpr const char* kHead = "attention long\nparam g : f32 = 0.7 grad\ntensor w : f32[kv_len] grad\n";

Derivatives derived_with_head(const std::string& items) {
  const Spec spec = Spec::parse(kHead + items);
  return derive(spec.checked(), lower(spec.checked()));
}

std::string repeated(int count, const std::string& text) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

/// `count` lets, each made of the last ("X") as `step` says, the first of the score and w, the last times g.
std::string lets(int count, const std::string& step) {
  std::string all = "let x0 = score + w[kv_idx]\n";
  for (int i = 0; i < count; ++i) {
    std::string text = step;
    for (std::size_t at = 0; (at = text.find('X', at)) != text.npos;)
      text.replace(at, 1, fmt::format("x{}", i));
    all += fmt::format("let x{} = {}\n", i + 1, text);
  }
  return all + fmt::format("score_mod = g * x{}\n", count);
}

std::size_t num_instructions(const Derivatives& derivatives) {
  std::size_t count = 0;
  for (const llvm::Function& function : *derivatives.module) count += function.getInstructionCount();
  return count;
}

std::string wrong(const std::string& items) {
  const Spec spec = Spec::parse(kHead + items);
  const tools::Problem problem = test::small_problem(
      spec, 7, {.batch = 1, .num_q_heads = 2, .num_kv_heads = 1, .q_len = 9, .kv_len = 11});
  const test::ComparedDerivatives result = test::compare_derivatives(problem, 6, 11, 0.5, 1);
  return result.wrong.empty() && result.compared == 0 ? "nothing was compared" : result.wrong;
}

}  // namespace

TEST_CASE("the derivatives of a chain of 380 operations are right, and as long as the chain", "[derive]") {
  for (const char* op : {" * g", " / g", " + score * g", " - g"}) {
    INFO(op);
    const std::string items = "score_mod = w[kv_idx] + 0.001 * score" + repeated(380, op) + "\n";
    CHECK(num_instructions(derived_with_head(items)) < 380 * 8);
  }
  CHECK(wrong("score_mod = w[kv_idx] + score" + repeated(380, " * (0.5 + 0.715 * g)") + "\n") == "");
  CHECK(wrong("score_mod = w[kv_idx] + 0.01 * (score" + repeated(380, " + score * g") + ")\n") == "");
}

TEST_CASE("the derivatives of 64 doublings are right, and as long as the 64 operations", "[derive]") {
  // Of 2^64 paths from the result to the score.
  const Derivatives plain = derived_with_head(lets(64, "0.5 * X + 0.5 * X"));
  CHECK(plain.score_mod.score.per == Per::call);  // g
  CHECK(num_instructions(plain) < 64 * 8);
  for (const char* step : {"0.5 * X + 0.4 * tanh(X)", "X * (1.5 - 0.5 * X)", "X / (0.5 + 0.5 * X)",
                           "0.5 * max(X, 0.3) + 0.5 * X", "where(X > 0.4, 0.5 * X + 0.5 * X, X)"}) {
    INFO(step);
    CHECK(num_instructions(derived_with_head(lets(64, step))) < 64 * 50);
    CHECK(wrong(lets(64, step)) == "");
  }
}

TEST_CASE("conditions inside of conditions make the derivative no longer", "[derive]") {
  const auto length = [](int count, const char* step) {
    return num_instructions(derived_with_head(lets(count, step)));
  };
  for (const char* step : {"where(kv_idx != 300, X * g, 0.0)", "where(X < 9.0, 0.99 * X, -X)", "1.01 * (-X)",
                           "where(q_idx >= 0, 0.5, X * g)"}) {
    INFO(step);
    CHECK(length(120, step) < 3 * length(60, step));
    CHECK(wrong(lets(60, step)) == "");
  }
}

TEST_CASE("a sum of thousands of terms has a derivative that does not nest as deep", "[derive]") {
  std::string sum = "score * g";
  for (int i = 0; i < 11; ++i) sum = "(" + sum + " + " + sum + ")";
  const Derivatives result = derived_with_head("score_mod = w[0] + " + sum + "\n");
  CHECK(num_instructions(result) < 2048 * 3);
}

TEST_CASE("what a hook mentions many times has one derivative", "[derive]") {
  const Derivatives result =
      derived_with_head("score_mod = score" + repeated(380, " * (g + w[kv_idx])") + "\n");
  CHECK(result.score_mod.adjoints.size() == 2);
  CHECK(num_instructions(result) < 380 * 20);
  CHECK(derived_with_head("score_mod = g * score + w[kv_idx] * w[kv_idx + 0] * w[q_idx]\n")
            .score_mod.adjoints.size() == 4);
  // Of a reduction's body, too: one reduction adds up what g gets there.
  const Derivatives sum =
      derived_with_head("score_mod = score + sum(i < 40: w[i]" + repeated(370, " * (g + score)") + ")\n");
  CHECK(num_instructions(sum) < 370 * 30);
}

TEST_CASE("a derivative that would be longer than any use is refused where it gets so", "[derive]") {
  std::string chain;
  for (int i = 0; i < 380; ++i) chain += fmt::format(" * w[{}]", i);
  try {
    derived_with_head("score_mod = g * score" + chain + "\n");
    FAIL("no error");
  } catch (const SpecError& error) {
    REQUIRE(error.diagnostics().size() == 1);
    const Diagnostic& finding = error.diagnostics()[0];
    CHECK(finding.message ==
          "the derivative of the hook, from here on, takes more than 65536 operations, counted for each "
          "element that it reads");
    CHECK(finding.place.line == 4);
    CHECK(finding.place.column > 20);
    CHECK(finding.remedy == "let the hook compute less, or mark fewer of its names 'grad'");
    CHECK(finding.source_line.starts_with("score_mod = g * score * w[0]"));
  }
}
