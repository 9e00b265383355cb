struct Hooks : IdentityHooks {
  static constexpr bool kHasMask = true;
  static constexpr bool kRowIsCheap = false;
  static constexpr bool kMaskIsHeavy = true;
  static constexpr int kMaskSize = 13;
  static constexpr int kRowSize = 152;

  struct Head {
    int b;
    int h;
    int side;
    int bounded;
    int product;
    int quotient;
  };

  static __device__ __forceinline__ Head head(const CallParams& p, int b, int h) {
    const int bounded = max(wrap_add(p.params[0].i32, p.params[0].i32 < 0 ? 1 : 0) >> 1, -524287);
    const int bounded_2 = min(bounded, 524287);
    return {b, h, -bounded_2, bounded_2, wrap_mul(h, 1000003), (Sequence::kv_len(p, b) + 63) >> 6};
  }

  struct Row {
    int q_idx;
    float q_idx_f;
    bool holds;
    int side;
    int side_2;
    int difference;
    int difference_2;
    int difference_3;
  };

  static __device__ __forceinline__ Row row(const CallParams& p, const Head& head, int q_idx, float q_idx_f) {
    const int quotient = q_idx >> 6;
    const int sum = wrap_add(quotient * 3, head.product);
    const int product = wrap_mul(((sum >> 16) & 65535) ^ sum, -2048144789);
    const int product_2 = wrap_mul(((product >> 13) & 524287) ^ product, -1028477387);
    const int bits = ((product_2 >> 16) & 65535) ^ product_2;
    const int shifted = shift_left(unsigned_div((bits >> 1) & 2147483647, head.quotient), 1);
    const int difference = wrap_sub(bits, wrap_mul(shifted, head.quotient));
    const int sum_2 = wrap_add(shifted, static_cast<int>(!(difference >= 0 && difference < head.quotient)));
    const int sum_3 = wrap_add(sum, 1);
    const int product_3 = wrap_mul(((sum_3 >> 16) & 65535) ^ sum_3, -2048144789);
    const int product_4 = wrap_mul(((product_3 >> 13) & 524287) ^ product_3, -1028477387);
    const int bits_2 = ((product_4 >> 16) & 65535) ^ product_4;
    const int shifted_2 = shift_left(unsigned_div((bits_2 >> 1) & 2147483647, head.quotient), 1);
    const int difference_2 = wrap_sub(bits_2, wrap_mul(shifted_2, head.quotient));
    const int sum_4 = wrap_add(shifted_2, static_cast<int>(!(difference_2 >= 0 && difference_2 < head.quotient)));
    const int sum_5 = wrap_add(sum, 2);
    const int product_5 = wrap_mul(((sum_5 >> 16) & 65535) ^ sum_5, -2048144789);
    const int product_6 = wrap_mul(((product_5 >> 13) & 524287) ^ product_5, -1028477387);
    const int bits_3 = ((product_6 >> 16) & 65535) ^ product_6;
    const int shifted_3 = shift_left(unsigned_div((bits_3 >> 1) & 2147483647, head.quotient), 1);
    const int difference_3 = wrap_sub(bits_3, wrap_mul(shifted_3, head.quotient));
    const int sum_6 = wrap_add(shifted_3, static_cast<int>(!(difference_3 >= 0 && difference_3 < head.quotient)));
    return {q_idx, q_idx_f, q_idx < 64, head.side + quotient, head.bounded + quotient, wrap_sub(bits, wrap_mul(sum_2, head.quotient)), wrap_sub(bits_2, wrap_mul(sum_4, head.quotient)), wrap_sub(bits_3, wrap_mul(sum_6, head.quotient))};
  }

  struct Column {
    int kv_idx;
    float kv_idx_f;
    bool holds;
    int quotient;
  };

  static __device__ __forceinline__ Column column(const CallParams& p, const Head& head, int kv_idx, float kv_idx_f) {
    return {kv_idx, kv_idx_f, kv_idx < 64, kv_idx >> 6};
  }

  static __device__ __forceinline__ bool mask(const CallParams& p, const Head& head, const Row& row, const Column& column) {
    const bool holds = !(row.holds | column.holds) & ((row.side > column.quotient) | (column.quotient > row.side_2));
    const bool holds_2 = holds & (row.difference != column.quotient) & (row.difference_2 != column.quotient);
    return !holds_2 | (row.difference_3 == column.quotient);
  }
};
