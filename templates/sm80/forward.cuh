// Forward attention for sm_80 and later with mma.m16n8k16: one CTA per (q tile, q head, batch), kv tiles in
// order.
//
// Warps        all alike; each owns tile_q / warps query rows, so a softmax never leaves a quad of lanes.
// Shared       Q | K x stages | V x stages, pages of 64 columns (sm80/tile.cuh). With q_in_registers Q is
// read once and
//              its room is K's and V's. The output is staged through the same room at the end.
// Protocol     per kv tile: K arrives -> barrier -> (V's copy starts) -> S = Q K^T -> logits, softmax -> V
// arrives ->
//              barrier -> (the next K's copy starts) -> O += P V. With one stage V's copy hides behind S and
//              the next K's behind softmax and PV, as in FlashAttention-2; with two, each copy has a whole
//              step. Both barriers also say that every warp is done with the buffer that the following copy
//              overwrites.
// Ragged edge  rows past q_len or kv_len are copied as zeros; columns past kv_len become -inf after the
// hooks, whose
//              indices are clamped there; rows past q_len are computed and not stored.
#pragma once

#include "common/hooks.cuh"
#include "common/philox.h"
#include "common/softmax.cuh"
#include "params.h"
#include "sm80/tile.cuh"

namespace fa {

/// What a plan and a spec fix at compile time. The generated unit derives from this and fills it in.
template <class Config, class Hooks>
struct Forward {
  using Element = typename Config::Element;
  static constexpr int kThreads = Config::kWarps * 32;
  static constexpr int kTileKv = Config::kTileKv;
  static constexpr int kRowsPerWarp = Config::kTileQ / Config::kWarps;
  static constexpr int kMTiles = kRowsPerWarp / 16;  // 16-row mma tiles of a warp
  static constexpr int kNTiles = kTileKv / 8;        // 8-column mma tiles of S
  static_assert(kRowsPerWarp % 16 == 0 && kTileKv % 16 == 0);
  static_assert(!Config::kDropout || kTileKv % 32 == 0, "one Philox call serves a group of 32 columns");

  using QTile = Tile<Config::kTileQ, Config::kHeadDim>;
  using KTile = Tile<kTileKv, Config::kHeadDim>;
  using VTile = Tile<kTileKv, Config::kHeadDimV>;
  using OTile = Tile<Config::kTileQ, Config::kHeadDimV>;
  static constexpr int kKSteps = QTile::kPaddedDim / 16;  // mma steps of Q K^T
  static constexpr int kDTiles = VTile::kPaddedDim / 8;   // 8-column mma tiles of O
  static constexpr int kKOffset = Config::kQInRegisters ? 0 : QTile::kBytes;
  static constexpr int kVOffset = kKOffset + Config::kStages * KTile::kBytes;
  static constexpr int kLoopBytes = kVOffset + Config::kStages * VTile::kBytes;
  static constexpr int kQkvBytes = kLoopBytes > QTile::kBytes ? kLoopBytes : QTile::kBytes;
  static constexpr int kSharedBytes = kQkvBytes > OTile::kBytes ? kQkvBytes : OTile::kBytes;

  static constexpr bool kIdentity = Hooks::kScoreForm == ScoreForm::identity;
  // A score hook may give -inf or a negative multiplier, so only the plain score is maximised before scaling.
  static constexpr bool kMayBeEmpty = Hooks::kHasMask || !kIdentity;

  float s[kMTiles][kNTiles][4];  // scores, then probabilities
  float o[kMTiles][kDTiles][4];  // acc_o
  SoftmaxRow softmax[kMTiles][2];
  typename Hooks::Row rows[kMTiles][2];
  unsigned q_fragments[Config::kQInRegisters ? kMTiles : 1][Config::kQInRegisters ? kKSteps : 1][4];

  unsigned smem;    // base of the CTA's shared memory
  unsigned q_lane;  // this lane's matrix rows in the warp's part of Q, in K, in V
  unsigned k_lane;
  unsigned v_lane;

