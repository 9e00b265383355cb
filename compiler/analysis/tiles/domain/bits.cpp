// And, or and xor of intervals: above the first bit in which the ends of an operand differ, all of its values
// have the same bits, and so has the result.
#include <algorithm>

#include "compiler/analysis/tiles/domain/domain.h"

namespace fa {
namespace {

/// The least 2^k - 1 that is no less than `value`, which is not negative.
std::int64_t all_ones_from(std::int64_t value) {
  std::int64_t ones = 0;
  while (ones < value) ones = 2 * ones + 1;
  return ones;
}

}  // namespace

// The bits of which not all values of both intervals have the same: all below the highest of them.
llvm::Value* Domain::free_bits(const Range& a, const Range& b) const {
  llvm::Value* bits = builder_.CreateOr(builder_.CreateXor(a.lo, a.hi), builder_.CreateXor(b.lo, b.hi));
  for (const int shift : {1, 2, 4, 8, 16, 32})
    bits = builder_.CreateOr(bits, builder_.CreateAShr(bits, i64(shift)));
  return bits;
}

AbstractInt Domain::bit_and(const AbstractInt& x, const AbstractInt& y) const {
  const Range a = range(x);
  const Range b = range(y);
  llvm::Value* const free = free_bits(a, b);
  llvm::Value* const known = builder_.CreateAnd(a.lo, b.lo);
  // At most each operand that is never negative. Where the other's sign is free, nothing more is known.
  const auto least = [&](auto of_a, auto of_b, auto smaller) {
    return a.min < 0 ? of_b : b.min < 0 ? of_a : smaller(of_a, of_b);
  };
  llvm::Value* const most = least(a.hi, b.hi, [&](llvm::Value* u, llvm::Value* v) { return min(u, v); });
  llvm::Value* const by_bits = min(most, builder_.CreateOr(known, free));
  return interval(builder_.CreateAnd(known, builder_.CreateNot(free)),
                  builder_.CreateSelect(builder_.CreateICmpSLT(free, i64(0)), most, by_bits), 0,
                  least(a.max, b.max, [](std::int64_t u, std::int64_t v) { return std::min(u, v); }));
}

AbstractInt Domain::known_bits(const Range& a, const Range& b, llvm::Value* of_ends) const {
  llvm::Value* const free = free_bits(a, b);
  return interval(builder_.CreateAnd(of_ends, builder_.CreateNot(free)), builder_.CreateOr(of_ends, free), 0,
                  all_ones_from(std::max(a.max, b.max)));
}

AbstractInt Domain::bit_or(const AbstractInt& x, const AbstractInt& y) const {
  const Range a = range(x);
  const Range b = range(y);
  return known_bits(a, b, builder_.CreateOr(a.lo, b.lo));
}

AbstractInt Domain::bit_xor(const AbstractInt& x, const AbstractInt& y) const {
  const Range a = range(x);
  const Range b = range(y);
  return known_bits(a, b, builder_.CreateXor(a.lo, b.lo));
}

}  // namespace fa
