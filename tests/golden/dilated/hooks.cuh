__device__ __forceinline__ bool relative_mask_of(float score, int b, int h, int q_idx, int kv_idx, int batch, int num_q_heads, int num_kv_heads, int group_size, int q_len, int kv_len, float scale, int p_window, int p_dilation) {
  const int side = kv_len - q_len;
  const int side_2 = side + q_idx;
  const int side_3 = side - min(max(wrap_mul(p_window, p_dilation), -67108863), 67108863) + q_idx;
  const bool holds = static_cast<unsigned>(wrap_add(p_dilation, 1)) < static_cast<unsigned>(2);
  const int divisor = holds ? 1 : p_dilation;
  const int value = side_2 % divisor;
  const int value_2 = kv_idx % divisor;
  const bool holds_2 = value + (value != 0 && (value ^ divisor) < 0 ? divisor : 0) == value_2 + (value_2 != 0 && (value_2 ^ divisor) < 0 ? divisor : 0);
  return side_2 >= kv_idx && side_3 < kv_idx && holds_2;
}

struct Hooks : IdentityHooks {
  static constexpr bool kHasMask = true;
  static constexpr bool kRowIsCheap = false;
  static constexpr bool kMaskIsRelative = true;
  static constexpr int kRowSize = 32;
  static constexpr int kColumnSize = 30;
  static constexpr int kRelativeMaskSize = 75;

  struct Head {
    int b;
    int h;
    int side;
    int side_2;
    int divisor;
  };

  static __device__ __forceinline__ Head head(const CallParams& p, int b, int h) {
    const int side = Sequence::kv_len(p, b) - Sequence::q_len(p, b);
    const int bounded = min(max(wrap_mul(p.params[0].i32, p.params[1].i32), -67108863), 67108863);
    const bool holds = static_cast<unsigned>(wrap_add(p.params[1].i32, 1)) < static_cast<unsigned>(2);
    return {b, h, side, side - bounded, holds ? 1 : p.params[1].i32};
  }

  struct Row {
    int q_idx;
    float q_idx_f;
    int side;
    int side_2;
    int remainder;
  };

  static __device__ __forceinline__ Row row(const CallParams& p, const Head& head, int q_idx, float q_idx_f) {
    const int side = head.side + q_idx;
    const int value = side % head.divisor;
    return {q_idx, q_idx_f, side, head.side_2 + q_idx, value + (value != 0 && (value ^ head.divisor) < 0 ? head.divisor : 0)};
  }

  struct Column {
    int kv_idx;
    float kv_idx_f;
    int remainder;
  };

  static __device__ __forceinline__ Column column(const CallParams& p, const Head& head, int kv_idx, float kv_idx_f) {
    const int value = kv_idx % head.divisor;
    return {kv_idx, kv_idx_f, value + (value != 0 && (value ^ head.divisor) < 0 ? head.divisor : 0)};
  }

  static __device__ __forceinline__ bool mask(const CallParams& p, const Head& head, const Row& row, const Column& column) {
    return (row.side >= column.kv_idx) & (row.side_2 < column.kv_idx) & (row.remainder == column.remainder);
  }

  static __device__ __forceinline__ bool relative_mask(const CallParams& p, const Head& head, int distance) {
    return relative_mask_of(0.0f, head.b, head.h, distance, 0, p.batch, p.num_q_heads, p.num_kv_heads, p.group_size, Sequence::q_len(p, head.b), Sequence::kv_len(p, head.b), p.scale, p.params[0].i32, p.params[1].i32);
  }
};
