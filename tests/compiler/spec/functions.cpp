// Functions of the spec: what a call means, what it costs, how they are printed. Their errors are in
// tests/error/function_*.
#include <algorithm>
#include <string>
#include <vector>

#include "compiler/ir/hook_ir.h"
#include "compiler/spec/print.h"
#include "compiler/spec/spec.h"
#include "fa/spec.h"
#include "tests/catch.h"
#include "tests/compiler/spec/parse.h"

using fa::test::parse;

namespace {

/// The typed trees of the hooks, without the text before them.
std::string hooks(const std::string& lines) {
  const std::string text = fa::print_ast(parse(lines).checked());
  return text.substr(std::min(text.find("score_mod\n"), text.find("mask_mod\n")));
}

}  // namespace

TEST_CASE("a call is the expression that the body is with its arguments", "[spec][functions]") {
  CHECK(hooks("param w : i32 = 4\nlet near(x, y) = abs(x - y) < w\nmask_mod = near(q_idx, kv_idx)") ==
        hooks("param w : i32 = 4\nmask_mod = abs(q_idx - kv_idx) < w"));
  CHECK(hooks("let d = q_idx - kv_idx\nlet inside(x) = x >= 0 and x < 9\nlet a = inside(d)\nmask_mod = a or "
              "inside(d + 3)") ==
        hooks("let d = q_idx - kv_idx\nlet e = d + 3\nmask_mod = d >= 0 and d < 9 or e >= 0 and e < 9"));
  // Functions may call functions declared above; reads and the score work as outside of functions.
  CHECK(hooks("tensor t : f32[kv_len]\nlet at(i) = t[i] * 2\nlet soft(x) = tanh(x / 3) * 3\n"
              "let both(x, i) = soft(x) + at(i)\nscore_mod = both(score, kv_idx)") ==
        hooks("tensor t : f32[kv_len]\nscore_mod = tanh(score / 3) * 3 + t[kv_idx] * 2"));
}

TEST_CASE("each call has the types of its arguments", "[spec][functions]") {
  CHECK(hooks("let half(x) = x / 2\nscore_mod = half(score) + half(q_idx)") ==
        hooks("score_mod = score / 2 + q_idx / 2"));
  CHECK(hooks("let pick(c, x, y) = where(c, x, y)\nscore_mod = pick(h == 0, score, 2)\nmask_mod = pick(h == "
              "1, q_idx > 3, true)") ==
        hooks("score_mod = where(h == 0, score, 2)\nmask_mod = where(h == 1, q_idx > 3, true)"));
}

TEST_CASE("an argument is one shared node", "[spec][functions]") {
  CHECK(hooks("let square(x) = x * x\nscore_mod = square(score + q_idx)") ==
        hooks("let x = score + q_idx\nscore_mod = x * x"));
}

TEST_CASE("a body's reductions are its own", "[spec][functions]") {
  const fa::Spec spec = parse(
      "tensor t : i32[8]\nlet among(x) = any(i < 8: t[i] == x)\n"
      "mask_mod = any(i < 3: among(q_idx + i)) and among(kv_idx)");
  const fa::Expr& mask = *spec.checked().mask_mod;
  const fa::Expr& outer = *mask.args[0];
  const fa::Expr& inner = *outer.args[0];
  const fa::Expr& second = *mask.args[1];
  REQUIRE(inner.kind == fa::ExprKind::reduce);
  CHECK(outer.index != inner.index);
  CHECK(inner.index != second.index);
  // The argument's i is the outer reduction's.
  CHECK(inner.args[0]->args[1]->args[1]->index == outer.index);
}

TEST_CASE("a constant argument may be the range of a reduction", "[spec][functions]") {
  CHECK(parse("let count(n) = sum(i < n: i)\nmask_mod = kv_idx < count(2 * 4)")
            .checked()
            .mask_mod->args[1]
            ->count == 8);
}

TEST_CASE("functions print as they are written and read back", "[spec][functions][print]") {
  const fa::Spec spec = parse(
      "let near( x,y )=abs(x-y)<8   # close by\nlet twice(x) = 2*x\nmask_mod = near(twice(q_idx), kv_idx)");
  CHECK(spec.text() ==
        "attention a\nhead_dim 128\ndtype bf16\nscale 1 / sqrt(head_dim)\n"
        "let near(x, y) = abs(x - y) < 8\nlet twice(x) = 2 * x\n"
        "mask_mod = near(twice(q_idx), kv_idx)\n");
  CHECK(fa::Spec::parse(spec.text()).text() == spec.text());
  CHECK(fa::print_ast(fa::Spec::parse(spec.text()).checked()) == fa::print_ast(spec.checked()));
  CHECK(fa::print_ast(*spec.checked().ast).find("let near(x, y)\n") != std::string::npos);
}

TEST_CASE("functions can be built from parts", "[spec][functions]") {
  fa::SpecParts parts;
  parts.lets = {{.name = "near", .value = "abs(x - y) < 8", .parameters = {"x", "y"}}};
  parts.mask_mod = "near(q_idx, kv_idx)";
  CHECK(fa::Spec::build(parts).text().find("let near(x, y) = abs(x - y) < 8\n") != std::string::npos);
  parts.lets[0].parameters[1] = "y) = 3\nlet z(x";
  CHECK_THROWS_AS(fa::Spec::build(parts), fa::SpecError);
}

TEST_CASE("warnings in bodies are told once", "[spec][functions]") {
  const auto warnings = [](const std::string& lines) {
    std::vector<std::string> all;
    const fa::Spec spec = parse(lines);
    for (const fa::Diagnostic& warning : spec.warnings()) all.push_back(warning.message);
    return all;
  };
  using Warnings = std::vector<std::string>;
  CHECK(warnings("let half(x) = x * (1 / 2)\nscore_mod = half(score) + half(q_idx)") ==
        Warnings{"1 / 2 is 0: `/` on two integers rounds down"});
  CHECK(warnings("let down(x) = floor(x)\nscore_mod = down(score) + down(q_idx)").empty());
  CHECK(warnings("let f(x) = x\nlet g(x) = f(x)\nmask_mod = kv_idx > 3") ==
        Warnings{"function 'g' is never used"});
}

// Without shared nodes each of these would take 2^60 steps.
TEST_CASE("functions whose arguments double stay small in every stage", "[spec][functions]") {
  std::string chain = "head_dim 64\nlet fn0(x) = x * x + 1\n";
  for (int i = 1; i < 60; ++i)
    chain += "let fn" + std::to_string(i) + "(x) = fn" + std::to_string(i - 1) + "(x * x % 1000)\n";
  for (const char* hook :
       {"mask_mod = fn59(q_idx + kv_idx) > 3", "mask_mod = any(i < 40: fn59(i + kv_idx) == q_idx)",
        "mask_mod = any(i < 2: fn59(i + kv_idx) == q_idx)"}) {
    const fa::Spec spec = parse(chain + hook);
    CHECK(fa::print_ast(spec.checked()).size() < 50000);
    CHECK(fa::lower(spec.checked()).print().size() < 100000);
  }
}
