struct Hooks : IdentityHooks {
  using Score = GeneralScores;
  static constexpr bool kHeadIsCheap = false;
  static constexpr int kScoreSize = 10;

  struct Head {
    int b;
    int h;
    float sharpness;
  };

  static __device__ __forceinline__ Head head(const CallParams& p, int b, int h) {
    const float sharpness = __ldg(static_cast<const float*>(p.tensors[0]) + h);
    return {b, h, sharpness};
  }

  static __device__ __forceinline__ float logit(float s, const CallParams& p, const Head& head, const Row& row, const Column& column) {
    const float scaled_score = s * p.scale;
    const float product = scaled_score * fast_sigmoid(head.sharpness * (scaled_score - p.params[0].f32));
    return product * 1.442695f;
  }
};
