// The abstract values of tile classes, over the tile [q_lo, q_hi] x [kv_lo, kv_hi]; every bound is itself
// LLVM IR.
//
//   integers  coefficients of q_idx and kv_idx kept apart (so q_idx - kv_idx stays exact), the rest as an
//   interval
//   booleans  may it be true somewhere, may it be false somewhere
//   floats    an interval, or nothing
// Bounds of integers are computed in i64, where none of these operations can overflow; an i32 operation that
// may wrap around gives the whole i32 range in the cases where it does.
#pragma once

#include "compiler/ir/llvm.h"

#include <cstdint>
#include <limits>

namespace fa {

constexpr std::int64_t kI32Min = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t kI32Max = std::numeric_limits<std::int32_t>::max();

/// An i64 interval in the IR, and what is known of it at compile time.
struct Range {
  llvm::Value* lo = nullptr;
  llvm::Value* hi = nullptr;
  std::int64_t min = kI32Min;  // lo >= min
  std::int64_t max = kI32Max;  // hi <= max
};

/// q * q_idx + kv * kv_idx + rest.
struct AbstractInt {
  std::int64_t q = 0;
  std::int64_t kv = 0;
  Range rest;
  std::int64_t min = kI32Min;  // of the whole value
  std::int64_t max = kI32Max;
};

/// An f32: where `known`, a finite number in [lo, hi]; else anything, NaN too.
struct AbstractFloat {
  llvm::Value* lo = nullptr;
  llvm::Value* hi = nullptr;
  llvm::Value* known = nullptr;                           // i1
  double min = -std::numeric_limits<double>::infinity();  // lo >= min, where known
  double max = std::numeric_limits<double>::infinity();
};

struct AbstractBool {
  llvm::Value* may_be_true = nullptr;   // i1
  llvm::Value* may_be_false = nullptr;  // i1
};

/// Where (q_idx, kv_idx) may be: rows, columns, and diagonals d = q_idx - kv_idx. All bounds are i64 values
/// and inclusive.
struct Box {
  llvm::Value* q_lo = nullptr;
  llvm::Value* q_hi = nullptr;
  llvm::Value* kv_lo = nullptr;
  llvm::Value* kv_hi = nullptr;
  llvm::Value* d_lo = nullptr;  // both null: as far as rows and columns go
  llvm::Value* d_hi = nullptr;
};

/// Builds the arithmetic of abstract integers over one box.
class Domain {
 public:
  Domain(llvm::IRBuilder<>& builder, const Box& box) : builder_(builder), box_(box) {}
  /// The box of a tile, from its i32 bounds; lengths are below 2^24.
  static Box tile(llvm::IRBuilder<>& builder, llvm::Value* q_lo, llvm::Value* q_hi, llvm::Value* kv_lo,
                  llvm::Value* kv_hi);
  const Box& box() const { return box_; }

  AbstractInt constant(std::int64_t value) const;
  AbstractInt q_idx() const;
  AbstractInt kv_idx() const;
  /// A value that is the same all over the tile.
  AbstractInt point(llvm::Value* i32, std::int64_t min = kI32Min, std::int64_t max = kI32Max) const;
  /// Anything in [lo, hi], both i32 or i64 values.
  AbstractInt interval(llvm::Value* lo, llvm::Value* hi, std::int64_t min, std::int64_t max) const;
  AbstractInt anything(std::int64_t min = kI32Min, std::int64_t max = kI32Max) const;

  /// x - y in exact arithmetic: terms that x and y share cancel.
  AbstractInt difference(const AbstractInt& x, const AbstractInt& y) const;
  /// The interval of the whole value.
  Range range(const AbstractInt& x) const;
  llvm::Value* is_point(const AbstractInt& x) const;

