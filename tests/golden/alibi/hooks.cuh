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
