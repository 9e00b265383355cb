// How a backward call is cut into items, and which of them share the sums of a captured gradient.
#include "runtime/host/backward.h"

#include "tests/catch.h"

using namespace fa;

namespace {

struct Asked {
  HostBackwardKernel kernel;
  BackwardCall call;
  float gradient = 0;

  Asked(int batch, int q_heads, int kv_heads, int q_len, int kv_len, std::uint32_t traits,
        std::int64_t elements) {
    kernel.tiles.info.tile_q = 96;
    kernel.tiles.info.tile_kv = 64;
    kernel.info.d_columns = 64;
    kernel.info.dv_columns = 32;
    kernel.info.traits[kMaxParams] = kGradientIsWanted | traits;
    CallParams& size = call.params.forward.call;
    size.batch = batch;
    size.num_q_heads = q_heads;
    size.num_kv_heads = kv_heads;
    size.group_size = q_heads / kv_heads;
    size.q_len = q_len;
    size.kv_len = kv_len;
    call.gradients[kMaxParams] = &gradient;
    call.params.elements[kMaxParams] = elements;
  }
};

constexpr std::uint32_t kPair = kGradientOfHead | kGradientOfRow | kGradientIsOnce;  // [h, q_idx, kv_idx]

}  // namespace

TEST_CASE("a backward call has items enough, and parts of at least 512 rows", "[backward]") {
  const Asked many(4, 16, 8, 4096, 1000, 0, 1), few(1, 2, 1, 4096, 1000, 0, 1),
      small(1, 2, 1, 511, 1000, 0, 1);
  const HostBackwardLayout of_many(many.kernel, many.call), of_few(few.kernel, few.call),
      of_small(small.kernel, small.call);
  CHECK(of_many.parts() == 1);
  CHECK(of_many.items() == 32);
  CHECK(of_few.parts() == 16);  // of 8192 rows
  CHECK(of_few.items() == 16);
  CHECK(of_few.workspace_bytes() >= 16 * of_few.d_kv_floats() * sizeof(float));
  CHECK(of_small.parts() == 1);
  CHECK(of_few.d_kv_floats() == 1000 * (64 + 32));
}

TEST_CASE("items that meet in an element have sums of their own", "[backward]") {
  const auto sums = [](const Asked& asked) {
    return HostBackwardLayout(asked.kernel, asked.call).sums(kMaxParams);
  };
  CHECK(sums(Asked(4, 16, 8, 100, 100, 0, 10)).copies == 4 * 8);
  CHECK(sums(Asked(4, 16, 8, 100, 100, kGradientOfHead, 10)).copies == 4);
  CHECK(sums(Asked(4, 16, 8, 100, 100, kGradientOfHead | kGradientOfBatch, 10)).copies == 1);
  CHECK(sums(Asked(1, 2, 1, 4096, 100, kGradientOfHead, 10)).copies == 16);
  CHECK(sums(Asked(1, 2, 1, 4096, 100, kGradientOfRow, 10)).copies == 16);  // parts may be of two heads
  CHECK(sums(Asked(1, 1, 1, 4096, 100, kGradientOfRow, 10)).copies == 1);

  // An element of one writer is stored; for several batch entries there are sums.
  CHECK(sums(Asked(1, 4, 4, 100, 100, kPair, 40000)).is_stored);
  CHECK_FALSE(sums(Asked(2, 4, 4, 100, 100, kPair, 40000)).is_stored);
  CHECK(sums(Asked(2, 4, 4, 100, 100, kPair, 40000)).copies == 2);
  CHECK_FALSE(sums(Asked(1, 4, 4, 100, 100, kGradientOfRow | kGradientIsOnce, 10000)).is_stored);
}

TEST_CASE("large sums are not kept for each batch entry", "[backward]") {
  const Asked large(16, 8, 8, 2048, 2048, kPair, 8 * 2048 * 2048);
  const HostBackwardLayout layout(large.kernel, large.call);
  CHECK(layout.takes_all_batches());
  CHECK(layout.sums(kMaxParams).copies == 1);
  CHECK_FALSE(layout.sums(kMaxParams).is_stored);
  CHECK(layout.items() == 8 * 4);
}
