struct Hooks : IdentityHooks {
  using Score = ScoresByDiagonal;
  static constexpr int kScoreSize = 9;
  static constexpr int kRelativeAddendSize = 13;

  struct Head {
    int b;
    int h;
    const float* table_at;
  };

  static __device__ __forceinline__ Head head(const CallParams& p, int b, int h) {
    return {b, h, static_cast<const float*>(p.tensors[0]) + static_cast<long long>(h) * 257LL};
  }

  static __device__ __forceinline__ float addend(const CallParams& p, const Head& head, const Row& row, const Column& column) {
    const float table = __ldg(head.table_at + (min(max(column.kv_idx - row.q_idx, -128), 128) + 128));
    return table * 1.442695f;
  }

  static __device__ __forceinline__ float logit(float s, const CallParams& p, const Head& head, const Row& row, const Column& column) {
    return fmaf(multiplier(p, head, row, column), s, addend(p, head, row, column));
  }

  static __device__ __forceinline__ float relative_addend(const CallParams& p, const Head& head, int distance) {
    const float table = __ldg(head.table_at + (min(max(0 - distance, -128), 128) + 128));
    return table * 1.442695f;
  }
};
