__device__ __forceinline__ float relative_addend_of(float s_value, int b, int h, int q_idx, int kv_idx, int batch, int num_q_heads, int num_kv_heads, int group_size, int q_len, int kv_len, float scale, const float* t_table) {
  const float* table_at = t_table + static_cast<long long>(h) * 257LL + (min(max(kv_idx - q_idx, -128), 128) + 128);
  const float table = __ldg(table_at);
  return table * 1.442695f;
}

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
    return relative_addend_of(0.0f, head.b, head.h, distance, 0, p.batch, p.num_q_heads, p.num_kv_heads, p.group_size, Sequence::q_len(p, head.b), Sequence::kv_len(p, head.b), p.scale, static_cast<const float*>(p.tensors[0]));
  }
};
