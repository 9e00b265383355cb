struct Hooks : IdentityHooks {
  static constexpr bool kHasMask = true;
  static constexpr bool kRowIsCheap = false;
  static constexpr bool kMaskIsHeavy = true;
  static constexpr int kRowSize = 61;
  static constexpr int kColumnSize = 59;

  struct Head {
    int b;
    int h;
    int side;
    bool holds;
    bool holds_2;
    int divisor;
    int bounded;
  };

  static __device__ __forceinline__ Head head(const CallParams& p, int b, int h) {
    const int bounded = min(max(p.params[1].i32, -33554431), 33554431);
    const bool holds = static_cast<unsigned>(wrap_add(p.params[0].i32, 1)) < static_cast<unsigned>(2);
    return {b, h, -bounded, p.params[0].i32 == 0, p.params[0].i32 == -1, holds ? 1 : p.params[0].i32, bounded};
  }

  struct Row {
    int q_idx;
    float q_idx_f;
    int side;
    int side_2;
    int remainder;
  };

  static __device__ __forceinline__ Row row(const CallParams& p, const Head& head, int q_idx, float q_idx_f) {
    const int value = q_idx % head.divisor;
    const bool holds = value != 0 && (value ^ head.divisor) < 0;
    const int quotient = head.holds_2 ? wrap_sub(0, q_idx) : wrap_sub(q_idx / head.divisor, static_cast<int>(holds));
    const int quotient_2 = head.holds ? 0 : quotient;
    return {q_idx, q_idx_f, head.side + quotient_2, head.bounded + quotient_2, value + (holds ? head.divisor : 0)};
  }

  struct Column {
    int kv_idx;
    float kv_idx_f;
    int quotient;
    int remainder;
  };

  static __device__ __forceinline__ Column column(const CallParams& p, const Head& head, int kv_idx, float kv_idx_f) {
    const int value = kv_idx % head.divisor;
    const bool holds = value != 0 && (value ^ head.divisor) < 0;
    const int quotient = head.holds_2 ? wrap_sub(0, kv_idx) : wrap_sub(kv_idx / head.divisor, static_cast<int>(holds));
    return {kv_idx, kv_idx_f, head.holds ? 0 : quotient, value + (holds ? head.divisor : 0)};
  }

  static __device__ __forceinline__ bool mask(const CallParams& p, const Head& head, const Row& row, const Column& column) {
    return (row.side <= column.quotient) & (column.quotient <= row.side_2) & (wrap_abs(wrap_sub(row.remainder, column.remainder)) <= p.params[1].i32);
  }
};
