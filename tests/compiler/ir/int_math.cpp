// The integer semantics of the language, operation by operation on the values where they go wrong: by zero,
// by -1, INT_MIN, negative numbers with every kind of divisor, shifts past the width.
#include <fmt/format.h>

#include "compiler/spec/spec.h"
#include "tests/catch.h"
#include "tests/compiler/ir/hook_eval.h"

namespace {

using namespace fa;
using namespace fa::test;

constexpr std::int32_t kMin = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();
const std::vector<std::int32_t> kValues = {kMin, kMin + 1, -1000003, -129,  -128,    -64,      -7,  -3, -2,
                                           -1,   0,        1,        2,     3,       7,        31,  32, 33,
                                           64,   127,      128,      65536, 1000003, kMax - 1, kMax};

std::int32_t wrap(std::int64_t value) { return static_cast<std::int32_t>(static_cast<std::uint64_t>(value)); }

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  std::int64_t quotient = a / b;
  if (quotient * b != a && (a < 0) != (b < 0)) --quotient;
  return quotient;
}

// Written in 64 bits after docs/spec_language.md; shares no code with compiler/ir.
std::int32_t expected(const std::string& op, std::int64_t a, std::int64_t b) {
  if (op == "+") return wrap(a + b);
  if (op == "-") return wrap(a - b);
  if (op == "*") return wrap(a * b);
  if (op == "/") return wrap(floor_div(a, b));
  if (op == "%") return b == 0 ? 0 : wrap(a - floor_div(a, b) * b);
  if (op == "<<") return wrap(a << (b & 31));
  if (op == ">>") return wrap(a >> (b & 31));
  if (op == "&") return wrap(a & b);
  if (op == "|") return wrap(a | b);
  if (op == "^") return wrap(a ^ b);
  if (op == "ceil_div") return wrap(-static_cast<std::int64_t>(wrap(floor_div(wrap(-a), b))));
  if (op == "min") return wrap(std::min(a, b));
  if (op == "max") return wrap(std::max(a, b));
  throw std::logic_error("no such operation: " + op);
}

std::string apply(const std::string& op, const std::string& a, const std::string& b) {
  const bool is_call = op == "ceil_div" || op == "min" || op == "max";
  return is_call ? fmt::format("{}({}, {})", op, a, b) : fmt::format("({} {} {})", a, op, b);
}

std::string literal(std::int32_t value) {
  return value == kMin ? "(-2147483647 - 1)" : fmt::format("({})", value);
}

Spec with_mask(const std::string& mask) {
  return Spec::parse(
      fmt::format("attention t\nhead_dim 64\nparam x : i32 = 0\nparam y : i32 = 0\n"
                  "param want : i32 = 0\nmask_mod = x + y + want != 12345 and {}\n",
                  mask));
}

class Check {
 public:
  explicit Check(const std::string& mask)
      : problem_(small_problem(with_mask(mask), 1, {1, 1, 1, 4, 4})),
        eval_(problem_, HookEval::Fuse::allowed) {}

  bool holds(std::int32_t a, std::int32_t b, std::int32_t want, Element element = {}) {
    if (wrap(std::int64_t{a} + b + want) == 12345) return true;  // what keeps the params used
    problem_.params = {a, b, want};
    return eval_.mask(element);
  }

 private:
  tools::Problem problem_;
  HookEval eval_;
};

const std::vector<std::string> kOps = {"+", "-", "*", "/",        "%",   "<<", ">>",
                                       "&", "|", "^", "ceil_div", "min", "max"};

}  // namespace

TEST_CASE("i32 operations on run-time values") {
  for (const std::string& op : kOps) {
    Check check(apply(op, "x", "y") + " == want");
    for (std::int32_t a : kValues)
      for (std::int32_t b : kValues) {
        INFO(a << " " << op << " " << b << " = " << expected(op, a, b));
        CHECK(check.holds(a, b, expected(op, a, b)));
      }
  }
}

TEST_CASE("i32 operations with a constant on the right") {
  for (const std::string& op : {std::string("/"), std::string("%"), std::string("<<"), std::string(">>"),
                                std::string("ceil_div"), std::string("*")}) {
    for (std::int32_t b : {kMin, -128, -7, -2, -1, 0, 1, 2, 3, 7, 31, 33, 64, 1000, kMax}) {
      Check check(apply(op, "x", literal(b)) + " == want");
      for (std::int32_t a : kValues) {
        INFO(a << " " << op << " " << b << " = " << expected(op, a, b));
        CHECK(check.holds(a, 0, expected(op, a, b)));
      }
    }
  }
}

