struct Hooks : IdentityHooks {
  using Score = ScoresByDiagonal;
  static constexpr bool kHasMask = true;
  static constexpr int kScoreSize = 102;
  static constexpr int kRelativeAddendSize = 110;

  struct Head {
    int b;
    int h;
    const float* bias_at;
    int difference;
  };

  static __device__ __forceinline__ Head head(const CallParams& p, int b, int h) {
    return {b, h, static_cast<const float*>(p.tensors[0]) + h, Sequence::kv_len(p, b) - Sequence::q_len(p, b)};
  }

  struct Row {
    int q_idx;
    float q_idx_f;
    int sum;
    float sum_f;
  };

  static __device__ __forceinline__ Row row(const CallParams& p, const Head& head, int q_idx, float q_idx_f) {
    const int sum = q_idx + head.difference;
    return {q_idx, q_idx_f, sum, static_cast<float>(sum)};
  }

  static __device__ __forceinline__ float addend(const CallParams& p, const Head& head, const Row& row, const Column& column) {
    const int bounded = max(row.sum - column.kv_idx, 0);
    const float quotient = exact_log(fmaxf(fmaxf(row.sum_f - column.kv_idx_f, 0.0f), 1.0f) / 16.0f) / 2.0794415f;
    const int choice = bounded < 16 ? bounded : wrap_add(16, __float2int_rz(__fmul_rn(quotient, 16.0f)));
    const float bias = __ldg(head.bias_at + min(max(choice, 0), 31) * p.num_q_heads);
    return bias * 1.442695f;
  }

  static __device__ __forceinline__ float logit(float s, const CallParams& p, const Head& head, const Row& row, const Column& column) {
    return fmaf(multiplier(p, head, row, column), s, addend(p, head, row, column));
  }

  static __device__ __forceinline__ bool mask(const CallParams& p, const Head& head, const Row& row, const Column& column) {
    return row.sum >= column.kv_idx;
  }

  static __device__ __forceinline__ float relative_addend(const CallParams& p, const Head& head, int distance) {
    const int sum = distance + head.difference;
    const int bounded = max(sum - 0, 0);
    const float value = exact_log(fmaxf(fmaxf(static_cast<float>(sum) - 0.0f, 0.0f), 1.0f) / 16.0f);
    const int choice = bounded < 16 ? bounded : wrap_add(16, __float2int_rz(__fmul_rn(value / 2.0794415f, 16.0f)));
    const float bias = __ldg(head.bias_at + min(max(choice, 0), 31) * p.num_q_heads);
    return bias * 1.442695f;
  }
};
