// Seeded random numbers that are the same on every machine: counter-based, so any element can be drawn alone
// and in any order, and integer arithmetic only, so no libm decides the last bit.
#pragma once

#include <cstdint>

namespace fa::tools {

/// SplitMix64's output function: a well-mixed 64-bit word for each (seed, counter).
inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t counter) {
  std::uint64_t z = seed + (counter + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/// Mean 0, variance 1, nearly normal: the sum of twelve 16-bit uniforms (Irwin-Hall), exact in an f32. Tails
/// end at +-6, which suits tests: no single huge element decides an error bound.
inline float random_normal(std::uint64_t seed, std::uint64_t counter) {
  std::int32_t sum = 6 - 6 * 65536;  // each uniform is (u + 1/2) / 65536
  for (std::uint64_t word = 0; word < 3; ++word) {
    const std::uint64_t bits = random_bits(seed, 3 * counter + word);
    for (int part = 0; part < 4; ++part) sum += static_cast<std::int32_t>((bits >> (16 * part)) & 0xffffU);
  }
  return static_cast<float>(sum) * 0x1p-16F;
}

/// Uniform in [0, bound).
inline std::uint32_t random_below(std::uint64_t seed, std::uint64_t counter, std::uint32_t bound) {
  return static_cast<std::uint32_t>(((random_bits(seed, counter) >> 32) * bound) >> 32);
}

}  // namespace fa::tools
