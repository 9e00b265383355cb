__device__ __forceinline__ float sink_of(float score, int b, int h, int q_idx, int kv_idx, int batch, int num_q_heads, int num_kv_heads, int group_size, int q_len, int kv_len, float scale, int p_window, const float* t_sinks) {
  const float sinks = __ldg(t_sinks + h);
  return sinks;
}

struct Hooks : IdentityHooks {
  static constexpr bool kHasMask = true;

  struct Head {
    int b;
    int h;
    int side;
  };

  static __device__ __forceinline__ Head head(const CallParams& p, int b, int h) {
    return {b, h, -min(max(p.params[0].i32, -33554431), 33554431)};
  }

  struct Row {
    int q_idx;
    float q_idx_f;
    int side;
  };

  static __device__ __forceinline__ Row row(const CallParams& p, const Head& head, int q_idx, float q_idx_f) {
    return {q_idx, q_idx_f, head.side + q_idx};
  }

  static __device__ __forceinline__ bool mask(const CallParams& p, const Head& head, const Row& row, const Column& column) {
    return (row.q_idx >= column.kv_idx) & (row.side < column.kv_idx);
  }

  static constexpr bool kHasSink = true;

  static __device__ __forceinline__ float sink(const CallParams& p, int b, int h) {
    return 1.44269504f * sink_of(0.0f, b, h, 0, 0, p.batch, p.num_q_heads, p.num_kv_heads, p.group_size, Sequence::q_len(p, b), Sequence::kv_len(p, b), p.scale, p.params[0].i32, static_cast<const float*>(p.tensors[0]));
  }
};
