struct Hooks {
  static constexpr ScoreForm kScoreForm = ScoreForm::affine;
  static constexpr bool kHasMask = true;
  static constexpr bool kMultiplierIsUniform = true;
  static constexpr bool kAddendIsZero = false;
  static constexpr bool kHeadIsCheap = true;
  static constexpr bool kRowIsCheap = true;
  static constexpr bool kMaskIsHeavy = false;
  static constexpr bool kAddendIsLinear = true;
  static constexpr bool kAddendIsRelative = false;
  static constexpr bool kMaskIsRelative = false;
  static constexpr bool kRowReads = false;
  static constexpr bool kColumnReads = false;

  struct Head {
    int b;
    int h;
    float slopes_log2;
    int difference;
    int side;
  };

  struct Row {
    int q_idx;
    float q_idx_f;
    float sum_f;
    int sum;
    int side;
  };

  struct Column {
    int kv_idx;
    float kv_idx_f;
  };

  static __device__ __forceinline__ Head head(const ForwardParams& p, int b, int h) {
    const float slopes = __ldg(static_cast<const float*>(p.tensors[0]) + h);
    const int difference = p.kv_len - p.q_len;
    return {b, h, slopes * 1.442695f, difference, difference - min(max(p.params[0].i32, -67108863), 67108863)};
  }

  static __device__ __forceinline__ Row row(const ForwardParams& p, const Head& head, int q_idx, float q_idx_f) {
    const int sum = q_idx + head.difference;
    return {q_idx, q_idx_f, static_cast<float>(sum), sum, head.side + q_idx};
  }

  static __device__ __forceinline__ Column column(const ForwardParams& p, const Head& head, int kv_idx, float kv_idx_f) {
    return {kv_idx, kv_idx_f};
  }

  static __device__ __forceinline__ float multiplier(const ForwardParams& p, const Head& head, const Row& row, const Column& column) {
    return p.scale_log2;
  }

  static __device__ __forceinline__ float addend(const ForwardParams& p, const Head& head, const Row& row, const Column& column) {
    return -(head.slopes_log2 * (row.sum_f - column.kv_idx_f));
  }

  static __device__ __forceinline__ float logit(float s, const ForwardParams& p, const Head& head, const Row& row, const Column& column) {
    return fmaf(multiplier(p, head, row, column), s, addend(p, head, row, column));
  }

  static __device__ __forceinline__ float addend_slope(const ForwardParams& p, const Head& head) {
    return head.slopes_log2;
  }

  static __device__ __forceinline__ bool mask(const ForwardParams& p, const Head& head, const Row& row, const Column& column) {
    return (row.sum >= column.kv_idx) & (row.side < column.kv_idx);
  }
};
