// Division, remainder and shifts of the spec, by the cheapest instructions that are right for the known
// ranges.
#include "compiler/ir/llvm.h"
// after llvm.h
#include <bit>

#include "compiler/ir/math/integer_math.h"

namespace fa {
namespace {

llvm::Value* constant(llvm::IRBuilderBase& builder, std::int64_t value) {
  return builder.getInt32(static_cast<std::uint32_t>(value));
}

bool is_power_of_two(const Interval& range) {
  return range.is_constant() && range.lo > 0 && std::has_single_bit(static_cast<std::uint64_t>(range.lo));
}

int log2_of(const Interval& range) { return std::countr_zero(static_cast<std::uint64_t>(range.lo)); }

// A divisor that neither traps nor overflows: 1 in place of 0 and -1.
llvm::Value* safe_divisor(llvm::IRBuilderBase& builder, Known b) {
  const bool may_be_zero = b.range.lo <= 0 && b.range.hi >= 0;
  const bool may_be_minus_one = b.range.lo <= -1 && b.range.hi >= -1;
  if (!may_be_zero && !may_be_minus_one) return b.value;
  // b + 1 is 0 or 1 exactly for -1 and 0.
  llvm::Value* next = builder.CreateAdd(b.value, constant(builder, 1));
  llvm::Value* unsafe = builder.CreateICmpULT(next, constant(builder, 2));
  return builder.CreateSelect(unsafe, constant(builder, 1), b.value, "divisor");
}

// Whether the truncated quotient is one too large: the remainder is not zero and has not the divisor's sign.
llvm::Value* rounds_down(llvm::IRBuilderBase& builder, llvm::Value* remainder, llvm::Value* divisor,
                         const Interval& divisor_range) {
  llvm::Value* zero = constant(builder, 0);
  if (divisor_range.lo >= 1) return builder.CreateICmpSLT(remainder, zero);
  if (divisor_range.hi <= -1) return builder.CreateICmpSGT(remainder, zero);
  llvm::Value* differs = builder.CreateICmpSLT(builder.CreateXor(remainder, divisor), zero);
  return builder.CreateAnd(builder.CreateICmpNE(remainder, zero), differs);
}

}  // namespace

llvm::Value* emit_floor_div(llvm::IRBuilderBase& builder, Known a, Known b) {
  if (b.range.is_constant() && b.range.lo == 0) return constant(builder, 0);
  if (b.range.is_constant() && b.range.lo == -1) return builder.CreateNeg(a.value);
  if (is_power_of_two(b.range))
    return builder.CreateAShr(a.value, constant(builder, log2_of(b.range)), "quotient");
  if (b.range.lo >= 1 && a.range.lo >= 0) return builder.CreateUDiv(a.value, b.value, "quotient");

  llvm::Value* divisor = safe_divisor(builder, b);
  llvm::Value* quotient = builder.CreateSDiv(a.value, divisor);
  llvm::Value* remainder = builder.CreateSRem(a.value, divisor);
  llvm::Value* down = rounds_down(builder, remainder, divisor, b.range);
  llvm::Value* result =
      builder.CreateSub(quotient, builder.CreateZExt(down, builder.getInt32Ty()), "quotient");
  if (b.range.lo <= -1 && b.range.hi >= -1) {
    llvm::Value* negated = builder.CreateNeg(a.value);
    result = builder.CreateSelect(builder.CreateICmpEQ(b.value, constant(builder, -1)), negated, result,
                                  "quotient");
  }
  if (b.range.lo <= 0 && b.range.hi >= 0)
    result = builder.CreateSelect(builder.CreateICmpEQ(b.value, constant(builder, 0)), constant(builder, 0),
                                  result, "quotient");
  return result;
}

llvm::Value* emit_floor_mod(llvm::IRBuilderBase& builder, Known a, Known b) {
  if (b.range.within(-1, 1)) return constant(builder, 0);
  if (is_power_of_two(b.range))
    return builder.CreateAnd(a.value, constant(builder, b.range.lo - 1), "remainder");
  if (b.range.lo >= 1 && a.range.lo >= 0) return builder.CreateURem(a.value, b.value, "remainder");

  // The divisor 1, which replaces 0 and -1, leaves the remainder 0, which is right for both.
  llvm::Value* divisor = safe_divisor(builder, b);
  llvm::Value* remainder = builder.CreateSRem(a.value, divisor);
  llvm::Value* down = rounds_down(builder, remainder, divisor, b.range);
  llvm::Value* correction = builder.CreateSelect(down, divisor, constant(builder, 0));
  return builder.CreateAdd(remainder, correction, "remainder", false, true);  // opposite signs: no overflow
}

llvm::Value* emit_ceil_div(llvm::IRBuilderBase& builder, Known a, Known b) {
  if (a.range.lo >= 0 && b.range.lo >= 1 && a.range.hi + b.range.hi - 1 <= Interval{}.hi) {
    llvm::Value* less_one = builder.CreateSub(b.value, constant(builder, 1), "", false, true);
    llvm::Value* numerator = builder.CreateAdd(a.value, less_one, "", false, true);
    return emit_floor_div(builder, {numerator, {0, a.range.hi + b.range.hi - 1}}, b);
  }
  Interval negated = {-a.range.hi, -a.range.lo};
  if (!negated.fits_i32()) negated = {};
  return builder.CreateNeg(emit_floor_div(builder, {builder.CreateNeg(a.value), negated}, b));
}

llvm::Value* emit_shift_left(llvm::IRBuilderBase& builder, Known a, Known amount) {
  llvm::Value* masked =
      amount.range.within(0, 31) ? amount.value : builder.CreateAnd(amount.value, constant(builder, 31));
  return builder.CreateShl(a.value, masked, "shifted");
}

llvm::Value* emit_shift_right(llvm::IRBuilderBase& builder, Known a, Known amount) {
  llvm::Value* masked =
      amount.range.within(0, 31) ? amount.value : builder.CreateAnd(amount.value, constant(builder, 31));
  return builder.CreateAShr(a.value, masked, "shifted");
}

}  // namespace fa
