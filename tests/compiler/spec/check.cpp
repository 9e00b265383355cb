// Types, casts, sharing, constants; the findings themselves are in tests/error.
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "compiler/spec/print.h"
#include "compiler/spec/spec.h"
#include "compiler/spec/words.h"
#include "fa/spec.h"
#include "templates/params.h"
#include "tests/catch.h"
#include "tests/compiler/spec/parse.h"

using fa::test::f32;
using fa::test::i32;
using fa::test::parse;

namespace {

// Whether a condition on constants is true, found by a mask of it.
bool holds(const std::string& condition) {
  const fa::Spec spec = parse("mask_mod = " + condition);
  const fa::ExprPtr mask = spec.checked().mask_mod;
  REQUIRE(mask->kind == fa::ExprKind::literal);
  return mask->int_value != 0;
}

std::vector<std::string> warnings(const std::string& lines) {
  std::vector<std::string> all;
  const fa::Spec spec = parse(lines);
  for (const fa::Diagnostic& warning : spec.warnings()) all.push_back(warning.message);
  return all;
}

constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min();

}  // namespace

TEST_CASE("integers fold as the kernel computes them", "[spec][check]") {
  CHECK(i32("7 / 2") == 3);
  CHECK(i32("-7 / 2") == -4);
  CHECK(i32("7 / -2") == -4);
  CHECK(i32("-7 / -2") == 3);
  CHECK(i32("7 % 3") == 1);
  CHECK(i32("-7 % 3") == 2);
  CHECK(i32("7 % -3") == -2);
  CHECK(i32("5 / 0") == 0);
  CHECK(i32("5 % 0") == 0);
  CHECK(i32("-2147483648") == kLeast);
  CHECK(i32("-2147483648 / -1") == kLeast);
  CHECK(i32("-2147483648 % -1") == 0);
  CHECK(i32("2147483647 + 1") == kLeast);
  CHECK(i32("65536 * 65536") == 0);
  CHECK(i32("-(-2147483648)") == kLeast);
  CHECK(i32("abs(-2147483648)") == kLeast);
  CHECK(i32("1 << 33") == 2);
  CHECK(i32("1 << 31") == kLeast);
  CHECK(i32("1 << -1") == kLeast);
  CHECK(i32("-8 >> 1") == -4);
  CHECK(i32("~0") == -1);
  CHECK(i32("0xf0 & 0x3c | 1 ^ 2") == 0x33);
  CHECK(i32("ceil_div(7, 2)") == 4);
  CHECK(i32("ceil_div(-7, 2)") == -3);
  CHECK(i32("ceil_div(7, 0)") == 0);
  CHECK(i32("min(4, 3, 5)") == 3);
  CHECK(i32("max(4, 3, 5)") == 5);
  CHECK(i32("clamp(9, 0, 5)") == 5);
  CHECK(i32("clamp(1, 5, 0)") == 0);
  CHECK(i32("i32(2.9)") == 2);
  CHECK(i32("i32(-2.9)") == -2);
  CHECK(i32("i32(1e20)") == std::numeric_limits<std::int32_t>::max());
  CHECK(i32("i32(-inf)") == kLeast);
  CHECK(i32("i32(inf - inf)") == 0);
  CHECK(i32("i32(3 > 2)") == 1);
  CHECK(i32("where(1 < 2, 10, 20)") == 10);
  CHECK(i32("head_dim * 2") == 256);
  CHECK(i32("0xff") == 255);
  CHECK(i32("0b110") == 6);
}

TEST_CASE("floats fold in steps of f32", "[spec][check]") {
  CHECK(f32("1 / 2.0") == 0.5f);
  CHECK(f32("0.1 + 0.2") == 0.1f + 0.2f);
  CHECK(f32("16777216.0 + 1.0") == 16777216.0f);
  CHECK(f32("sqrt(2)") == std::sqrt(2.0f));
  CHECK(f32("rsqrt(4)") == 0.5f);
  CHECK(f32("exp2(10)") == 1024.0f);
  CHECK(f32("floor(-1.5)") == -2.0f);
  CHECK(f32("sigmoid(0)") == 0.5f);
  CHECK(f32("1 / 0.0") == std::numeric_limits<float>::infinity());
  CHECK(f32("-inf") == -std::numeric_limits<float>::infinity());
  CHECK(f32("7 / 2") == 3.0f);
  CHECK(f32("max(1, 2.5)") == 2.5f);
}

