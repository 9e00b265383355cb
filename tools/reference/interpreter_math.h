// The language's integer arithmetic, defined for every input: int64 and uint32 inside, so that wrap-around is
// no undefined behaviour.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace fa::tools {

inline std::int32_t wrap(std::int64_t value) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
}

inline std::int32_t floor_div(std::int32_t a, std::int32_t b) {
  if (b == 0) return 0;
  const std::int64_t wide_a = a;
  const std::int64_t wide_b = b;
  std::int64_t quotient = wide_a / wide_b;
  if (wide_a % wide_b != 0 && (wide_a < 0) != (wide_b < 0)) --quotient;
  return wrap(quotient);
}

inline std::int32_t floor_mod(std::int32_t a, std::int32_t b) {
  if (b == 0) return 0;
  std::int64_t remainder = static_cast<std::int64_t>(a) % b;
  if (remainder != 0 && (remainder < 0) != (b < 0)) remainder += b;
  return wrap(remainder);
}

inline std::int32_t shift_left(std::int32_t a, std::int32_t b) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) << (static_cast<std::uint32_t>(b) & 31U));
}

inline std::int32_t truncate(double value) {
  if (std::isnan(value)) return 0;
  return static_cast<std::int32_t>(std::clamp(std::trunc(value), -0x1p31, 0x1p31 - 1));
}

}  // namespace fa::tools
