struct Hooks {
  static constexpr ScoreForm kScoreForm = ScoreForm::identity;
  static constexpr bool kHasMask = true;
  static constexpr bool kMultiplierIsUniform = true;
  static constexpr bool kAddendIsZero = true;
  static constexpr bool kHeadIsCheap = true;
  static constexpr bool kRowIsCheap = false;
  static constexpr bool kMaskIsHeavy = false;
  static constexpr bool kRowReads = false;
  static constexpr bool kColumnReads = false;

  struct Head {
    int b;
    int h;
    int side;
    int side_2;
    int divisor;
  };

  struct Row {
    int q_idx;
    float q_idx_f;
    int side;
    int side_2;
    int remainder;
  };

  struct Column {
    int kv_idx;
    float kv_idx_f;
    int remainder;
  };

  static __device__ __forceinline__ Head head(const ForwardParams& p, int b, int h) {
    const int side = p.kv_len - p.q_len;
    const int bounded = min(max(wrap_mul(p.params[0].i32, p.params[1].i32), -67108863), 67108863);
    const bool holds = static_cast<unsigned>(wrap_add(p.params[1].i32, 1)) < static_cast<unsigned>(2);
    return {b, h, side, side - bounded, holds ? 1 : p.params[1].i32};
  }

  static __device__ __forceinline__ Row row(const ForwardParams& p, const Head& head, int q_idx, float q_idx_f) {
    const int side = head.side + q_idx;
    const int value = side % head.divisor;
    return {q_idx, q_idx_f, side, head.side_2 + q_idx, value + (value != 0 && (value ^ head.divisor) < 0 ? head.divisor : 0)};
  }

  static __device__ __forceinline__ Column column(const ForwardParams& p, const Head& head, int kv_idx, float kv_idx_f) {
    const int value = kv_idx % head.divisor;
    return {kv_idx, kv_idx_f, value + (value != 0 && (value ^ head.divisor) < 0 ? head.divisor : 0)};
  }

  static __device__ __forceinline__ float multiplier(const ForwardParams& p, const Head& head, const Row& row, const Column& column) {
    return p.scale_log2;
  }

  static __device__ __forceinline__ float addend(const ForwardParams& p, const Head& head, const Row& row, const Column& column) {
    return 0.0f;
  }

  static __device__ __forceinline__ float logit(float s, const ForwardParams& p, const Head& head, const Row& row, const Column& column) {
    return fmaf(multiplier(p, head, row, column), s, addend(p, head, row, column));
  }

  static __device__ __forceinline__ bool mask(const ForwardParams& p, const Head& head, const Row& row, const Column& column) {
    return (row.side >= column.kv_idx) & (row.side_2 < column.kv_idx) & (row.remainder == column.remainder);
  }
};