TEST_CASE("conditions fold, decided ones too", "[spec][check]") {
  CHECK(holds("1 < 2 and not 3 == 4"));
  CHECK(holds("1 + 1 == 2.0"));
  CHECK_FALSE(holds("q_idx > 3 and false"));
  CHECK(holds("true or q_idx > 3"));
  CHECK(holds("true != false"));
  CHECK(holds("where(2 > 1, true, q_idx > kv_idx)"));
  CHECK(holds("all(i < 8: 1 < 2)"));
  CHECK_FALSE(holds("inf - inf == inf - inf"));
  // x == x is not decided: folding looks at literals only.
  CHECK(parse("mask_mod = (q_idx == q_idx) and true").checked().mask_mod->op == fa::Op::eq);
}

TEST_CASE("numbers are promoted, a let is one shared node", "[spec][check]") {
  const fa::Spec spec = parse(
      "param w : i32 = 4\n"
      "tensor t : bf16[num_q_heads]\n"
      "tensor n : i8[batch]\n"
      "let d = q_idx - kv_idx\n"
      "score_mod = score + t[h] * d + n[b]\n"
      "mask_mod = d >= 0 and d < w");
  CHECK(fa::print_ast(spec.checked()) ==
        "attention a\n"
        "head_dim 128\n"
        "head_dim_v 128\n"
        "dtype bf16\n"
        "scale 0.088388346\n"
        "param w : i32 = 4\n"
        "tensor t : bf16\n"
        "  extent\n"
        "    num_q_heads : i32\n"
        "tensor n : i8\n"
        "  extent\n"
        "    batch : i32\n"
        "score_mod\n"
        "  '+' : f32\n"
        "    '+' : f32\n"
        "      score : f32\n"
        "      '*' : f32\n"
        "        read t : f32\n"
        "          h : i32\n"
        "        cast : f32\n"
        "          '-' : i32\n"
        "            q_idx : i32\n"
        "            kv_idx : i32\n"
        "    cast : f32\n"
        "      read n : i32\n"
        "        b : i32\n"
        "mask_mod\n"
        "  'and' : bool\n"
        "    '>=' : bool\n"
        "      #1 = '-' : i32\n"
        "        q_idx : i32\n"
        "        kv_idx : i32\n"
        "      0 : i32\n"
        "    '<' : bool\n"
        "      #1\n"
        "      param w : i32\n");
}

TEST_CASE("min and max of many are pairs of pairs", "[spec][check]") {
  const fa::ExprPtr least = parse("score_mod = min(score, q_idx, kv_idx, 3)").checked().score_mod;
  REQUIRE(least->args.size() == 2);
  CHECK(least->args[0]->args.size() == 2);
  CHECK(least->args[0]->args[0]->args.size() == 2);
  CHECK(least->type == fa::Type::f32);
}

TEST_CASE("lets that double stay small, and long chains of them are refused", "[spec][check]") {
  std::string lets = "let x0 = q_idx\n";
  for (int i = 1; i <= 60; ++i)
    lets +=
        "let x" + std::to_string(i) + " = x" + std::to_string(i - 1) + " + x" + std::to_string(i - 1) + "\n";
  const fa::Spec spec = parse(lets + "mask_mod = x60 > kv_idx");
  CHECK(fa::print_ast(spec.checked()).size() < 20000);

  for (int i = 61; i <= 500; ++i)
    lets += "let x" + std::to_string(i) + " = x" + std::to_string(i - 1) + " + 1\n";
  CHECK_THROWS_AS(parse(lets + "mask_mod = x500 > kv_idx"), fa::SpecError);
}

TEST_CASE("every reduction has its own id", "[spec][check]") {
  const fa::ExprPtr mask =
      parse("mask_mod = any(i < 3: any(j < 4: i * j == q_idx)) or all(i < 2: i < kv_idx)").checked().mask_mod;
  const fa::Expr& outer = *mask->args[0];
  const fa::Expr& inner = *outer.args[0];
  const fa::Expr& second = *mask->args[1];
  CHECK(std::set<int>{outer.index, inner.index, second.index}.size() == 3);
  CHECK(outer.count == 3);
  CHECK(inner.count == 4);
}

