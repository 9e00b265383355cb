struct Hooks : IdentityHooks {
  static constexpr bool kHasMask = true;
  static constexpr bool kRowIsCheap = false;
  static constexpr bool kRowReads = true;
  static constexpr bool kColumnReads = true;

  struct Head {
    int b;
    int h;
    const int* document_id_at;
    int difference;
  };

  static __device__ __forceinline__ Head head(const CallParams& p, int b, int h) {
    const long long offset = static_cast<long long>(b) * static_cast<long long>(Sequence::kv_len(p, b));
    return {b, h, static_cast<const int*>(p.tensors[0]) + offset, Sequence::kv_len(p, b) - Sequence::q_len(p, b)};
  }

  struct Row {
    int q_idx;
    float q_idx_f;
    int document_id;
    int sum;
  };

  static __device__ __forceinline__ Row row(const CallParams& p, const Head& head, int q_idx, float q_idx_f) {
    const int sum = q_idx + head.difference;
    const int document_id = __ldg(head.document_id_at + max(sum, 0));
    return {q_idx, q_idx_f, document_id, sum};
  }

  struct Column {
    int kv_idx;
    float kv_idx_f;
    int document_id;
  };

  static __device__ __forceinline__ Column column(const CallParams& p, const Head& head, int kv_idx, float kv_idx_f) {
    const int document_id = __ldg(head.document_id_at + kv_idx);
    return {kv_idx, kv_idx_f, document_id};
  }

  static __device__ __forceinline__ bool mask(const CallParams& p, const Head& head, const Row& row, const Column& column) {
    return (row.document_id == column.document_id) & (row.sum >= column.kv_idx);
  }
};
