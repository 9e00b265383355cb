struct Hooks : IdentityHooks {
  using Score = GeneralScores;

  struct Head {
    int b;
    int h;
    float cap_log2;
    float product;
  };

  static __device__ __forceinline__ Head head(const CallParams& p, int b, int h) {
    return {b, h, p.params[0].f32 * 1.442695f, 1.0f / p.params[0].f32 * p.scale};
  }

  static __device__ __forceinline__ float logit(float s, const CallParams& p, const Head& head, const Row& row, const Column& column) {
    return head.cap_log2 * fast_tanh(s * head.product);
  }
};