TEST_CASE("ranges of a call, constants among them", "[spec][check]") {
  const auto mask = [](const std::string& text) {
    return parse("param n : i32 = 3\nlet m = 2 * n\nlet four = 4\nmask_mod = " + text).checked().mask_mod;
  };
  const fa::ExprPtr dynamic = mask("any(i < m + kv_len max 2 * four: i == kv_idx)");
  REQUIRE(dynamic->args.size() == 2);
  CHECK(dynamic->count == 8);
  CHECK(dynamic->args[1]->op == fa::Op::add);
  const fa::ExprPtr plain = mask("any(i < four max 64: i == kv_idx)");
  CHECK(plain->args.size() == 1);
  CHECK(plain->count == 4);
  CHECK(mask("any(i < 100 max 64: i == kv_idx)")->count == 64);
  CHECK(mask("q_idx > 3 and any(i < four - 4 max 8: i == kv_idx)")->int_value == 0);
  CHECK(i32("sum(i < 0 max 8: i)") == 0);
  CHECK(i32("min(i < -1 max 8: i)") == 2147483647);
  CHECK(i32("max(i < 0 max 8: i)") == kLeast);
  CHECK(f32("max(i < 0 max 8: 0.5 * i)") == -std::numeric_limits<float>::infinity());
  CHECK(holds("all(i < 0 max 8: false) and not any(i < 0 max 8: true)"));
}

TEST_CASE("nodes know where they stand", "[spec][check]") {
  const fa::ExprPtr mask = parse("\nmask_mod = q_idx >=\n   kv_idx").checked().mask_mod;
  CHECK(mask->line == 3);
  CHECK(mask->column == 18);
  CHECK(mask->args[1]->line == 4);
  CHECK(mask->args[1]->column == 4);
}

TEST_CASE("head_dim is a constant and scale follows it", "[spec][check]") {
  CHECK(std::abs(parse("").checked().scale - 1 / std::sqrt(128.0)) < 1e-8);
  CHECK(parse("head_dim 64").checked().scale == 0.125);
  CHECK(parse("scale 1.0 / head_dim_v\nhead_dim_v 32").checked().scale == 1 / 32.0);
  CHECK(parse("scale 0.5\nhead_dim 64").checked().scale == 0.5);
  CHECK(parse("head_dim 64").checked().head_dim_v == 64);
}

TEST_CASE("warnings", "[spec][check]") {
  using Warnings = std::vector<std::string>;
  CHECK(warnings("param w : i32 = 4\ntensor t : f32[1]\nlet x = 1") ==
        Warnings{"param 'w' is never used", "tensor 't' is never used", "let 'x' is never used"});
  CHECK(warnings("mask_mod = 1 < 2") == Warnings{"mask_mod is always true"});
  CHECK(warnings("mask_mod = q_idx > 0 and false") ==
        Warnings{"mask_mod is always false: every output is 0"});
  CHECK(warnings("mask_mod = floor(q_idx) > 2") == Warnings{"the floor of an i32 is itself"});
  CHECK(warnings("score_mod = q_idx - kv_idx") ==
        Warnings{"score_mod does not use the score, so q and k have no effect"});
  CHECK(warnings("score_mod = score * (1 / 2)") == Warnings{"1 / 2 is 0: `/` on two integers rounds down"});
  CHECK(warnings("param n : i32 = 4\ntensor t : f32[n]\nscore_mod = score + t[0]").empty());
}

TEST_CASE("a mistaken word finds its neighbour", "[spec][words]") {
  const std::vector<std::string_view> names = {"kv_idx", "kv_len", "q_idx", "window", "h"};
  CHECK(fa::closest("kv_id", names) == "kv_idx");
  CHECK(fa::closest("kvidx", names) == "kv_idx");
  CHECK(fa::closest("widnow", names) == "window");
  CHECK(fa::closest("kv", names) == "kv_idx");
  CHECK(fa::closest("q", names) == "q_idx");
  CHECK(fa::closest("head", names) == "h");
  CHECK(fa::closest("x", names).empty());
  CHECK(fa::closest("whatever", names).empty());
  CHECK(fa::closest(std::string(5000, 'k'), names).empty());
}

TEST_CASE("the limits agree with the launch arguments", "[spec][check]") {
  CHECK(fa::kMaxSpecParams == fa::kMaxParams);
  CHECK(fa::kMaxSpecTensors == fa::kMaxTensors);
}