  /// S = Q K^T for one kv tile.
  __device__ __forceinline__ void multiply_qk(unsigned k_tile) {
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int n = 0; n < kNTiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i) s[m][n][i] = 0.0f;
#pragma unroll
    for (int step = 0; step < kKSteps; ++step) {
      unsigned q[kMTiles][4];
#pragma unroll
      for (int m = 0; m < kMTiles; ++m) {
        if constexpr (Config::kQInRegisters) {
#pragma unroll
          for (int i = 0; i < 4; ++i) q[m][i] = q_fragments[m][step][i];
        } else {
          ldmatrix_x4(q[m], smem + QTile::at(q_lane, m * 16, step));
        }
      }
#pragma unroll
      for (int n = 0; n < kNTiles; n += 2) {
        unsigned k[4];
        ldmatrix_x4(k, k_tile + KTile::at(k_lane, n * 8, step));
#pragma unroll
        for (int m = 0; m < kMTiles; ++m) {
          mma_m16n8k16<Element>(s[m][n], q[m], k[0], k[1]);
          mma_m16n8k16<Element>(s[m][n + 1], q[m], k[2], k[3]);
        }
      }
    }
  }

  /// O += P V for one kv tile; P goes from the score accumulators to A fragments without leaving the thread.
  __device__ __forceinline__ void multiply_pv(unsigned v_tile) {
#pragma unroll
    for (int step = 0; step < kTileKv / 16; ++step) {
      unsigned p[kMTiles][4];
#pragma unroll
      for (int m = 0; m < kMTiles; ++m)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          p[m][i] =
              Element::pack(s[m][2 * step + i / 2][2 * (i % 2)], s[m][2 * step + i / 2][2 * (i % 2) + 1]);
#pragma unroll
      for (int d = 0; d < kDTiles; d += 2) {
        unsigned v[4];
        ldmatrix_x4_trans(v, v_tile + VTile::at(v_lane, step * 16, d / 2));
#pragma unroll
        for (int m = 0; m < kMTiles; ++m) {
          mma_m16n8k16<Element>(o[m][d], p[m], v[0], v[1]);
          mma_m16n8k16<Element>(o[m][d + 1], p[m], v[2], v[3]);
        }
      }
    }
  }

  /// Scores to base-2 logits, masked ones to -inf. `kv0` is the tile's first key.
  __device__ __forceinline__ void apply_hooks(const ForwardParams& params, const typename Hooks::Head& head,
                                              int kv0) {
    const int first = kv0 + 2 * (threadIdx.x % 4);
    const float first_f = static_cast<float>(first);
    if constexpr (!kIdentity || Hooks::kHasMask) {
#pragma unroll
      for (int n = 0; n < kNTiles; ++n)
#pragma unroll
        for (int pair = 0; pair < 2; ++pair) {
          const int offset = n * 8 + pair;
          int kv_idx = first + offset;
          float kv_idx_f = first_f + static_cast<float>(offset);  // exact: lengths stay below 2^24
          if constexpr (Config::kClampIndices) {
            kv_idx = min(kv_idx, params.kv_len - 1);
            kv_idx_f = fminf(kv_idx_f, static_cast<float>(params.kv_len - 1));
          }
          const typename Hooks::Column column = Hooks::column(params, head, kv_idx, kv_idx_f);
#pragma unroll
          for (int m = 0; m < kMTiles; ++m)
#pragma unroll
            for (int half = 0; half < 2; ++half) {
              float& x = s[m][n][2 * half + pair];
              const typename Hooks::Row& row = rows[m][half];
              if constexpr (Hooks::kScoreForm == ScoreForm::general)
                x = Hooks::logit(x, params, head, row, column);
              else if constexpr (Hooks::kScoreForm == ScoreForm::affine)
                x = fmaf(Hooks::multiplier(params, head, row, column), x,
                         Hooks::addend(params, head, row, column));
              if constexpr (Hooks::kHasMask)
                x = Hooks::mask(params, head, row, column) ? x : negative_infinity();
            }
        }
    }
    if (kv0 + kTileKv > params.kv_len) {
#pragma unroll
      for (int n = 0; n < kNTiles; ++n)
#pragma unroll
        for (int i = 0; i < 4; ++i)
          if (first + n * 8 + i % 2 >= params.kv_len)
#pragma unroll
            for (int m = 0; m < kMTiles; ++m) s[m][n][i] = negative_infinity();
    }
  }

