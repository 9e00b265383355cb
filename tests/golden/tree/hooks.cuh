struct Hooks : IdentityHooks {
  static constexpr bool kHasMask = true;
  static constexpr bool kRowIsCheap = false;
  static constexpr bool kMaskIsHeavy = true;
  static constexpr bool kRowReads = true;
  static constexpr int kMaskSize = 24;
  static constexpr int kRowSize = 85;

  struct Head {
    int b;
    int h;
    int difference;
  };

  static __device__ __forceinline__ Head head(const CallParams& p, int b, int h) {
    return {b, h, Sequence::kv_len(p, b) - Sequence::q_len(p, b)};
  }

  struct Row {
    int q_idx;
    float q_idx_f;
    int side;
    int side_2;
    int side_3;
    int side_4;
    int side_5;
    int side_6;
    int side_7;
    int side_8;
    int side_9;
    int side_10;
    int side_11;
    int side_12;
  };

  static __device__ __forceinline__ Row row(const CallParams& p, const Head& head, int q_idx, float q_idx_f) {
    const int* ancestors_at = static_cast<const int*>(p.tensors[0]) + q_idx * 12;
    const int ancestors = __ldg(ancestors_at);
    const int ancestors_2 = __ldg(ancestors_at + 1);
    const int ancestors_3 = __ldg(ancestors_at + 2);
    const int ancestors_4 = __ldg(ancestors_at + 3);
    const int ancestors_5 = __ldg(ancestors_at + 4);
    const int ancestors_6 = __ldg(ancestors_at + 5);
    const int ancestors_7 = __ldg(ancestors_at + 6);
    const int ancestors_8 = __ldg(ancestors_at + 7);
    const int ancestors_9 = __ldg(ancestors_at + 8);
    const int ancestors_10 = __ldg(ancestors_at + 9);
    const int ancestors_11 = __ldg(ancestors_at + 10);
    const int ancestors_12 = __ldg(ancestors_at + 11);
    return {q_idx, q_idx_f, head.difference + min(max(ancestors, -50331648), 50331648), head.difference + min(max(ancestors_2, -50331648), 50331648), head.difference + min(max(ancestors_3, -50331648), 50331648), head.difference + min(max(ancestors_4, -50331648), 50331648), head.difference + min(max(ancestors_5, -50331648), 50331648), head.difference + min(max(ancestors_6, -50331648), 50331648), head.difference + min(max(ancestors_7, -50331648), 50331648), head.difference + min(max(ancestors_8, -50331648), 50331648), head.difference + min(max(ancestors_9, -50331648), 50331648), head.difference + min(max(ancestors_10, -50331648), 50331648), head.difference + min(max(ancestors_11, -50331648), 50331648), head.difference + min(max(ancestors_12, -50331648), 50331648)};
  }

  struct Column {
    int kv_idx;
    float kv_idx_f;
    bool holds;
  };

  static __device__ __forceinline__ Column column(const CallParams& p, const Head& head, int kv_idx, float kv_idx_f) {
    return {kv_idx, kv_idx_f, kv_idx - head.difference < 0};
  }

  static __device__ __forceinline__ bool mask(const CallParams& p, const Head& head, const Row& row, const Column& column) {
    const bool holds = (row.side == column.kv_idx) | (row.side_2 == column.kv_idx) | (row.side_3 == column.kv_idx) | (row.side_4 == column.kv_idx);
    const bool holds_2 = (row.side_5 == column.kv_idx) | (row.side_6 == column.kv_idx) | (row.side_7 == column.kv_idx) | (row.side_8 == column.kv_idx);
    const bool holds_3 = (row.side_9 == column.kv_idx) | (row.side_10 == column.kv_idx) | (row.side_11 == column.kv_idx) | (row.side_12 == column.kv_idx);
    return column.holds | holds | holds_2 | holds_3;
  }
};
