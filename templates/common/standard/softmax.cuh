// Standard attention, pass 2: the softmax of each row of S, in its place. A warp has a row.
//
// The row's maximum is the largest of its tiles' maxima, so that the row itself is read once: P = exp2(S - maximum),
// their sum goes to row_state. As in FlashAttention, P is divided by the sum where O leaves (outputs.cuh): the quotients
// are the same, and in 16 bits P is as far from 0 as it can be. Dropped elements become 0, and the sum counts them.
#pragma once

#include "common/instructions.cuh"
#include "common/math.cuh"
#include "common/philox.h"
#include "common/placement.cuh"
#include "common/products.cuh"
#include "common/softmax.cuh"
#include "common/standard/score_room.cuh"

namespace fa {

constexpr int kSoftmaxRows = 8;  // of a CTA, a warp each

template <class Config>
struct StandardSoftmax {
  using Element = typename Config::Element;
  using Room = ScoreRoom<Element, Config::kTileKv>;
  static constexpr int kThreads = kSoftmaxRows * 32;
  static constexpr int kColumns = 16 / Element::kBytes;  // of a chunk, which a lane reads at a time
  static constexpr int kChunksOfTile = Config::kTileKv / kColumns;

  static __device__ __forceinline__ void run(const BaselineParams& params) {
    const CallParams& call = params.forward.call;
    const auto [x, h, b] = block_index();
    const int q_idx = x * kSoftmaxRows + static_cast<int>(warp_of_cta());
    if (q_idx >= Sequence::q_len(call, b)) return;
    const int lane = lane_of_warp();
    const Room room = Room::of_head(params, b, h);
    const float* const maxima = room.row_maxima(q_idx);
    float m = -3.402823466e38f;
    for (int tile = lane; tile < room.num_tiles; tile += 32) m = fmaxf(m, maxima[tile]);
    m = of_warp(m, [](float a, float b) { return fmaxf(a, b); });
    const unsigned head = static_cast<unsigned>(b) * call.num_q_heads + h;
    float l = 0.0f;
    auto* const row = reinterpret_cast<uint4*>(room.row(q_idx));
    const int chunks = room.num_tiles * kChunksOfTile;
#pragma unroll 4
    for (int first = 0; first < chunks; first += 32) {
      const int chunk = first + lane;
      const bool exists = chunk < chunks;
      uint4 piece = make_uint4(0, 0, 0, 0);
      if (exists) piece = row[chunk];
      unsigned words[4] = {piece.x, piece.y, piece.z, piece.w};
      const float by = exists ? maxima[chunk / kChunksOfTile] - m : negative_infinity();
      float p[kColumns];
#pragma unroll
      for (int i = 0; i < kColumns; ++i) {
        p[i] = fast_exp2(score(words, i) + by);
        l += p[i];
      }
      if constexpr (Config::kDropout) drop(p, call, head, q_idx, chunk * kColumns);
      if constexpr (Element::kBytes == 4) {
        piece = make_uint4(__float_as_uint(p[0]), __float_as_uint(p[1]), __float_as_uint(p[2]),
                           __float_as_uint(p[3]));
      } else {
        const auto two = [&](int i) { return pack<Element>(p[i], p[i + 1]); };
        piece = make_uint4(two(0), two(2), two(kColumns - 4), two(kColumns - 2));
      }
      if (exists) row[chunk] = piece;
    }
    l = of_warp(l, [](float a, float b) { return a + b; });
    if (lane == 0) {
      room.state(q_idx)[0] = m;
      room.state(q_idx)[1] = l;
    }
  }

 private:
  template <class Combine>
  static __device__ __forceinline__ float of_warp(float x, Combine combine) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
      x = combine(x, __shfl_xor_sync(0xffffffffu, x, distance));
    return x;
  }

  static __device__ __forceinline__ float score(const unsigned (&words)[4], int i) {
    if constexpr (Element::kBytes == 4) {
      return __uint_as_float(words[i]);
    } else {
      return widened(Element{}, static_cast<unsigned short>(words[i / 2] >> (i % 2 * 16)));
    }
  }

  /// Zeros for what is dropped of the chunk that begins at kv_idx. A Philox call serves two neighbours in each of four
  /// chunks of eight columns, which a quad has: each of its lanes makes one call, and they exchange the words.
  static __device__ __forceinline__ void drop(float (&p)[kColumns], const CallParams& call, unsigned head,
                                              int q_idx, int kv_idx) {
    unsigned words[4];
    if constexpr (kColumns == 8) {
      const PhiloxWords drawn =
          dropout_words(call.seed, head, q_idx, kv_idx / 32 * 32 + lane_of_warp() % 4 * 2);
#pragma unroll
      for (int i = 0; i < 4; ++i) words[i] = drawn.word[i];
      transpose_quad(words);
    } else {
#pragma unroll
      for (int i = 0; i < kColumns / 2; ++i) {
        const PhiloxWords drawn = dropout_words(call.seed, head, q_idx, kv_idx + 2 * i);
        words[i] = kv_idx / 16 % 2 == 0  ? kv_idx / 8 % 2 == 0 ? drawn.word[0] : drawn.word[1]
                    : kv_idx / 8 % 2 == 0 ? drawn.word[2]
                                         : drawn.word[3];
      }
    }
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      const unsigned bits = i % 2 == 0 ? words[i / 2] & 0xffffu : words[i / 2] >> 16;
      p[i] = bits >= call.drop_threshold ? p[i] : 0.0f;
    }
  }
};

}  // namespace fa
