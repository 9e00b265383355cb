// Finds the indices of an address in its tensor. The offset is a polynomial; it is split into one index per
// dimension. Internal to compiler/ir/import.
//
// C and Rust index memory flat, `doc[b * kv_len + kv_idx]`, where the spec says `doc[b, kv_idx]`. After the
// split each index can be proved to be in range or clamped on its own, rows and columns stay apart, and no
// product of lengths has to fit 32 bits.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/import/build.h"

namespace fa {

/// A sum of integer coefficients times products of expressions, in exact arithmetic.
struct Polynomial {
  struct Term {
    std::int64_t coefficient = 0;
    std::map<std::string, std::pair<ExprPtr, int>> factors;  // by structural text, with the power
  };
  std::map<std::string, Term> terms;  // by the text of the factors

  static Polynomial constant(std::int64_t value);
  static Polynomial of(const ExprPtr& x);
  bool is_tractable() const;
};

Polynomial add(Polynomial a, const Polynomial& b, std::int64_t factor);
Polynomial multiply(const Polynomial& a, const Polynomial& b);

/// Byte offset from the tensor's first element. Where one number counts whole elements it is kept as it was
/// written as well.
struct AddressForm {
  Polynomial bytes;
  ExprPtr index;  // the only index, in elements of `index_bytes`; null where there are several
  std::int64_t index_bytes = 0;
};

class IndexSplitter {
 public:
  explicit IndexSplitter(ExprBuilder& build) : build_(build) {}

  /// One index for each extent, outermost first; the inner ones are inside their extents wherever the offset
  /// is inside the tensor. `flat` is the whole offset as one i32, null where that may not fit. Nothing where
  /// an inner index may not fit 32 bits.
  std::optional<std::vector<ExprPtr>> split(const Polynomial& elements, const std::vector<ExprPtr>& extents,
                                            const ExprPtr& flat);
  /// The polynomial as an i32 expression; nothing where it may not fit.
  std::optional<ExprPtr> expression(const Polynomial& polynomial);

 private:
  struct Division {
    Polynomial quotient, rest;
  };
  std::vector<Division> divisions(const Polynomial& elements, const Polynomial& extent);
  ExprPtr sum_of(const Polynomial& polynomial);
  bool fits(const Polynomial& polynomial);

  ExprBuilder& build_;
};

/// The extent as a polynomial that offsets can be divided by: sums, products, and ceil_div as C writes it.
Polynomial extent_form(ExprBuilder& build, const ExprPtr& extent);

}  // namespace fa
