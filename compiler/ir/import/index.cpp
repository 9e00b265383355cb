// Polynomials over expressions, and dividing them by extents.
#include "compiler/ir/import/index.h"

#include <algorithm>
#include <cmath>

namespace fa {
namespace {

constexpr std::size_t kMostTerms = 32;
constexpr std::int64_t kLargest = std::int64_t{1} << 40;  // of a coefficient; tensors are smaller
constexpr std::size_t kMostMovable = 4;                   // terms that may stand on either side of a division

using Term = Polynomial::Term;

std::string text_of(const Term& term) {
  std::string text;
  for (const auto& [key, factor] : term.factors) text += key + "^" + std::to_string(factor.second) + ";";
  return text;
}

void insert(Polynomial& sum, Term term) {
  std::string key = text_of(term);
  auto [place, is_new] = sum.terms.try_emplace(std::move(key), term);
  if (!is_new) place->second.coefficient += term.coefficient;
  if (place->second.coefficient == 0) sum.terms.erase(place);
}

/// a / b, where it is a term.
std::optional<Term> divide(const Term& a, const Term& b) {
  if (a.coefficient % b.coefficient != 0) return std::nullopt;
  Term quotient = a;
  quotient.coefficient /= b.coefficient;
  for (const auto& [key, factor] : b.factors) {
    const auto found = quotient.factors.find(key);
    if (found == quotient.factors.end() || found->second.second < factor.second) return std::nullopt;
    found->second.second -= factor.second;
    if (found->second.second == 0) quotient.factors.erase(found);
  }
  return quotient;
}

int degree(const Term& term) {
  int sum = 0;
  for (const auto& [key, factor] : term.factors) sum += factor.second;
  return sum;
}

Polynomial single(Term term) {
  Polynomial result;
  insert(result, std::move(term));
  return result;
}

}  // namespace

Polynomial Polynomial::constant(std::int64_t value) { return single({.coefficient = value, .factors = {}}); }

Polynomial Polynomial::of(const ExprPtr& x) {
  if (x->kind == ExprKind::literal) return constant(x->int_value);
  return single({.coefficient = 1, .factors = {{expr_key(*x), {x, 1}}}});
}

bool Polynomial::is_tractable() const {
  return terms.size() <= kMostTerms && std::all_of(terms.begin(), terms.end(), [](const auto& entry) {
           return std::abs(entry.second.coefficient) <= kLargest && degree(entry.second) <= 8;
         });
}

Polynomial add(Polynomial a, const Polynomial& b, std::int64_t factor) {
  for (const auto& [key, term] : b.terms) {
    Term scaled = term;
    scaled.coefficient *= factor;
    insert(a, std::move(scaled));
  }
  return a;
}

Polynomial multiply(const Polynomial& a, const Polynomial& b) {
  Polynomial product;
  for (const auto& [a_key, x] : a.terms)
    for (const auto& [b_key, y] : b.terms) {
      Term term = x;
      term.coefficient *= y.coefficient;
      for (const auto& [key, factor] : y.factors) {
        auto [place, is_new] = term.factors.try_emplace(key, factor);
        if (!is_new) place->second.second += factor.second;
      }
      insert(product, std::move(term));
    }
  return product;
}

Polynomial extent_form(ExprBuilder& build, const ExprPtr& extent) {
  if (extent->kind == ExprKind::call && extent->func == Func::ceil_div) {
    // ceil_div(n, 64) is (n + 63) / 64, which is how it is written elsewhere.
    const ExprPtr& n = extent->args[0];
    const ExprPtr& d = extent->args[1];
    if (d->kind != ExprKind::literal || d->int_value < 1) return Polynomial::of(extent);
    const ExprPtr raised = build.binary(Op::add, n, build.integer(d->int_value - 1));
    return Polynomial::of(build.may_wrap(raised) ? extent : build.binary(Op::div, raised, d));
  }
  // If the extent wraps around, only the division is wrong: the read still stays inside its tensor.
  if (extent->kind != ExprKind::binary) return Polynomial::of(extent);
  const Polynomial a = extent_form(build, extent->args[0]);
  const Polynomial b = extent_form(build, extent->args[1]);
  if (extent->op == Op::add) return add(a, b, 1);
  if (extent->op == Op::sub) return add(a, b, -1);
  if (extent->op == Op::mul) return multiply(a, b);
  return Polynomial::of(extent);
}

/// Whether all its values fit an i32. Sums of what ranges allow, in doubles: 2^31 is far from their limit.
bool IndexSplitter::fits(const Polynomial& polynomial) {
  double low = 0, high = 0;
  for (const auto& [text, term] : polynomial.terms) {
    double term_low = static_cast<double>(term.coefficient), term_high = term_low;
    for (const auto& [key, factor] : term.factors) {
      const Interval range = build_.range(factor.first);
      const double lo = static_cast<double>(range.lo), hi = static_cast<double>(range.hi);
      for (int i = 0; i < factor.second; ++i) {
        const double corners[] = {term_low * lo, term_low * hi, term_high * lo, term_high * hi};
        term_low = *std::min_element(corners, corners + 4);
        term_high = *std::max_element(corners, corners + 4);
      }
    }
    low += term_low;
    high += term_high;
  }
  return low >= -0x1p31 && high < 0x1p31;
}

ExprPtr IndexSplitter::sum_of(const Polynomial& polynomial) {
  ExprPtr sum;
  std::int64_t constant = 0;
  // Terms that are added first, so that none has to be negated.
  for (const bool negative : {false, true})
    for (const auto& [text, term] : polynomial.terms) {
      if (term.factors.empty()) {
        constant = term.coefficient;
        continue;
      }
      if ((term.coefficient < 0) != negative) continue;
      ExprPtr product;
      for (const auto& [key, factor] : term.factors)
        for (int i = 0; i < factor.second; ++i)
          product = product == nullptr ? factor.first : build_.binary(Op::mul, product, factor.first);
      const std::int64_t magnitude = std::abs(term.coefficient);
      if (magnitude != 1) product = build_.binary(Op::mul, product, build_.integer(magnitude));
      if (sum == nullptr)
        sum = negative ? build_.unary(Op::neg, product) : product;
      else
        sum = build_.binary(negative ? Op::sub : Op::add, sum, product);
    }
  if (sum == nullptr) return build_.integer(constant);
  if (constant == 0) return sum;
  return build_.binary(constant < 0 ? Op::sub : Op::add, sum, build_.integer(std::abs(constant)));
}

std::optional<ExprPtr> IndexSplitter::expression(const Polynomial& polynomial) {
  if (!polynomial.is_tractable()) return std::nullopt;
  if (!fits(polynomial)) return std::nullopt;
  return sum_of(polynomial);
}

/// The ways to write `elements` as quotient * extent + rest, the largest quotient first. A term that the
/// extent divides may also belong to the rest: `row * kv_len + (kv_len - q_len)`.
std::vector<IndexSplitter::Division> IndexSplitter::divisions(const Polynomial& elements,
                                                              const Polynomial& extent) {
  const auto leading =
      std::max_element(extent.terms.begin(), extent.terms.end(),
                       [](const auto& x, const auto& y) { return degree(x.second) < degree(y.second); });
  const Term& lead = leading->second;
  std::vector<Term> quotients;
  Polynomial rest = elements;
  // Long division by the leading term; a divisor of one term needs a single round.
  for (bool changed = true; changed && quotients.size() <= kMostTerms && rest.is_tractable();) {
    changed = false;
    for (const auto& [text, term] : rest.terms) {
      const std::optional<Term> quotient = divide(term, lead);
      if (!quotient) continue;
      rest = add(std::move(rest), multiply(single(*quotient), extent), -1);
      quotients.push_back(*quotient);
      changed = true;
      break;
    }
  }
  std::vector<Division> result;
  const std::size_t movable = std::min(quotients.size(), kMostMovable);
  for (std::size_t left_out = 0; left_out < (std::size_t{1} << movable); ++left_out) {
    Division division{.quotient = {}, .rest = rest};
    for (std::size_t i = 0; i < quotients.size(); ++i) {
      if (i < movable && (left_out >> i & 1) != 0)
        division.rest = add(std::move(division.rest), multiply(single(quotients[i]), extent), 1);
      else
        division.quotient = add(std::move(division.quotient), single(quotients[i]), 1);
    }
    result.push_back(std::move(division));
  }
  return result;
}

std::optional<std::vector<ExprPtr>> IndexSplitter::split(const Polynomial& elements,
                                                         const std::vector<ExprPtr>& extents,
                                                         const ExprPtr& flat) {
  std::vector<ExprPtr> indices(extents.size());
  const auto by_division = [&]() -> std::optional<std::vector<ExprPtr>> {
    if (flat == nullptr) return std::nullopt;
    ExprPtr rest = flat;
    for (std::size_t i = extents.size(); i-- > 1;) {
      indices[i] = build_.binary(Op::mod, rest, extents[i]);
      rest = build_.binary(Op::div, rest, extents[i]);
    }
    indices[0] = rest;
    return indices;
  };
  Polynomial left = elements;
  for (std::size_t i = extents.size(); i-- > 1;) {
    if (!left.is_tractable()) return by_division();
    const Polynomial extent = extent_form(build_, extents[i]);
    const std::vector<Division> all = divisions(left, extent);
    const Division* best = nullptr;
    for (const Division& division : all) {
      const std::optional<ExprPtr> rest = expression(division.rest);
      if (!rest || !build_.bounds().non_negative(**rest) || !build_.bounds().below(**rest, *extents[i]))
        continue;
      indices[i] = *rest;
      best = &division;
      break;
    }
    if (best != nullptr) {
      left = best->quotient;
      continue;
    }
    // The rest is not known to be inside: what is over continues in the next dimension, as it does in memory.
    // The rest that was meant stays inside on one end at least.
    ExprPtr rest;
    for (const Division& division : all) {
      const std::optional<ExprPtr> part = expression(division.rest);
      if (!part) continue;
      const bool is_meant =
          build_.bounds().non_negative(**part) || build_.bounds().below(**part, *extents[i]);
      const bool is_better = best == nullptr || (is_meant && !build_.bounds().below(*rest, *extents[i]));
      if (!is_better) continue;
      rest = *part;
      best = &division;
    }
    if (best == nullptr) return by_division();
    indices[i] = build_.binary(Op::mod, rest, extents[i]);
    left = add(best->quotient, Polynomial::of(build_.binary(Op::div, rest, extents[i])), 1);
  }
  // An index inside the tensor is an i32, even where partial sums are not.
  if (!left.is_tractable()) return by_division();
  indices[0] = sum_of(left);
  return indices;
}

}  // namespace fa
