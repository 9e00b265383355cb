__device__ __forceinline__ float relative_addend_of(float s_value, int b, int h, int q_idx, int kv_idx, int batch, int num_q_heads, int num_kv_heads, int group_size, int q_len, int kv_len, float scale, const float* t_bias) {
  const int sum = q_idx + (kv_len - q_len);
  const int bounded = max(sum - kv_idx, 0);
  const float bounded_2 = fmaxf(fmaxf(static_cast<float>(sum) - static_cast<float>(kv_idx), 0.0f), 1.0f);
  const int sum_2 = wrap_add(16, __float2int_rz(fast_log(bounded_2 * 0.0625f) * 0.48089835f * 16.0f));
  const float* bias_at = t_bias + h + min(max(bounded < 16 ? bounded : sum_2, 0), 31) * num_q_heads;
  const float bias = __ldg(bias_at);
  return bias * 1.442695f;
}

struct Hooks {
  static constexpr ScoreForm kScoreForm = ScoreForm::affine;
  static constexpr bool kHasMask = true;
  static constexpr bool kMultiplierIsUniform = true;
  static constexpr bool kAddendIsZero = false;
  static constexpr bool kHeadIsCheap = true;
  static constexpr bool kRowIsCheap = true;
  static constexpr bool kMaskIsHeavy = false;
  static constexpr bool kAddendIsLinear = false;
  static constexpr bool kAddendIsRelative = true;
  static constexpr bool kMaskIsRelative = false;
  static constexpr bool kRowReads = false;
  static constexpr bool kColumnReads = false;

  struct Head {
    int b;
    int h;
    const float* bias_at;
    int difference;
  };

  struct Row {
    int q_idx;
    float q_idx_f;
    int sum;
    float sum_f;
  };

  struct Column {
    int kv_idx;
    float kv_idx_f;
  };

  static __device__ __forceinline__ Head head(const ForwardParams& p, int b, int h) {
    return {b, h, static_cast<const float*>(p.tensors[0]) + h, p.kv_len - p.q_len};
  }

  static __device__ __forceinline__ Row row(const ForwardParams& p, const Head& head, int q_idx, float q_idx_f) {
    const int sum = q_idx + head.difference;
    return {q_idx, q_idx_f, sum, static_cast<float>(sum)};
  }

  static __device__ __forceinline__ Column column(const ForwardParams& p, const Head& head, int kv_idx, float kv_idx_f) {
    return {kv_idx, kv_idx_f};
  }

  static __device__ __forceinline__ float multiplier(const ForwardParams& p, const Head& head, const Row& row, const Column& column) {
    return p.scale_log2;
  }

  static __device__ __forceinline__ float addend(const ForwardParams& p, const Head& head, const Row& row, const Column& column) {
    const int bounded = max(row.sum - column.kv_idx, 0);
    const float value = fast_log(fmaxf(fmaxf(row.sum_f - column.kv_idx_f, 0.0f), 1.0f) * 0.0625f);
    const int choice = bounded < 16 ? bounded : wrap_add(16, __float2int_rz(value * 0.48089835f * 16.0f));
    const float bias = __ldg(head.bias_at + min(max(choice, 0), 31) * p.num_q_heads);
    return bias * 1.442695f;
  }

  static __device__ __forceinline__ float logit(float s, const ForwardParams& p, const Head& head, const Row& row, const Column& column) {
    return fmaf(multiplier(p, head, row, column), s, addend(p, head, row, column));
  }

  static __device__ __forceinline__ bool mask(const ForwardParams& p, const Head& head, const Row& row, const Column& column) {
    return row.sum >= column.kv_idx;
  }

  static __device__ __forceinline__ float relative_addend(const ForwardParams& p, const Head& head, int distance) {
    return relative_addend_of(0.0f, head.b, head.h, distance, 0, p.batch, p.num_q_heads, p.num_kv_heads, p.group_size, p.q_len, p.kv_len, p.scale, static_cast<const float*>(p.tensors[0]));
  }
};