  AbstractInt add(const AbstractInt& x, const AbstractInt& y, bool cannot_wrap) const;
  AbstractInt subtract(const AbstractInt& x, const AbstractInt& y, bool cannot_wrap) const;
  AbstractInt multiply(const AbstractInt& x, const AbstractInt& y, bool cannot_wrap) const;
  /// Truncating division, and its remainder, by a value that is the same all over the tile and neither 0 nor
  /// -1.
  AbstractInt divide(const AbstractInt& x, llvm::Value* divisor, std::int64_t min, std::int64_t max) const;
  AbstractInt remainder(const AbstractInt& x, llvm::Value* divisor, std::int64_t min, std::int64_t max) const;
  /// Floor division by a constant > 0.
  AbstractInt floor_divide(const AbstractInt& x, std::int64_t divisor) const;
  /// Remainder of floor division by a constant > 0: what `% c` means in a spec, and `& (2^k - 1)` in the IR.
  AbstractInt floor_mod(const AbstractInt& x, std::int64_t divisor) const;
  /// x >> bits, arithmetic.
  AbstractInt shift_right(const AbstractInt& x, int bits) const;
  /// Bit by bit. What all values of an operand share above their first different bit is known of the result.
  AbstractInt bit_and(const AbstractInt& x, const AbstractInt& y) const;  // one of them never negative
  AbstractInt bit_or(const AbstractInt& x, const AbstractInt& y) const;   // neither ever negative
  AbstractInt bit_xor(const AbstractInt& x, const AbstractInt& y) const;  // likewise
  /// x & -2^bits.
  AbstractInt align_down(const AbstractInt& x, int bits) const;
  AbstractInt minimum(const AbstractInt& x, const AbstractInt& y) const;
  AbstractInt maximum(const AbstractInt& x, const AbstractInt& y) const;
  AbstractInt absolute(const AbstractInt& x) const;
  AbstractInt select(const AbstractBool& condition, const AbstractInt& x, const AbstractInt& y) const;
  /// `exact` (an i32) where the flag `known` is set, else anything in [min, max].
  AbstractInt exact_where(llvm::Value* known, llvm::Value* exact, std::int64_t min, std::int64_t max) const;

  AbstractBool less(const AbstractInt& x, const AbstractInt& y) const;  // x < y, signed
  AbstractBool equal(const AbstractInt& x, const AbstractInt& y) const;
  /// x and y leave the same remainder by `modulus`, an i64 value >= 1.
  AbstractBool congruent(const AbstractInt& x, const AbstractInt& y, llvm::Value* modulus) const;
  AbstractBool not_(const AbstractBool& x) const;
  AbstractBool and_(const AbstractBool& x, const AbstractBool& y) const;
  AbstractBool or_(const AbstractBool& x, const AbstractBool& y) const;
  AbstractBool xor_(const AbstractBool& x, const AbstractBool& y) const;
  AbstractBool select(const AbstractBool& condition, const AbstractBool& x, const AbstractBool& y) const;
  /// What x may be or y may be.
  AbstractBool either(const AbstractBool& x, const AbstractBool& y) const;
  AbstractBool known(llvm::Value* i1) const;  // a boolean that is the same all over the tile
  AbstractBool unknown() const;
  AbstractBool exact_where(llvm::Value* known, llvm::Value* exact) const;

  // float.cpp
  AbstractFloat to_float(const Range& x) const;
  /// Known where both ends are finite, too.
  AbstractFloat finite(AbstractFloat x) const;
  /// Both ends moved apart by relative * |end| + absolute, but where the flag is set.
  AbstractFloat with_margin(const AbstractFloat& x, double relative, double absolute,
                            llvm::Value* but_where) const;
  AbstractFloat negate(const AbstractFloat& x) const;
  AbstractFloat add(const AbstractFloat& x, const AbstractFloat& y) const;
  /// x * y, or x / y.
  AbstractFloat product(const AbstractFloat& x, const AbstractFloat& y, bool divides) const;
  AbstractFloat minimum(const AbstractFloat& x, const AbstractFloat& y) const;
  AbstractFloat maximum(const AbstractFloat& x, const AbstractFloat& y) const;
  AbstractFloat select(const AbstractBool& condition, const AbstractFloat& x, const AbstractFloat& y) const;
  AbstractBool less(const AbstractFloat& x, const AbstractFloat& y, bool or_equal) const;
  AbstractBool equal(const AbstractFloat& x, const AbstractFloat& y) const;

  llvm::IRBuilder<>& builder() const { return builder_; }
  llvm::Value* i64(std::int64_t value) const;
  llvm::Value* widen(llvm::Value* value) const;
  llvm::Value* min(llvm::Value* x, llvm::Value* y) const;
  llvm::Value* max(llvm::Value* x, llvm::Value* y) const;

 private:
  llvm::Value* extremum(llvm::Intrinsic::ID id, llvm::Value* x, llvm::Value* y) const;
  /// x / y rounded down, y >= 1.
  llvm::Value* floor_quotient(llvm::Value* x, llvm::Value* y) const;
  // bits.cpp
  llvm::Value* free_bits(const Range& a, const Range& b) const;
  AbstractInt known_bits(const Range& a, const Range& b, llvm::Value* of_ends) const;
  /// Drops what may have wrapped around an i32.
  AbstractInt wrapped(AbstractInt x, bool cannot_wrap) const;

  llvm::IRBuilder<>& builder_;
  Box box_;
};

}  // namespace fa
