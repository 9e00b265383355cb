#include "tools/reference/dropout.h"

#include <array>
#include <cmath>

namespace fa::tools {

namespace {

using PhiloxWords = std::array<std::uint32_t, 4>;

/// Philox4x32 with seven rounds, after Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (SC 2011).
PhiloxWords philox(PhiloxWords counter, std::uint64_t key) {
  auto key_low = static_cast<std::uint32_t>(key);
  auto key_high = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 7; ++round) {
    const std::uint64_t product_0 = 0xD2511F53ULL * counter[0];
    const std::uint64_t product_2 = 0xCD9E8D57ULL * counter[2];
    counter = {static_cast<std::uint32_t>(product_2 >> 32) ^ counter[1] ^ key_low,
               static_cast<std::uint32_t>(product_2),
               static_cast<std::uint32_t>(product_0 >> 32) ^ counter[3] ^ key_high,
               static_cast<std::uint32_t>(product_0)};
    key_low += 0x9E3779B9U;
    key_high += 0xBB67AE85U;
  }
  return counter;
}

}  // namespace

std::uint32_t dropout_threshold(float probability) {
  return static_cast<std::uint32_t>(std::lround(static_cast<double>(probability) * 65536));
}

bool dropout_keeps(std::uint64_t seed, std::uint32_t threshold, int b, int h, int num_q_heads, int q_idx,
                   int kv_idx) {
  const auto column = static_cast<std::uint32_t>(kv_idx);
  const PhiloxWords words = philox({static_cast<std::uint32_t>(q_idx), (column / 32) * 4 + (column % 8) / 2,
                                    static_cast<std::uint32_t>(b * num_q_heads + h), 0},
                                   seed);
  const std::uint32_t word = words[(column % 32) / 8];
  const std::uint32_t bits = column % 2 == 0 ? word & 0xffffU : word >> 16;
  return bits >= threshold;
}

}  // namespace fa::tools
