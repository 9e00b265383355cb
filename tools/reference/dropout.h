// Which elements dropout keeps. Written apart from the kernels' own (templates/common/philox.h), to be
// compared with it.
#pragma once

#include <cstdint>

namespace fa::tools {

/// Whether dropout keeps an element: Philox4x32-7 with the key `seed`, counted by (b, h, q_idx, kv_idx) and
/// so the same for every tile size.
bool dropout_keeps(std::uint64_t seed, std::uint32_t threshold, int b, int h, int num_q_heads, int q_idx,
                   int kv_idx);
/// round(probability * 65536)
std::uint32_t dropout_threshold(float probability);

}  // namespace fa::tools
