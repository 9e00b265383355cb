__device__ __forceinline__ float exact_log(float x) {
  const bool holds = x < 1.1754944e-38f;
  const int bits = __float_as_int(holds ? __fmul_rn(x, 8388608.0f) : x);
  const int exponent = wrap_sub(bits, 1060439283) >> 23;
  const float value = static_cast<float>(exponent);
  const float choice = holds ? value - 23.0f : value;
  const float rest = __int_as_float(wrap_sub(bits, shift_left(exponent, 23))) - 1.0f;
  const float sum = 2.0f + rest;
  const float inverse = 1.0f / sum;
  const float product = __fmul_rn(rest, inverse);
  const float product_2 = __fmul_rn(fmaf(-product, rest - (sum - 2.0f), fmaf(-product, sum, rest)), inverse);
  const float product_3 = __fmul_rn(product, product);
  const float fused = fmaf(__fmul_rn(2.0f, product), product_2, fmaf(product, product, -product_3));
  const float fused_2 = fmaf(fmaf(fmaf(0.13333334f, product_3, 0.15384616f), product_3, 0.18181819f), product_3, 0.22222222f);
  const float product_4 = __fmul_rn(product_3, fmaf(fmaf(fused_2, product_3, 0.2857143f), product_3, 0.4f));
  const float sum_2 = 0.6666667f + product_4;
  const float product_5 = __fmul_rn(product_3, sum_2);
  const float fused_3 = fmaf(product_3, product_4 - (sum_2 - 0.6666667f) + -1.9868216e-08f, fmaf(fused, sum_2, fmaf(product_3, sum_2, -product_5)));
  const float product_6 = __fmul_rn(product, product_5);
  const float sum_3 = fmaf(product, fused_3, fmaf(product, product_5, -product_6)) + fmaf(product_2, product_5, __fmul_rn(2.0f, product_2));
  const float product_7 = __fmul_rn(2.0f, product);
  const float sum_4 = product_7 + product_6;
  const float product_8 = __fmul_rn(choice, 0.6933594f);
  const float sum_5 = product_8 + sum_4;
  const float product_9 = __fmul_rn(choice, -0.00021219444f);
  const float sum_6 = product_6 - (sum_4 - product_7) + sum_3 + fmaf(choice, 1.646595e-12f, fmaf(choice, -0.00021219444f, -product_9));
  const float choice_2 = x == __int_as_float(0x7f800000) ? x : sum_5 + (sum_4 - (sum_5 - product_8) + (product_9 + sum_6));
  return !(x >= 0.0f) ? __int_as_float(0x7fffffff) : (x == 0.0f ? __int_as_float(0xff800000) : choice_2);
}

__device__ __forceinline__ float relative_addend_of(float s_value, int b, int h, int q_idx, int kv_idx, int batch, int num_q_heads, int num_kv_heads, int group_size, int q_len, int kv_len, float scale, const float* t_bias) {
  const int sum = q_idx + (kv_len - q_len);
  const int bounded = max(sum - kv_idx, 0);
  const float bounded_2 = fmaxf(fmaxf(static_cast<float>(sum) - static_cast<float>(kv_idx), 0.0f), 1.0f);
  const int value = __float2int_rz(__fmul_rn(exact_log(bounded_2 / 16.0f) / 2.0794415f, 16.0f));
  const int offset = min(max(bounded < 16 ? bounded : wrap_add(16, value), 0), 31) * num_q_heads;
  const float bias = __ldg(t_bias + h + offset);
  return bias * 1.442695f;
}

struct Hooks : IdentityHooks {
  static constexpr ScoreForm kScoreForm = ScoreForm::affine;
  static constexpr bool kHasMask = true;
  static constexpr bool kAddendIsRelative = true;
  static constexpr int kScoreSize = 102;
  static constexpr int kRelativeAddendSize = 110;

  struct Head {
    int b;
    int h;
    const float* bias_at;
    int difference;
  };

  static __device__ __forceinline__ Head head(const ForwardParams& p, int b, int h) {
    return {b, h, static_cast<const float*>(p.tensors[0]) + h, p.kv_len - p.q_len};
  }

  struct Row {
    int q_idx;
    float q_idx_f;
    int sum;
    float sum_f;
  };

  static __device__ __forceinline__ Row row(const ForwardParams& p, const Head& head, int q_idx, float q_idx_f) {
    const int sum = q_idx + head.difference;
    return {q_idx, q_idx_f, sum, static_cast<float>(sum)};
  }

  static __device__ __forceinline__ float addend(const ForwardParams& p, const Head& head, const Row& row, const Column& column) {
    const int bounded = max(row.sum - column.kv_idx, 0);
    const float quotient = exact_log(fmaxf(fmaxf(row.sum_f - column.kv_idx_f, 0.0f), 1.0f) / 16.0f) / 2.0794415f;
    const int choice = bounded < 16 ? bounded : wrap_add(16, __float2int_rz(__fmul_rn(quotient, 16.0f)));
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
