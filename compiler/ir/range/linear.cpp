// Arithmetic of linear forms, and the inequalities between floors that intervals miss.
#include "compiler/ir/range/linear.h"

#include <algorithm>
#include <bit>

namespace fa {
namespace {

constexpr std::int64_t kLargestConstant = std::int64_t{1} << 40;
constexpr std::size_t kMostRangeTerms = 8;

// Structural text; a tree that is too large for it is identified by its address.
void write_key(const Expr& expr, std::string& out, int& budget) {
  if (--budget < 0) return;
  out += '(';
  out += static_cast<char>('A' + static_cast<int>(expr.kind));
  const auto number = [&](std::int64_t value) { out += std::to_string(value) + ","; };
  switch (expr.kind) {
    case ExprKind::literal:
      number(static_cast<int>(expr.type));
      number(expr.int_value);
      number(std::bit_cast<std::int64_t>(expr.float_value));
      break;
    case ExprKind::builtin:
      number(static_cast<int>(expr.builtin));
      break;
    case ExprKind::unary:
    case ExprKind::binary:
      number(static_cast<int>(expr.op));
      break;
    case ExprKind::call:
      number(static_cast<int>(expr.func));
      break;
    case ExprKind::cast:
      number(static_cast<int>(expr.type));
      break;
    case ExprKind::read:
      number(expr.count);
      number(expr.index);
      break;
    case ExprKind::reduce:
      number(static_cast<int>(expr.reduction));
      [[fallthrough]];
    default:
      number(expr.index);
      break;
  }
  for (const ExprPtr& arg : expr.args) write_key(*arg, out, budget);
  out += ')';
}

}  // namespace

std::int64_t floor_quotient(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

bool is_tractable(const Linear& form) {
  if (form.terms.size() > kMostRangeTerms || std::abs(form.constant) > kLargestConstant) return false;
  return std::all_of(form.terms.begin(), form.terms.end(), [](const auto& entry) {
    return std::abs(entry.second.coefficient) <= kLargestCoefficient;
  });
}

Linear constant_form(std::int64_t value) { return {.constant = value, .terms = {}}; }

Linear add(Linear a, const Linear& b, std::int64_t factor) {
  a.constant += factor * b.constant;
  for (const auto& [key, term] : b.terms) {
    auto [place, is_new] = a.terms.try_emplace(key, term);
    if (is_new)
      place->second.coefficient = factor * term.coefficient;
    else
      place->second.coefficient += factor * term.coefficient;
    if (place->second.coefficient == 0) a.terms.erase(place);
  }
  return a;
}

std::string expr_key(const Expr& expr) {
  std::string key;
  int budget = 64;
  write_key(expr, key, budget);
  if (budget < 0) key = "@" + std::to_string(reinterpret_cast<std::uintptr_t>(&expr));
  return key;
}

Interval Linear::range() const {
  Interval sum = Interval::of(constant);
  for (const auto& [key, term] : terms) {
    const std::int64_t a = term.coefficient * term.range.lo;
    const std::int64_t b = term.coefficient * term.range.hi;
    sum.lo += std::min(a, b);
    sum.hi += std::max(a, b);
  }
  return sum;
}

bool Linear::uniform() const {
  return std::all_of(terms.begin(), terms.end(), [](const auto& entry) { return entry.second.uniform; });
}

std::string Linear::key() const {
  std::string text = std::to_string(constant);
  for (const auto& [name, term] : terms) text += "+" + std::to_string(term.coefficient) + "*" + name;
  return text;
}

/// Beyond the interval: d * floor(x / d) lies in x - d + 1 .. x, and floor((x + i) / d) - floor((x + j) / d)
/// is 0 or 1 where i - j is 0 .. d.
bool never_negative(const Linear& form) {
  if (form.range().lo >= 0) return true;
  for (const auto& [key, term] : form.terms) {
    if (!term.numerator) continue;
    Linear others = form;
    others.terms.erase(key);
    if (term.coefficient % term.divisor == 0) {
      const std::int64_t times = term.coefficient / term.divisor;
      others = add(std::move(others), *term.numerator, times);
      if (times > 0) others.constant -= times * (term.divisor - 1);
      if (never_negative(others)) return true;
      continue;
    }
    for (const auto& [other_key, other] : form.terms) {
      const bool is_pair = other.numerator && other.divisor == term.divisor && term.coefficient > 0 &&
                           other.coefficient == -term.coefficient;
      if (!is_pair) continue;
      const Linear gap = add(*term.numerator, *other.numerator, -1);
      if (!gap.terms.empty()) continue;
      Linear rest = others;
      rest.terms.erase(other_key);
      rest.constant -= gap.constant < 0 ? term.coefficient : 0;  // both constants lie in 0 .. d - 1
      if (never_negative(rest)) return true;
    }
  }
  return false;
}

}  // namespace fa
