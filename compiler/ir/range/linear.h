// Intervals, and linear forms over the names of a problem in exact arithmetic, which the proofs of bounds.h
// use.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>

#include "compiler/spec/expr.h"

namespace fa {

/// The values lo..hi, both included.
struct Interval {
  std::int64_t lo = std::numeric_limits<std::int32_t>::min();
  std::int64_t hi = std::numeric_limits<std::int32_t>::max();

  static Interval of(std::int64_t value) { return {value, value}; }
  bool within(std::int64_t low, std::int64_t high) const { return lo >= low && hi <= high; }
  bool is_constant() const { return lo == hi; }
  bool fits_i32() const { return within(Interval{}.lo, Interval{}.hi); }
  std::int64_t magnitude() const;  // the largest absolute value
};

/// constant + sum of coefficient * atom, in exact arithmetic. An atom is an expression, or the floor of a
/// linear form divided by a constant; its key is its canonical text.
struct Linear {
  struct Term {
    std::int64_t coefficient = 0;
    Interval range;
    const Expr* expr = nullptr;         // null for a floor division
    std::shared_ptr<Linear> numerator;  // floor division only
    std::int64_t divisor = 1;
    bool uniform = true;  // depends on no index
  };
  std::int64_t constant = 0;
  std::map<std::string, Term> terms;

  Interval range() const;
  bool uniform() const;
  std::string key() const;
};

Linear constant_form(std::int64_t value);
/// a + factor * b
Linear add(Linear a, const Linear& b, std::int64_t factor);
/// Whether coefficients, constant and length stay within what 64 bits and patience allow.
bool is_tractable(const Linear& form);
/// The largest coefficient a product may bring in.
constexpr std::int64_t kLargestCoefficient = std::int64_t{1} << 28;
/// Proves that the form is never below 0.
bool never_negative(const Linear& form);
/// a / b rounded down, b > 0.
std::int64_t floor_quotient(std::int64_t a, std::int64_t b);
/// Structural text of an expression: equal for equal ones.
std::string expr_key(const Expr& expr);

}  // namespace fa
