struct Hooks : IdentityHooks {
  static constexpr bool kHasMask = true;
  static constexpr bool kMaskIsHeavy = true;

  struct Row {
    int q_idx;
    float q_idx_f;
    int quotient;
  };

  static __device__ __forceinline__ Row row(const CallParams& p, const Head& head, int q_idx, float q_idx_f) {
    return {q_idx, q_idx_f, q_idx >> 7};
  }

  struct Column {
    int kv_idx;
    float kv_idx_f;
    int quotient;
  };

  static __device__ __forceinline__ Column column(const CallParams& p, const Head& head, int kv_idx, float kv_idx_f) {
    return {kv_idx, kv_idx_f, kv_idx >> 7};
  }

  static __device__ __forceinline__ bool mask(const CallParams& p, const Head& head, const Row& row, const Column& column) {
    const int bits = row.quotient ^ column.quotient;
    return (bits & (bits - 1)) == 0;
  }
};
