// Powers, and the functions that the checker replaces by other operations.
#include <cmath>
#include <string>

#include "compiler/spec/print.h"
#include "compiler/spec/spec.h"
#include "fa/spec.h"
#include "tests/catch.h"
#include "tests/compiler/spec/parse.h"

using fa::test::f32;
using fa::test::i32;
using fa::test::parse;

namespace {

/// The typed tree of score_mod = score + (expression of an f32 x, y and an i32 n), and what stands before it.
std::string tree(const std::string& expr) {
  INFO(expr);
  return fa::print_ast(
      parse("param x : f32 = 1.0\nparam y : f32 = 1.0\nparam n : i32 = 1\nscore_mod = score + " + expr)
          .checked());
}

}  // namespace

TEST_CASE("constants fold through the new functions", "[spec][check]") {
  CHECK(i32("2 ** 10") == 1024);
  CHECK(i32("-2 ** 2") == -4);
  CHECK(i32("(-2) ** 3") == -8);
  CHECK(i32("2 ** 3 ** 2") == 512);
  CHECK(i32("7 ** 0") == 1);
  CHECK(i32("2 ** 31") == -2147483647 - 1);
  CHECK(i32("10 ** 10") == 1410065408);
  CHECK(i32("pow(3, 4)") == 81);
  CHECK(i32("popcount(255)") == 8);
  CHECK(i32("popcount(-1)") == 32);
  CHECK(i32("sign(-7) * 10 + sign(0)") == -10);
  CHECK(i32("relu(-3) + relu(4)") == 4);
  CHECK(i32("i32(round(2.5)) * 100 + i32(round(3.5))") == 204);
  CHECK(i32("i32(ceil(-1.5)) * 100 + i32(trunc(-1.5))") == -101);
  CHECK(f32("2 ** -1.0") == 0.5f);
  CHECK(f32("2.0 ** -1") == 0.5f);
  CHECK(f32("9 ** 0.5") == 3.0f);
  CHECK(f32("4 ** -0.5") == 0.5f);
  CHECK(f32("1.5 ** 2.5") == std::pow(1.5f, 2.5f));
  CHECK(f32("(-8.0) ** 3") == -512.0f);
  CHECK(f32("sign(-0.5)") == -1.0f);
  CHECK(f32("sign(inf - inf)") == 0.0f);
  CHECK(f32("relu(-0.5)") == 0.0f);
  CHECK(f32("atan2(1.0, -1.0)") == static_cast<float>(std::atan2(1.0, -1.0)));
  CHECK(f32("atan(1e30) + log1p(1e-8) + expm1(-1e-8)") ==
        static_cast<float>(std::atan(1e30)) + 1e-8f - 1e-8f);
  CHECK(std::abs(f32("tan(0.5)") - 0.5463025f) < 1e-7f);
  CHECK(f32("softplus(0)") == static_cast<float>(std::log(2.0)));
  CHECK(f32("softplus(1000)") == 1000.0f);
  CHECK(f32("softplus(-1000)") == 0.0f);
  CHECK(f32("gelu(0)") == 0.0f);
  CHECK(std::abs(f32("gelu(-1)") + 0.15865525f) < 1e-7f);
  CHECK(std::abs(f32("silu(2)") - 1.7615942f) < 1e-6f);
}

TEST_CASE("small constant powers are products, by squaring", "[spec][check]") {
  CHECK(tree("n ** 2") == tree("n * n"));
  CHECK(tree("x ** 3") == tree("x * x * x"));
  CHECK(tree("x ** 2.0") == tree("x * x"));
  CHECK(tree("x ** -2") == tree("1 / (x * x)"));
  CHECK(tree("x ** 1") == tree("x"));
  CHECK(tree("x ** 0") == tree("1.0"));
  CHECK(tree("x ** 0.5") == tree("sqrt(x)"));
  CHECK(tree("x ** -0.5") == tree("rsqrt(x)"));
  CHECK(tree("2 ** x") == tree("exp2(x)"));
  CHECK(tree("2.0 ** n") == tree("exp2(n)"));
  CHECK(tree("x ** y") == tree("pow(x, y)"));
  CHECK(tree("x ** 2.5").find("pow : f32") != std::string::npos);
  CHECK(tree("x ** 5").find("pow : f32") != std::string::npos);
  CHECK(tree("n ** 2.0").find("#1 = cast : f32") != std::string::npos);
}

TEST_CASE("functions are written out, their argument one node", "[spec][check]") {
  CHECK(tree("relu(x)") == tree("max(x, 0)"));
  CHECK(tree("relu(n)") == tree("max(n, 0)"));
  CHECK(tree("silu(x)") == tree("x * sigmoid(x)"));
  CHECK(tree("tan(x)") == tree("sin(x) / cos(x)"));
  CHECK(tree("softplus(x)") == tree("(max(x, 0) + log1p(exp(-abs(x))))"));
  CHECK(tree("sign(n)") == tree("where(n > 0, 1, where(n < 0, -1, 0))"));
  const std::string gelu = tree("gelu(x + y)");
  CHECK(gelu.find("#1 = '+' : f32") != std::string::npos);
  CHECK(gelu.find("erf : f32") != std::string::npos);
}

TEST_CASE("what other languages have is told how to write", "[spec][words]") {
  const auto remedy = [](const std::string& hook) {
    try {
      parse("score_mod = " + hook);
    } catch (const fa::SpecError& error) {
      return error.diagnostics().at(0).message + "; " + error.diagnostics().at(0).remedy;
    }
    return std::string("no error");
  };
  CHECK(remedy("erfc(score)") == "there is no 'erfc'; write 1 - erf(x)");
  CHECK(remedy("asin(score)") == "there is no 'asin'; write atan2(x, sqrt(1 - x * x))");
  CHECK(remedy("tan(score, 1)") == "'tan' takes 1 argument, not 2; write tan(x)");
  CHECK(remedy("score + ceil(1.5, 2)") == "'ceil' takes 1 argument, not 2; write ceil(x)");
}
