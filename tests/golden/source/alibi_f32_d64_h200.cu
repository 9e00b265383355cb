// Facet: attention "alibi", forward, sm80 q_outer tile_q=128 tile_kv=64 warps=4 stages=1 q_in_registers=0 min_ctas=2 search_first=1
#define FA_Q_TURNS_CROSS_ENTRIES
#include "sm80/forward.cuh"

namespace fa {

struct Hooks : IdentityHooks {
  using Score = LinearScores;
  static constexpr bool kHasMask = true;

  struct Head {
    int b;
    int h;
    float slopes_log2;
    int difference;
  };

  static __device__ __forceinline__ Head head(const CallParams& p, int b, int h) {
    const float slopes = __ldg(static_cast<const float*>(p.tensors[0]) + h);
    return {b, h, slopes * 1.442695f, Sequence::kv_len(p, b) - Sequence::q_len(p, b)};
  }

  struct Row {
    int q_idx;
    float q_idx_f;
    float sum_f;
    int sum;
  };

  static __device__ __forceinline__ Row row(const CallParams& p, const Head& head, int q_idx, float q_idx_f) {
    const int sum = q_idx + head.difference;
    return {q_idx, q_idx_f, static_cast<float>(sum), sum};
  }

  static __device__ __forceinline__ float addend(const CallParams& p, const Head& head, const Row& row, const Column& column) {
    return -(head.slopes_log2 * (row.sum_f - column.kv_idx_f));
  }

  static __device__ __forceinline__ float logit(float s, const CallParams& p, const Head& head, const Row& row, const Column& column) {
    return fmaf(multiplier(p, head, row, column), s, addend(p, head, row, column));
  }

  static __device__ __forceinline__ float addend_slope(const CallParams& p, const Head& head) {
    return head.slopes_log2;
  }

  static __device__ __forceinline__ bool mask(const CallParams& p, const Head& head, const Row& row, const Column& column) {
    return row.sum >= column.kv_idx;
  }
};

__device__ __forceinline__ int tile_class_of(int b, int h, int q_lo, int q_hi, int kv_lo, int kv_hi, int batch, int num_q_heads, int num_kv_heads, int group_size, int q_len, int kv_len, float scale, const void* t_slopes) {
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
    return tile_class_of(b, h, q_lo, q_hi, kv_lo, kv_hi, p.batch, p.num_q_heads, p.num_kv_heads, p.group_size, Sequence::q_len(p, b), Sequence::kv_len(p, b), p.scale, static_cast<const float*>(p.tensors[0]));
  }

  static __device__ __forceinline__ bool score_is_plain(const CallParams& p, int b, int h, int q_lo, int q_hi, int kv_lo, int kv_hi) {
    return false;
  }
};

struct Config {
  using Element = Tf32x3;
  static constexpr int kHeadDim = 64;
  static constexpr int kHeadDimV = 64;
  static constexpr int kTileQ = 128;
  static constexpr int kTileKv = 64;
  static constexpr int kWarps = 4;
  static constexpr int kStages = 1;
  static constexpr bool kQInRegisters = false;
  static constexpr bool kSearchFirst = true;
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
static_assert(fa::Forward<fa::Config, fa::Hooks, fa::Classes>::kSharedBytes == 65536);
static_assert(sizeof(fa::ForwardParams) == 392);
