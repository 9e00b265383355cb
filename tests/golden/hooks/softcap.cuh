struct Hooks {
  static constexpr ScoreForm kScoreForm = ScoreForm::general;
  static constexpr bool kHasMask = false;
  static constexpr bool kMultiplierIsUniform = false;
  static constexpr bool kAddendIsZero = false;
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
    float cap_log2;
    float product;
  };

  struct Row {
    int q_idx;
    float q_idx_f;
  };

  struct Column {
    int kv_idx;
    float kv_idx_f;
  };

  static __device__ __forceinline__ Head head(const ForwardParams& p, int b, int h) {
    return {b, h, p.params[0].f32 * 1.442695f, 1.0f / p.params[0].f32 * p.scale};
  }

  static __device__ __forceinline__ Row row(const ForwardParams& p, const Head& head, int q_idx, float q_idx_f) {
    return {q_idx, q_idx_f};
  }

  static __device__ __forceinline__ Column column(const ForwardParams& p, const Head& head, int kv_idx, float kv_idx_f) {
    return {kv_idx, kv_idx_f};
  }

  static __device__ __forceinline__ float logit(float s, const ForwardParams& p, const Head& head, const Row& row, const Column& column) {
    return head.cap_log2 * fast_tanh(s * head.product);
  }

  static __device__ __forceinline__ bool mask(const ForwardParams& p, const Head& head, const Row& row, const Column& column) {
    return true;
  }
};
