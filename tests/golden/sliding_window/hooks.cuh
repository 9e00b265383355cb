struct Hooks : IdentityHooks {
  static constexpr bool kHasMask = true;

  struct Head {
    int b;
    int h;
    int side;
    int side_2;
  };

  static __device__ __forceinline__ Head head(const CallParams& p, int b, int h) {
    const int side = Sequence::kv_len(p, b) - Sequence::q_len(p, b);
    return {b, h, side, side - min(max(p.params[0].i32, -67108863), 67108863)};
  }

  struct Row {
    int q_idx;
    float q_idx_f;
    int side;
    int side_2;
  };

  static __device__ __forceinline__ Row row(const CallParams& p, const Head& head, int q_idx, float q_idx_f) {
    return {q_idx, q_idx_f, head.side + q_idx, head.side_2 + q_idx};
  }

  static __device__ __forceinline__ bool mask(const CallParams& p, const Head& head, const Row& row, const Column& column) {
    return (row.side >= column.kv_idx) & (row.side_2 < column.kv_idx);
  }
};
