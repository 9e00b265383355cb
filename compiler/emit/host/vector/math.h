// Elementary functions as straight-line IR, for a float or a vector of them: a few ulp, no calls, no tables.
// NaN in, NaN out; overflow, underflow and signed infinities as in libm.
#pragma once

#include "compiler/emit/host/host.h"
#include "compiler/ir/llvm.h"

namespace fa {

class HostMath {
 public:
  HostMath(llvm::IRBuilder<>& ir, const HostCpu& cpu) : ir_(ir), cpu_(cpu) {}

  llvm::Value* exp2(llvm::Value* x);
  /// For x <= 0 only: what the softmax needs; below 2^-126 it may give 0.
  llvm::Value* exp2_nonpositive(llvm::Value* x);
  /// For x <= 16: off by at most 2.6e-6 of it, for what is rounded to 16 bits; below 2^-126 it is 0.
  llvm::Value* exp2_in_16_bits(llvm::Value* x);
  llvm::Value* exp(llvm::Value* x);
  llvm::Value* log2(llvm::Value* x);
  llvm::Value* log(llvm::Value* x);
  llvm::Value* tanh(llvm::Value* x);
  llvm::Value* sigmoid(llvm::Value* x);
  llvm::Value* erf(llvm::Value* x);
  llvm::Value* rsqrt(llvm::Value* x);
  // In double, rounded once: math_wide.cpp.
  /// log(2^exponent x), x a normal number, infinite or NaN.
  llvm::Value* log_scaled(llvm::Value* exponent, llvm::Value* x);
  llvm::Value* log1p(llvm::Value* x);
  llvm::Value* expm1(llvm::Value* x);
  llvm::Value* atan(llvm::Value* x);
  llvm::Value* atan2(llvm::Value* y, llvm::Value* x);
  llvm::Value* pow(llvm::Value* x, llvm::Value* y);
  /// Truncates, saturates, NaN -> 0.
  llvm::Value* to_i32(llvm::Value* x);

 private:
  llvm::Value* number(llvm::Value* like, double value);         // a constant of like's type
  llvm::Value* integer(llvm::Value* like, std::int64_t value);  // an i32 constant of like's shape
  llvm::Type* int_type(llvm::Value* like);
  llvm::Value* fma(llvm::Value* a, llvm::Value* b, llvm::Value* c);
  /// c[0] + x (c[1] + x (...)), x a multiple of the result's accuracy.
  llvm::Value* polynomial(llvm::Value* x, std::initializer_list<double> low_to_high);
  llvm::Value* at_least(llvm::Value* x, double bound);  // NaN stays
  llvm::Value* at_most(llvm::Value* x, double bound);
  llvm::Value* round(llvm::Value* x);
  llvm::Value* abs(llvm::Value* x);
  bool has_scalef(const llvm::Type& type) const;  // whether one instruction of this CPU scales such a vector
  /// 2^exponent of `type`, exponent an i32 in [-126, 127]; 0 for -127.
  llvm::Value* power_of_two(llvm::Value* exponent, llvm::Type* type);
  /// x * 2^n for a whole n in [-300, 300].
  llvm::Value* scale_by(llvm::Value* x, llvm::Value* n);
  /// x * 2^n where exponent >= -126 or NaN, else 0.
  llvm::Value* scale_normal(llvm::Value* x, llvm::Value* n, llvm::Value* exponent);
  /// The natural logarithm in parts: fraction f, correction y and exponent e with log(x) = f + y + e log(2).
  struct LogParts {
    llvm::Value *fraction, *correction, *exponent;
  };
  LogParts log_parts(llvm::Value* x);
  llvm::Value* log_limits(llvm::Value* x, llvm::Value* result);

  llvm::Value* widened(llvm::Value* x);  // to double
  llvm::Value* rounded(llvm::Value* x);  // to float
  llvm::Value* choose(llvm::Value* condition, llvm::Value* then, llvm::Value* otherwise);
  /// 2^n in double, n an i32 within +-1000.
  llvm::Value* wide_power_of_two(llvm::Value* n);
  /// log(1 + f) in double, 1 + f between about sqrt(1/2) and sqrt(2).
  llvm::Value* wide_log1p(llvm::Value* f);
  /// (e^r - 1) / r in double, r in +-log(2)/2.
  llvm::Value* wide_expm1_over(llvm::Value* r);
  /// The exponent of a normal x, rounded so that x / 2^exponent lies in [sqrt(1/2), sqrt(2)), as an i32.
  llvm::Value* nearest_exponent(llvm::Value* x);

  llvm::IRBuilder<>& ir_;
  const HostCpu& cpu_;
};

}  // namespace fa
