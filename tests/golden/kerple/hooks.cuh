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
    const float product = head.r2 * fmaxf(static_cast<float>(distance + head.difference) - 0.0f, 0.0f);
    return -(head.r1 * fast_log2(product + 1.0f));
  }
};
