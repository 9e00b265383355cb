// Kernels whose CTAs take one item after the other: an architecture's placement.cuh alone makes them. Needs
// NVRTC, no GPU.
#include <algorithm>

#include "compiler/compile.h"
#include "runtime/build/build.h"
#include "runtime/build/nvrtc.h"
#include "tests/catch.h"
#include "tests/numeric/cases.h"
#include "tests/skip.h"

using namespace fa;

namespace {

constexpr const char* kPersistent = R"(#pragma once
#include "common/mma_place.cuh"
#include "common/placement.cuh"

namespace fa {

struct PersistentItem {
  static constexpr bool kDoesMany = true;
  int number;

  __device__ __forceinline__ void first(const ForwardParams&) { number = blockIdx.x; }
  __device__ __forceinline__ bool exists(const ForwardParams& p, int tile_q) const {
    return number < (q_len(p) + tile_q - 1) / tile_q * heads(p);
  }
  __device__ __forceinline__ void next(const ForwardParams&) { number += gridDim.x; }

  __device__ __forceinline__ BatchHead head(const ForwardParams& p) const {
    return {number % heads(p) / p.call.num_q_heads, number % heads(p) % p.call.num_q_heads};
  }
  template <bool kMayBeKept>
  __device__ __forceinline__ int q_tile(const ForwardParams& p, int tile_q) const {
    return (q_len(p) + tile_q - 1) / tile_q - 1 - number / heads(p);
  }
  __device__ __forceinline__ int q_len(const ForwardParams& p) const { return Sequence::q_len(p.call, 0); }
  __device__ __forceinline__ int kv_len(const ForwardParams& p) const { return Sequence::kv_len(p.call, 0); }

 private:
  static __device__ __forceinline__ int heads(const ForwardParams& p) { return p.call.num_q_heads * p.call.batch; }
};

using WorkItem = PersistentItem;
template <int kRowsPerWarp, int kTileKv>
using WarpPlace = MmaPlace<kRowsPerWarp, kTileKv>;

}  // namespace fa
)";

}  // namespace

TEST_CASE("a persistent kernel takes another placement.cuh and nothing else", "[nvrtc]") {
  if (fa::tests::skip_without_nvrtc()) return;
  const Spec spec = tools::load_spec("alibi").with_dtype(DType::f16).with_head_dim(64);
  Source source = *compile_front_end(spec.checked(), find_target("h200")).source;
  const auto header = std::find_if(source.headers.begin(), source.headers.end(),
                                   [](const SourceHeader& of) { return of.path == "sm80/placement.cuh"; });
  REQUIRE(header != source.headers.end());
  header->text = kPersistent;
  CHECK_FALSE(build_source(source).cubin.empty());
}
