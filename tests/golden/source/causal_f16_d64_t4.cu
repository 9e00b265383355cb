// Facet: attention "causal", forward, sm75 q_outer tile_q=128 tile_kv=64 warps=4 stages=1 q_in_registers=0 min_ctas=2
#define FA_Q_TURNS_CROSS_ENTRIES
#include "sm75/forward.cuh"

namespace fa {

struct Hooks : IdentityHooks {
  static constexpr bool kHasMask = true;

  struct Head {
    int b;
    int h;
    int side;
  };

  static __device__ __forceinline__ Head head(const CallParams& p, int b, int h) {
    return {b, h, Sequence::kv_len(p, b) - Sequence::q_len(p, b)};
  }

  struct Row {
    int q_idx;
    float q_idx_f;
    int side;
  };

  static __device__ __forceinline__ Row row(const CallParams& p, const Head& head, int q_idx, float q_idx_f) {
    return {q_idx, q_idx_f, head.side + q_idx};
  }

  static __device__ __forceinline__ bool mask(const CallParams& p, const Head& head, const Row& row, const Column& column) {
    return row.side >= column.kv_idx;
  }
};

__device__ __forceinline__ int tile_class_of(int b, int h, int q_lo, int q_hi, int kv_lo, int kv_hi, int batch, int num_q_heads, int num_kv_heads, int group_size, int q_len, int kv_len, float scale) {
  const int difference = kv_len - q_len;
  return difference + q_hi + kv_lo * -1 >= 0 ? (difference + q_lo + kv_hi * -1 < 0 ? 1 : 2) : 0;
}

struct Classes {
  static constexpr bool kHasTileClass = true;
  static constexpr bool kHasTileMap = false;
  static constexpr bool kHasScoreClass = false;

  template <class Pairs>
  static __device__ __forceinline__ int tile_class(const CallParams& p, Pairs pairs, int b, int h, int q_lo, int q_hi, int kv_lo,
                                                   int kv_hi) {
    return tile_class_of(b, h, q_lo, q_hi, kv_lo, kv_hi, p.batch, p.num_q_heads, p.num_kv_heads, p.group_size, Sequence::q_len(p, b), Sequence::kv_len(p, b), p.scale);
  }

  static __device__ __forceinline__ bool score_is_plain(const CallParams& p, int b, int h, int q_lo, int q_hi, int kv_lo, int kv_hi) {
    return false;
  }
};

struct Config {
  using Element = F16;
  static constexpr int kHeadDim = 64;
  static constexpr int kHeadDimV = 64;
  static constexpr int kTileQ = 128;
  static constexpr int kTileKv = 64;
  static constexpr int kWarps = 4;
  static constexpr int kStages = 1;
  static constexpr bool kQInRegisters = false;
  static constexpr bool kSearchFirst = false;
  static constexpr bool kDropout = false;
};

}  // namespace fa

extern "C" __global__ void __launch_bounds__(128, 2)
    facet_forward(const __grid_constant__ fa::ForwardParams params) {
  fa::Forward<fa::Config, fa::Hooks, fa::Classes> forward;
  forward.run(params);
}

// What the host launches with is what the device was built for.
static_assert(fa::Forward<fa::Config, fa::Hooks, fa::Classes>::kThreads == 128);
static_assert(fa::Forward<fa::Config, fa::Hooks, fa::Classes>::kSharedBytes == 32768);
static_assert(sizeof(fa::ForwardParams) == 392);