TEST_CASE("i32 division of an index, which is known not to be negative") {
  for (const std::string& op : {std::string("/"), std::string("%"), std::string("ceil_div")})
    for (const std::string& divisor :
         {std::string("y"), std::string("3"), std::string("8"), std::string("q_len")}) {
      Check check(apply(op, "q_idx", divisor) + " == want");
      for (int q = 0; q < 4; ++q)
        for (std::int32_t b : kValues) {
          const std::int64_t by = divisor == "y" ? b : divisor == "3" ? 3 : divisor == "8" ? 8 : 4;
          INFO(q << " " << op << " " << by);
          CHECK(check.holds(0, b, expected(op, q, by), {.q = q}));
        }
    }
}

TEST_CASE("unary operations and abs wrap at INT_MIN") {
  Check negate("-x == want"), complement("~x == want"), magnitude("abs(x) == want");
  for (std::int32_t a : kValues) {
    INFO(a);
    CHECK(negate.holds(a, 0, wrap(-std::int64_t{a})));
    CHECK(complement.holds(a, 0, ~a));
    CHECK(magnitude.holds(a, 0, wrap(std::abs(std::int64_t{a}))));
  }
}

TEST_CASE("comparisons of sums stay right where the other side is any number") {
  // Split by side: the large term is clamped, which must not change the outcome.
  for (const std::string& op : {std::string("<"), std::string("<="), std::string(">"), std::string(">="),
                                std::string("=="), std::string("!=")}) {
    const auto outcome = [&](std::int64_t x, std::int64_t y) {
      if (op == "<") return x < y;
      if (op == "<=") return x <= y;
      if (op == ">") return x > y;
      if (op == ">=") return x >= y;
      return op == "==" ? x == y : x != y;
    };
    Check difference(fmt::format("(q_idx - kv_idx {} y) == (want == 1)", op));
    Check reversed(fmt::format("(y {} kv_idx - q_idx + 2) == (want == 1)", op));
    Check magnitude(fmt::format("(abs(q_idx - kv_idx) {} y) == (want == 1)", op));
    for (std::int32_t b : kValues)
      for (int q = 0; q < 4; ++q)
        for (int kv = 0; kv < 4; ++kv) {
          INFO("q " << q << " kv " << kv << " " << op << " " << b);
          CHECK(difference.holds(0, b, outcome(q - kv, b), {.q = q, .kv = kv}));
          CHECK(reversed.holds(0, b, outcome(b, kv - q + 2), {.q = q, .kv = kv}));
          CHECK(magnitude.holds(0, b, outcome(std::abs(q - kv), b), {.q = q, .kv = kv}));
        }
  }
}

TEST_CASE("a remainder of a difference compared with zero") {
  Check check("((q_idx - kv_idx - 1) % y == 0) == (want == 1)");
  for (std::int32_t b : kValues)
    for (int q = 0; q < 4; ++q)
      for (int kv = 0; kv < 4; ++kv) {
        INFO("q " << q << " kv " << kv << " by " << b);
        CHECK(check.holds(0, b, expected("%", q - kv - 1, b) == 0, {.q = q, .kv = kv}));
      }
}

TEST_CASE("i32 of a float truncates, saturates, and takes NaN to 0") {
  const Spec spec = Spec::parse(
      "attention t\nhead_dim 64\nparam x : f32 = 0.0\nparam want : i32 = 0\nmask_mod = i32(x) == want\n");
  tools::Problem problem = small_problem(spec, 1, {1, 1, 1, 4, 4});
  const HookEval eval(problem, HookEval::Fuse::allowed);
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<std::pair<float, std::int32_t>> cases = {{0.0f, 0},
                                                             {1.9f, 1},
                                                             {-1.9f, -1},
                                                             {2147483648.0f, kMax},
                                                             {3e9f, kMax},
                                                             {-3e9f, kMin},
                                                             {infinity, kMax},
                                                             {-infinity, kMin},
                                                             {std::numeric_limits<float>::quiet_NaN(), 0}};
  for (const auto& [x, want] : cases) {
    problem.params = {x, want};
    INFO(x);
    CHECK(eval.mask({}));
  }
}
