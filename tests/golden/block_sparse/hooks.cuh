struct Hooks : IdentityHooks {
  static constexpr bool kHasMask = true;
  static constexpr bool kHeadIsCheap = false;
  static constexpr bool kMaskIsHeavy = true;
  static constexpr bool kRowReads = true;
  static constexpr bool kColumnReads = true;
  static constexpr bool kElementReads = true;

  struct Head {
    int b;
    int h;
    const signed char* layout_at;
    int quotient;
  };

  static __device__ __forceinline__ Head head(const CallParams& p, int b, int h) {
    const int quotient = (Sequence::kv_len(p, b) + 127) >> 7;
    const long long stride = static_cast<long long>(quotient) * static_cast<long long>((Sequence::q_len(p, b) + 127) >> 7);
    const signed char* layout_at = static_cast<const signed char*>(p.tensors[0]) + static_cast<long long>(h) * stride;
    return {b, h, layout_at, quotient};
  }

  struct Row {
    int q_idx;
    float q_idx_f;
    const signed char* layout_at;
  };

  static __device__ __forceinline__ Row row(const CallParams& p, const Head& head, int q_idx, float q_idx_f) {
    const long long offset = static_cast<long long>(q_idx >> 7) * static_cast<long long>(head.quotient);
    return {q_idx, q_idx_f, head.layout_at + offset};
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
    const int layout = __ldg(row.layout_at + column.quotient);
    return layout != 0;
  }
};
