__device__ __forceinline__ int listed_keys_of(float score, int b, int h, int q_idx, int kv_idx, int batch, int num_q_heads, int num_kv_heads, int group_size, int q_len, int kv_len, float scale, const int* t_ancestors) {
  const int difference = kv_len - q_len;
  const int* ancestors_at = t_ancestors + q_idx * 12;
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
  const int difference_2 = wrap_sub(difference + min(max(ancestors, -50331648), 50331648), kv_idx);
  const int choice = static_cast<unsigned>(difference_2) < static_cast<unsigned>(32) ? shift_left(1, difference_2 & 31) : 0;
  const int difference_3 = wrap_sub(difference + min(max(ancestors_2, -50331648), 50331648), kv_idx);
  const int choice_2 = static_cast<unsigned>(difference_3) < static_cast<unsigned>(32) ? shift_left(1, difference_3 & 31) : 0;
  const int difference_4 = wrap_sub(difference + min(max(ancestors_3, -50331648), 50331648), kv_idx);
  const int choice_3 = static_cast<unsigned>(difference_4) < static_cast<unsigned>(32) ? shift_left(1, difference_4 & 31) : 0;
  const int difference_5 = wrap_sub(difference + min(max(ancestors_4, -50331648), 50331648), kv_idx);
  const int choice_4 = static_cast<unsigned>(difference_5) < static_cast<unsigned>(32) ? shift_left(1, difference_5 & 31) : 0;
  const int difference_6 = wrap_sub(difference + min(max(ancestors_5, -50331648), 50331648), kv_idx);
  const int choice_5 = static_cast<unsigned>(difference_6) < static_cast<unsigned>(32) ? shift_left(1, difference_6 & 31) : 0;
  const int difference_7 = wrap_sub(difference + min(max(ancestors_6, -50331648), 50331648), kv_idx);
  const int choice_6 = static_cast<unsigned>(difference_7) < static_cast<unsigned>(32) ? shift_left(1, difference_7 & 31) : 0;
  const int difference_8 = wrap_sub(difference + min(max(ancestors_7, -50331648), 50331648), kv_idx);
  const int choice_7 = static_cast<unsigned>(difference_8) < static_cast<unsigned>(32) ? shift_left(1, difference_8 & 31) : 0;
  const int bits = (((((choice | choice_2) | choice_3) | choice_4) | choice_5) | choice_6) | choice_7;
  const int difference_9 = wrap_sub(difference + min(max(ancestors_8, -50331648), 50331648), kv_idx);
  const int choice_8 = static_cast<unsigned>(difference_9) < static_cast<unsigned>(32) ? shift_left(1, difference_9 & 31) : 0;
  const int difference_10 = wrap_sub(difference + min(max(ancestors_9, -50331648), 50331648), kv_idx);
  const int choice_9 = static_cast<unsigned>(difference_10) < static_cast<unsigned>(32) ? shift_left(1, difference_10 & 31) : 0;
  const int difference_11 = wrap_sub(difference + min(max(ancestors_10, -50331648), 50331648), kv_idx);
  const int choice_10 = static_cast<unsigned>(difference_11) < static_cast<unsigned>(32) ? shift_left(1, difference_11 & 31) : 0;
  const int difference_12 = wrap_sub(difference + min(max(ancestors_11, -50331648), 50331648), kv_idx);
  const int choice_11 = static_cast<unsigned>(difference_12) < static_cast<unsigned>(32) ? shift_left(1, difference_12 & 31) : 0;
  const int difference_13 = wrap_sub(difference + min(max(ancestors_12, -50331648), 50331648), kv_idx);
  const int choice_12 = static_cast<unsigned>(difference_13) < static_cast<unsigned>(32) ? shift_left(1, difference_13 & 31) : 0;
  return ((((bits | choice_8) | choice_9) | choice_10) | choice_11) | choice_12;
}

struct Hooks : IdentityHooks {
  static constexpr bool kHasMask = true;
  static constexpr bool kListsKeys = true;

  struct Head {
    int b;
    int h;
    int difference;
  };

  static __device__ __forceinline__ Head head(const CallParams& p, int b, int h) {
    return {b, h, Sequence::kv_len(p, b) - Sequence::q_len(p, b)};
  }

  struct Column {
    int kv_idx;
    float kv_idx_f;
    bool holds;
  };

  static __device__ __forceinline__ Column column(const CallParams& p, const Head& head, int kv_idx, float kv_idx_f) {
    return {kv_idx, kv_idx_f, kv_idx - head.difference < 0};
  }

  static __device__ __forceinline__ unsigned listed_keys(const CallParams& p, const Head& head, int q_idx, int first) {
    return listed_keys_of(0.0f, head.b, head.h, q_idx, first, p.batch, p.num_q_heads, p.num_kv_heads, p.group_size, Sequence::q_len(p, head.b), Sequence::kv_len(p, head.b), p.scale, static_cast<const int*>(p.tensors[0]));
  }

  static __device__ __forceinline__ bool mask(const CallParams& p, const Head& head, const Row& row, const Column& column, bool is_listed) {
    return is_listed ? true : column.holds;
  }

  static __device__ __forceinline__ bool mask(const CallParams& p, const Head& head, const Row& row, const Column& column) {
    const bool is_listed = (listed_keys(p, head, row.q_idx, column.kv_idx) & 1u) != 0;
    return mask(p, head, row, column, is_listed);
  }
};
