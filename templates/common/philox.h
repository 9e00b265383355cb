// Dropout's random bits: the one definition that device kernels, the reference and the tests include. The
// host's code generator (compiler/emit/host/dropout.cpp) says the same in LLVM IR, and a test compares the
// two bit for bit.
//
// Philox4x32-7 (Salmon et al., SC 2011) with key = seed and counter = (q_idx, column group, b * num_q_heads
// + h, 0). Seven rounds are the fewest that pass all of TestU01's BigCrush in that paper, and what FlashAttention-2 draws with; ten
// made a forward pass with dropout 9% slower. The bits belong to the element, not to a tile: every plan, device and pass draws the same. One
// call's four words serve the eight elements of a row that one thread of an mma tile holds in 32 columns: {8
// w + 2 c, 8 w + 2 c + 1}, w = 0..3. Plain C++ for NVRTC, nvcc and g++.
#pragma once

#include "common/host_device.h"

namespace fa {

struct PhiloxWords {
  unsigned word[4];
};

constexpr int kPhiloxRounds = 7;

FA_HOST_DEVICE PhiloxWords philox4x32_7(PhiloxWords counter, unsigned key0, unsigned key1) {
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const unsigned long long first = 0xD2511F53ull * counter.word[0];
    const unsigned long long second = 0xCD9E8D57ull * counter.word[2];
    const unsigned first_high = static_cast<unsigned>(first >> 32), first_low = static_cast<unsigned>(first);
    const unsigned second_high = static_cast<unsigned>(second >> 32),
                   second_low = static_cast<unsigned>(second);
    counter = {
        {second_high ^ counter.word[1] ^ key0, second_low, first_high ^ counter.word[3] ^ key1, first_low}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

/// The words whose 16-bit halves serve `kv_idx` and the seven other elements of its call; head = b *
/// num_q_heads + h.
FA_HOST_DEVICE PhiloxWords dropout_words(unsigned long long seed, unsigned head, unsigned q_idx,
                                         unsigned kv_idx) {
  return philox4x32_7({{q_idx, kv_idx / 32 * 4 + kv_idx % 8 / 2, head, 0}}, static_cast<unsigned>(seed),
                      static_cast<unsigned>(seed >> 32));
}

/// The element's 16 random bits; it is kept when they are >= CallParams::drop_threshold.
FA_HOST_DEVICE unsigned dropout_bits(unsigned long long seed, unsigned head, unsigned q_idx,
                                     unsigned kv_idx) {
  const unsigned word = dropout_words(seed, head, q_idx, kv_idx).word[kv_idx % 32 / 8];
  return kv_idx % 2 == 0 ? word & 0xffffu : word >> 16;
}

}  // namespace fa
