struct Hooks {
  static constexpr ScoreForm kScoreForm = ScoreForm::identity;
  static constexpr bool kHasMask = true;
  static constexpr bool kMultiplierIsUniform = true;
  static constexpr bool kAddendIsZero = true;
  static constexpr bool kHeadIsCheap = true;
  static constexpr bool kRowIsCheap = true;
  static constexpr bool kMaskIsHeavy = false;
  static constexpr bool kAddendIsLinear = false;
  static constexpr bool kAddendIsRelative = false;
  static constexpr bool kMaskIsRelative = false;
  static constexpr bool kRowReads = false;
  static constexpr bool kColumnReads = false;

  struct Head {
    int b;
    int h;
    int side;
  };

  struct Row {
    int q_idx;
    float q_idx_f;
    int side;
  };

  struct Column {
    int kv_idx;
    float kv_idx_f;
  };

  static __device__ __forceinline__ Head head(const ForwardParams& p, int b, int h) {
    return {b, h, p.kv_len - p.q_len};
  }

  static __device__ __forceinline__ Row row(const ForwardParams& p, const Head& head, int q_idx, float q_idx_f) {
    return {q_idx, q_idx_f, head.side + q_idx};
  }

  static __device__ __forceinline__ Column column(const ForwardParams& p, const Head& head, int kv_idx, float kv_idx_f) {
    return {kv_idx, kv_idx_f};
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
    return row.side >= column.kv_idx;
  }
};
