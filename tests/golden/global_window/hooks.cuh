struct Hooks : IdentityHooks {
  static constexpr bool kHasMask = true;

  struct Head {
    int b;
    int h;
    int side;
    int side_2;
    int side_3;
  };

  static __device__ __forceinline__ Head head(const CallParams& p, int b, int h) {
    const int side = Sequence::kv_len(p, b) - Sequence::q_len(p, b);
    const int bounded = min(max(p.params[0].i32, -67108863), 67108863);
    return {b, h, side - bounded, side + bounded, side};
  }

  struct Row {
    int q_idx;
    float q_idx_f;
    int side;
    int side_2;
    bool holds;
  };

  static __device__ __forceinline__ Row row(const CallParams& p, const Head& head, int q_idx, float q_idx_f) {
    return {q_idx, q_idx_f, head.side + q_idx, head.side_2 + q_idx, q_idx + head.side_3 < p.params[1].i32};
  }

  struct Column {
    int kv_idx;
    float kv_idx_f;
    bool holds;
  };

  static __device__ __forceinline__ Column column(const CallParams& p, const Head& head, int kv_idx, float kv_idx_f) {
    return {kv_idx, kv_idx_f, kv_idx < p.params[1].i32};
  }

  static __device__ __forceinline__ bool mask(const CallParams& p, const Head& head, const Row& row, const Column& column) {
    const bool holds = ((row.side <= column.kv_idx) & (column.kv_idx <= row.side_2)) | column.holds;
    return holds | row.holds;
  }
};