  /// One online-softmax step: logits to probabilities, the state and acc_o brought to the new maximum.
  __device__ __forceinline__ void apply_softmax(float scale) {
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float tile_max = s[m][0][2 * half];
#pragma unroll
        for (int n = 0; n < kNTiles; ++n)
          tile_max = fmaxf(tile_max, fmaxf(s[m][n][2 * half], s[m][n][2 * half + 1]));
        float subtract;
        const float factor = softmax[m][half].template rescale<kMayBeEmpty>(tile_max, scale, subtract);
        float sum = 0.0f;
#pragma unroll
        for (int n = 0; n < kNTiles; ++n)
#pragma unroll
          for (int pair = 0; pair < 2; ++pair) {
            float& x = s[m][n][2 * half + pair];
            x = fast_exp2(fmaf(x, scale, -subtract));
            sum += x;
          }
        softmax[m][half].l += sum;
#pragma unroll
        for (int d = 0; d < kDTiles; ++d) {
          o[m][d][2 * half] *= factor;
          o[m][d][2 * half + 1] *= factor;
        }
      }
  }

  /// Zeroes dropped probabilities. One Philox call serves the eight elements a thread holds of 32 columns.
  __device__ __forceinline__ void apply_dropout(const ForwardParams& params, int row0, int kv0) {
    const unsigned bh = blockIdx.z * params.num_q_heads + blockIdx.y;
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int n = 0; n < kNTiles; n += 4) {
          const unsigned q_idx = row0 + m * 16 + half * 8;
          const unsigned kv_idx = kv0 + n * 8 + 2 * (threadIdx.x % 4);
          const PhiloxWords words = dropout_words(params.seed, bh, q_idx, kv_idx);
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const unsigned bits = words.word[i];
            s[m][n + i][2 * half] = (bits & 0xffffu) >= params.drop_threshold ? s[m][n + i][2 * half] : 0.0f;
            s[m][n + i][2 * half + 1] =
                (bits >> 16) >= params.drop_threshold ? s[m][n + i][2 * half + 1] : 0.0f;
          }
        }
  }

  /// acc_o / l to 16 bits, through shared memory so that rows leave as whole 16-byte pieces; lse on the way.
  __device__ __forceinline__ void store(const ForwardParams& params, unsigned char* shared, float scale,
                                        int q0, int warp_row) {
    const int lane = threadIdx.x % 32;
    __syncthreads();  // every warp is done with K and V
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int row = warp_row + m * 16 + half * 8 + lane / 4;
        float lse;
        float inverse = softmax[m][half].finish(scale, lse);
        if constexpr (Config::kDropout) inverse *= params.keep_scale;
        if (params.lse != nullptr && lane % 4 == 0 && q0 + row < params.q_len) {
          const long long head_row = static_cast<long long>(blockIdx.z) * params.num_q_heads + blockIdx.y;
          params.lse[head_row * params.q_len + q0 + row] = lse;
        }
#pragma unroll
        for (int d = 0; d < kDTiles; ++d) {
          const unsigned packed = Element::pack(o[m][d][2 * half] * inverse, o[m][d][2 * half + 1] * inverse);
          const int chunk = (d % 8) ^ (row & 7);
          *reinterpret_cast<unsigned*>(shared + (d / 8) * OTile::kPageBytes + row * 128 + chunk * 16 +
                                       (lane % 4) * 4) = packed;
        }
      }
    __syncwarp();  // a warp stores the rows it staged
    char* out = static_cast<char*>(params.o) +
                2 * (blockIdx.z * params.o_strides.batch + blockIdx.y * params.o_strides.head);
    constexpr int kChunks = Config::kHeadDimV / 8;
    for (int i = lane; i < kRowsPerWarp * kChunks; i += 32) {
      const int row = warp_row + i / kChunks;
      const int chunk = i % kChunks;
      if (q0 + row >= params.q_len) break;
      const uint4 piece = *reinterpret_cast<const uint4*>(shared + (chunk / 8) * OTile::kPageBytes +
                                                          row * 128 + ((chunk % 8) ^ (row & 7)) * 16);
      *reinterpret_cast<uint4*>(out + 2 * (q0 + row) * params.o_strides.row + chunk * 16) = piece;
    }
  }

  __device__ __forceinline__ void run(const ForwardParams& params) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const int lane = threadIdx.x % 32;
    const int warp_row = threadIdx.x / 32 * kRowsPerWarp;
    const int q0 = blockIdx.x * Config::kTileQ;
    const int h = blockIdx.y;
    const int b = blockIdx.z;
    const int kv_head = h / params.group_size;
    smem = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    q_lane = lane_offset_a(lane) + warp_row * 128;
    k_lane = lane_offset_b(lane);
    v_lane = lane_offset_a(lane);

    const char* q = static_cast<const char*>(params.q) +
                    2 * (b * params.q_strides.batch + h * params.q_strides.head + q0 * params.q_strides.row);
    const char* k = static_cast<const char*>(params.k) +
                    2 * (b * params.k_strides.batch + kv_head * params.k_strides.head);
    const char* v = static_cast<const char*>(params.v) +
                    2 * (b * params.v_strides.batch + kv_head * params.v_strides.head);
    const long long k_row_bytes = 2 * params.k_strides.row;
    const long long v_row_bytes = 2 * params.v_strides.row;
    const auto load_k = [&](int tile) {
      KTile::template load<kThreads>(smem + kKOffset + tile % Config::kStages * KTile::kBytes,
                                     k + tile * kTileKv * k_row_bytes, k_row_bytes,
                                     params.kv_len - tile * kTileKv);
    };
    const auto load_v = [&](int tile) {
      VTile::template load<kThreads>(smem + kVOffset + tile % Config::kStages * VTile::kBytes,
                                     v + tile * kTileKv * v_row_bytes, v_row_bytes,
                                     params.kv_len - tile * kTileKv);
    };

    QTile::template load<kThreads>(smem, q, 2 * params.q_strides.row, params.q_len - q0);
    cp_async_commit();
    if constexpr (Config::kQInRegisters) {
      cp_async_wait<0>();
      __syncthreads();
#pragma unroll
      for (int m = 0; m < kMTiles; ++m)
#pragma unroll
        for (int step = 0; step < kKSteps; ++step)
          ldmatrix_x4(q_fragments[m][step], smem + QTile::at(q_lane, m * 16, step));
      __syncthreads();  // K and V take over the room
    }
    load_k(0);
    cp_async_commit();
    if constexpr (Config::kStages == 2) {
      load_v(0);
      cp_async_commit();
    }

    const typename Hooks::Head head = Hooks::head(params, b, h);
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        softmax[m][half].start();
        const int q_idx = min(q0 + warp_row + m * 16 + half * 8 + lane / 4, params.q_len - 1);
        rows[m][half] = Hooks::row(params, head, q_idx, static_cast<float>(q_idx));
      }
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int d = 0; d < kDTiles; ++d)
#pragma unroll
        for (int i = 0; i < 4; ++i) o[m][d][i] = 0.0f;

    const float scale = kIdentity ? params.scale_log2 : 1.0f;
    const int num_tiles = (params.kv_len + kTileKv - 1) / kTileKv;
#pragma unroll 1
    for (int tile = 0; tile < num_tiles; ++tile) {
      cp_async_wait<Config::kStages - 1>();
      __syncthreads();
      if constexpr (Config::kStages == 1) {
        load_v(tile);
      } else if (tile + 1 < num_tiles) {
        load_k(tile + 1);
      }
      cp_async_commit();
      multiply_qk(smem + kKOffset + tile % Config::kStages * KTile::kBytes);
      apply_hooks(params, head, tile * kTileKv);
      if constexpr (Config::kStages == 2) {
        apply_softmax(scale);
        cp_async_wait<1>();
        __syncthreads();
        if (tile + 1 < num_tiles) load_v(tile + 1);
      } else {
        cp_async_wait<0>();
        __syncthreads();
        if (tile + 1 < num_tiles) load_k(tile + 1);
        cp_async_commit();
        apply_softmax(scale);
      }
      if constexpr (Config::kStages == 2) cp_async_commit();
      if constexpr (Config::kDropout) apply_dropout(params, q0 + warp_row + lane / 4, tile * kTileKv);
      multiply_pv(smem + kVOffset + tile % Config::kStages * VTile::kBytes);
    }
    store(params, shared, scale, q0, warp_row);
  }
};

}  // namespace fa
