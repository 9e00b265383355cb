// FlashAttention, algorithm 1, the last pass: each row's sum of P V over its sum of probabilities, as elements of o, and
// lse. One CTA per (q tile, q head, batch), whose threads hold the rows as those of the pass before did.
#pragma once

#include "common/flash1/kept_rows.cuh"

namespace fa {

template <class Config, class Hooks>
struct Flash1Outputs : KeptRows<Config, Hooks> {
  using Rows = KeptRows<Config, Hooks>;
  using Rows::item;
  using Rows::softmax;
  using typename Rows::OTile;
  using typename Rows::Place;
  using typename Rows::Product;

  static constexpr int kSharedBytes = Product::kStagesOutput ? OTile::kBytes : 0;

  static __device__ __forceinline__ void run(const BaselineParams& params) {
    Flash1Outputs outputs;
    outputs.run_tile(params);
  }

 private:
  __device__ __forceinline__ void run_tile(const BaselineParams& baseline) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const ForwardParams& params = baseline.forward;
    item.only();
    const int kv_len = item.kv_len(params);
    if (kv_len == 0) {
      this->start_rows();  // nothing was stored
    } else {
      this->load_rows(baseline);
    }
    if constexpr (Hooks::kHasRowAddend) this->add_row_addends(params, softmax);
    if constexpr (Hooks::kHasSink) {
      const auto [b, h] = item.head(params);
      this->add_sink(Hooks::sink(params.call, b, h));
    }
    const bool met_nan = Product::kLosesInfinities && this->meets_nan();
    this->store(params, item, shared);
    if constexpr (Product::kLosesInfinities) {
      if (__any_sync(0xffffffffu, met_nan))
        OddOutputs<Config, Hooks>::restore(
            params, item, this->first_row(params) + static_cast<int>(Place::first_row_of_warp()));
    }
  }
};

}  // namespace fa
