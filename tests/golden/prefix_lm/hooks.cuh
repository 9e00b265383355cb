struct Hooks : IdentityHooks {
  static constexpr bool kHasMask = true;
  static constexpr bool kHeadIsCheap = false;

  struct Head {
    int b;
    int h;
    int prefix_len;
    int side;
  };

  static __device__ __forceinline__ Head head(const CallParams& p, int b, int h) {
    const int prefix_len = __ldg(static_cast<const int*>(p.tensors[0]) + b);
    return {b, h, prefix_len, Sequence::kv_len(p, b) - Sequence::q_len(p, b)};
  }

  struct Row {
    int q_idx;
    float q_idx_f;
    int side;
  };

  static __device__ __forceinline__ Row row(const CallParams& p, const Head& head, int q_idx, float q_idx_f) {
    return {q_idx, q_idx_f, head.side + q_idx};
  }

  struct Column {
    int kv_idx;
    float kv_idx_f;
    bool holds;
  };

  static __device__ __forceinline__ Column column(const CallParams& p, const Head& head, int kv_idx, float kv_idx_f) {
    return {kv_idx, kv_idx_f, kv_idx < head.prefix_len};
  }

  static __device__ __forceinline__ bool mask(const CallParams& p, const Head& head, const Row& row, const Column& column) {
    return column.holds | (row.side >= column.kv_idx);
  }
};
