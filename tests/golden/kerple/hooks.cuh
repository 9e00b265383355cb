__device__ __forceinline__ float relative_addend_of(float s_value, int b, int h, int q_idx, int kv_idx, int batch, int num_q_heads, int num_kv_heads, int group_size, int q_len, int kv_len, float scale, const float* t_r1, const float* t_r2) {
  const float r1 = __ldg(t_r1 + h);
  const float r2 = __ldg(t_r2 + h);
  const float difference = static_cast<float>(q_idx + (kv_len - q_len)) - static_cast<float>(kv_idx);
  return -(r1 * fast_log2(r2 * fmaxf(difference, 0.0f) + 1.0f));
}

struct Hooks : IdentityHooks {
  using Score = ScoresByDiagonal;
  static constexpr bool kHasMask = true;
  static constexpr bool kHeadIsCheap = false;
  static constexpr int kRelativeAddendSize = 22;

  struct Head {
    int b;
    int h;
    float r1;
    float r2;
    int difference;
  };

  static __device__ __forceinline__ Head head(const CallParams& p, int b, int h) {
    const float r1 = __ldg(static_cast<const float*>(p.tensors[0]) + h);
    const float r2 = __ldg(static_cast<const float*>(p.tensors[1]) + h);
    return {b, h, r1, r2, Sequence::kv_len(p, b) - Sequence::q_len(p, b)};
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
    const float product = head.r1 * fast_log2(head.r2 * fmaxf(row.sum_f - column.kv_idx_f, 0.0f) + 1.0f);
    return -product;
  }

  static __device__ __forceinline__ float logit(float s, const CallParams& p, const Head& head, const Row& row, const Column& column) {
    return fmaf(multiplier(p, head, row, column), s, addend(p, head, row, column));
  }

  static __device__ __forceinline__ bool mask(const CallParams& p, const Head& head, const Row& row, const Column& column) {
    return row.sum >= column.kv_idx;
  }

  static __device__ __forceinline__ float relative_addend(const CallParams& p, const Head& head, int distance) {
    return relative_addend_of(0.0f, head.b, head.h, distance, 0, p.batch, p.num_q_heads, p.num_kv_heads, p.group_size, Sequence::q_len(p, head.b), Sequence::kv_len(p, head.b), p.scale, static_cast<const float*>(p.tensors[0]), static_cast<const float*>(p.tensors[1]));
  }
};
