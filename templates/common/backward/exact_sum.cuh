// Sums of floats in integers: exact, so that every order of additions gives the same bits.
//
// An f32 is a whole number of 2^-149 below 2^277 of them. A sum has that number in digits of 24 bits, each in a
// word of 64, so that it takes 2^39 terms before one overflows: more than a call of 128 heads, 65536 x 65536, has. A term
// is at most two digits, added by atomic additions of integers. What is no number leaves a mark.
#pragma once

#include "backward_params.h"
#include "common/dependent_launch.cuh"
#include "common/placement.cuh"

namespace fa {

constexpr int kDigitBits = 24;
constexpr unsigned kDigitMask = (1u << kDigitBits) - 1;
enum OddTerm { kOddNaN = 1, kOddInfinity = 2, kOddMinusInfinity = 4 };

__device__ __forceinline__ void add_exactly(ExactSum* to, float term) {
  const unsigned bits = __float_as_uint(term);
  const unsigned exponent = bits >> 23 & 0xffu, fraction = bits & 0x7fffffu;
  const bool is_negative = bits >> 31 != 0;
  if (exponent == 0xffu) {
    atomicOr(&to->odd, fraction != 0 ? unsigned{kOddNaN}
                       : is_negative ? unsigned{kOddMinusInfinity}
                                     : unsigned{kOddInfinity});
    return;
  }
  const unsigned place = exponent == 0 ? 0 : exponent - 1;
  const unsigned long long number =
      static_cast<unsigned long long>(exponent == 0 ? fraction : fraction | 0x800000u) << place % kDigitBits;
  const unsigned long long low = number & kDigitMask, high = number >> kDigitBits;
  unsigned long long* const digits = to->digits + place / kDigitBits;
  if (low != 0) atomicAdd(digits, is_negative ? 0 - low : low);
  if (high != 0) atomicAdd(digits + 1, is_negative ? 0 - high : high);
}

/// The f32 nearest to a sum.
__device__ __forceinline__ float value_of(const ExactSum& sum) {
  const float infinity = __int_as_float(0x7f800000);
  if ((sum.odd & kOddNaN) != 0 || sum.odd == (kOddInfinity | kOddMinusInfinity)) return infinity - infinity;
  if (sum.odd != 0) return sum.odd == kOddInfinity ? infinity : -infinity;
  // Digits below 2^24 of the sum, or of what it is less than 0.
  unsigned digits[kExactDigits + 2];
  long long top = 0;
  for (int i = 0; i < kExactDigits; ++i) top = (top + static_cast<long long>(sum.digits[i])) >> kDigitBits;
  const bool is_negative = top < 0;
  long long carry = 0;
  for (int i = 0; i < kExactDigits; ++i) {
    const long long digit = static_cast<long long>(sum.digits[i]);
    carry += is_negative ? -digit : digit;
    digits[i] = static_cast<unsigned>(carry) & kDigitMask;
    carry >>= kDigitBits;
  }
  digits[kExactDigits] = static_cast<unsigned>(carry) & kDigitMask;
  digits[kExactDigits + 1] = static_cast<unsigned>(carry >> kDigitBits);
  int first = kExactDigits + 1;  // the highest digit that is not 0
  while (first > 0 && digits[first] == 0) --first;
  // The first two, some bits of the third and whether anything follows: at least 26 bits, enough to round once.
  constexpr int kMore = 8;
  const auto digit = [&](int i) { return static_cast<unsigned long long>(i < 0 ? 0 : digits[i]); };
  const unsigned long long third = digit(first - 2);
  unsigned long long number =
      (digit(first) << kDigitBits | digit(first - 1)) << kMore | third >> (kDigitBits - kMore);
  bool has_more = (third & ((1u << (kDigitBits - kMore)) - 1)) != 0;
  for (int i = 0; i < first - 2; ++i) has_more = has_more || digits[i] != 0;
  if (has_more) number |= 1;
  // Less than 2^56, times a power of two, by two factors: one would have no exponent for it.
  const int exponent = kDigitBits * (first - 1) - kMore - 149, half = exponent / 2;
  const auto power = [](int of_two) { return __int_as_float((127 + of_two) << 23); };
  const float value = static_cast<float>(number) * power(half) * power(exponent - half);
  return is_negative ? -value : value;
}

/// The last pass where gradients repeat: makes elements of the sums. Blocks share them.
struct ExactSumsPass {
  static constexpr int kThreads = 256;

  static __device__ __forceinline__ void run(const BackwardParams& params) {
    await_pass_before();
#pragma unroll 1
    for (int gradient = 0; gradient < kMaxGradients; ++gradient) {
      const ExactSum* const sums = params.exact_sums[gradient];
      if (sums == nullptr) continue;
      for (long long i = static_cast<long long>(block_index().x) * kThreads + thread_of_cta();
           i < params.elements[gradient]; i += static_cast<long long>(kBlocksOfExactSums) * kThreads)
        params.gradients[gradient][i] = value_of(sums[i]);
    }
  }
};

}  // namespace fa
