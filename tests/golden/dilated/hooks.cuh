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
    const int side = head.side + distance;
    const int value = side % head.divisor;
    const int value_2 = 0 % head.divisor;
    const int remainder = value_2 + (value_2 != 0 && (value_2 ^ head.divisor) < 0 ? head.divisor : 0);
    const bool holds = value + (value != 0 && (value ^ head.divisor) < 0 ? head.divisor : 0) == remainder;
    return side >= 0 && head.side_2 + distance < 0 && holds;
  }
};
