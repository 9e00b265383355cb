// Register blocking and the workspace's layout.
#include "compiler/emit/host/shape.h"

#include <utility>
#include <vector>

#include "fa/error.h"
#include "tests/catch.h"

using namespace fa;

namespace {

HostShape shape_of(int head_dim, int head_dim_v, DType dtype, int tile_q, int tile_kv, const HostCpu& cpu) {
  CheckedSpec spec;
  spec.head_dim = head_dim, spec.head_dim_v = head_dim_v, spec.dtype = dtype;
  return host_shape(spec, {.family = Family::host, .tile_q = tile_q, .tile_kv = tile_kv, .warps = 1}, cpu);
}

constexpr const char* kAmx = "+avx512f,+avx512bw,+avx512dq,+avx512vl,+amx-bf16,+amx-tile";

constexpr const char* kPairs = "+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512bf16";

bool has_tiles(const HostShape& shape) { return shape.product == HostProduct::tiles; }

HostCpu cpu_with(const char* features, const char* triple = "x86_64-pc-linux-gnu") {
  return HostCpu::from_features(triple, "some", features);
}

}  // namespace

TEST_CASE("host cpu: lanes and registers from features") {
  CHECK(cpu_with("+sse2").lanes == 4);
  CHECK(cpu_with("+avx2,+fma").lanes == 8);
  CHECK(cpu_with("+avx2,-fma").lanes == 4);
  CHECK(cpu_with("+avx2,+fma,+avx512f").lanes == 8);  // too little of AVX-512
  const HostCpu wide = cpu_with("+avx2,+fma,+avx512f,+avx512bw,+avx512dq,+avx512vl");
  CHECK(wide.lanes == 16);
  CHECK(wide.registers == 32);
  CHECK(cpu_with("+neon", "aarch64-linux-gnu").registers == 32);
  CHECK_FALSE(wide.amx);
  CHECK(cpu_with(kAmx).amx);
  CHECK_FALSE(cpu_with("+avx512f,+avx512bw,+avx512dq,+avx512vl,+amx-bf16,-amx-tile").amx);  // not permitted
  CHECK_FALSE(cpu_with("+avx2,+fma,+amx-bf16,+amx-tile").amx);
  CHECK_FALSE(wide.bf16_pairs);
  CHECK(cpu_with(kPairs).bf16_pairs);
  CHECK_FALSE(cpu_with("+avx2,+fma,+avx512f,+avx512bf16").bf16_pairs);  // too little of AVX-512
}

TEST_CASE("host shape: bf16 is multiplied by tiles where there are some, other types by vectors") {
  CHECK_FALSE(has_tiles(shape_of(64, 64, DType::f32, 96, 64, cpu_with(kAmx))));
  CHECK_FALSE(has_tiles(shape_of(64, 64, DType::f16, 96, 64, cpu_with(kAmx))));
  for (const int head_dim : {1, 16, 64, 200})
    for (const int tile_q : {1, 96, 100})
      for (const int tile_kv : {16, 48, 64}) {
        const HostShape shape =
            shape_of(head_dim, 257 - head_dim, DType::bf16, tile_q, tile_kv, cpu_with(kAmx));
        REQUIRE(has_tiles(shape));
        CHECK(shape.panel == 32);
        for (const int whole : {shape.q_rows, shape.o_columns, shape.kv_columns}) CHECK(whole % 32 == 0);
        CHECK(shape.q_rows >= head_dim);
        CHECK(shape.o_columns >= shape.dv_padded);
        CHECK(shape.kv_columns >= tile_kv);
        const auto bytes = [](int a, int b, int size) {
          return static_cast<std::size_t>(a) * static_cast<std::size_t>(b * size);
        };
        const int rows = shape.panels * shape.panel;
        const std::pair<std::size_t, std::size_t> buffers[] = {
            {shape.o, bytes(rows, shape.o_columns, 4)},
            {shape.o_rows, bytes(rows, shape.dv_padded, 4)},
            {shape.s, bytes(shape.kv_columns, shape.panel, 4)},
            {shape.q_pairs, bytes(rows, shape.q_rows, 2)},
            {shape.k_tiles, bytes(shape.kv_columns, shape.q_rows, 2)},
            {shape.v_tiles, bytes(shape.kv_columns, shape.o_columns, 2)},
            {shape.p_pairs, bytes(shape.kv_columns, shape.panel, 2)},
            {shape.v_pairs, bytes(16, 16, 4)}};
        for (const auto& [offset, size] : buffers) {
          CHECK(offset % 64 == 0);
          CHECK(offset + size <= shape.bytes);
          for (const auto& [other, _] : buffers) CHECK((other <= offset || other >= offset + size));
        }
      }
}

TEST_CASE("host shape: bf16 is multiplied by pairs where a CPU has these and no tiles") {
  CHECK(product_of(DType::bf16, cpu_with(kPairs)) == HostProduct::pairs);
  CHECK(product_of(DType::f16, cpu_with(kPairs)) == HostProduct::floats);
  CHECK(product_of(DType::f32, cpu_with(kPairs)) == HostProduct::floats);
  HostCpu both = cpu_with(kPairs);
  both.amx = true;
  CHECK(product_of(DType::bf16, both) == HostProduct::tiles);

  const HostShape floats = shape_of(72, 40, DType::bf16, 96, 48, cpu_with("+avx2,+fma"));
  CHECK(floats.copy_k);
  CHECK(floats.q_words == 72);
  const HostShape shape = shape_of(72, 40, DType::bf16, 96, 48, cpu_with(kPairs));
  CHECK_FALSE(shape.copy_k);  // words of K lie in its rows
  CHECK(shape.copy_v);
  CHECK(shape.q_words == 36);
  CHECK(shape.o - shape.q >= std::size_t{96} * 36 * 4);
  CHECK(shape.p_pairs - shape.v >= std::size_t{24} * 48 * 4);
  CHECK(shape.bytes - shape.p_pairs >= std::size_t{24} * 48 * 4);
  CHECK(shape.o_rows == shape.o);
}

TEST_CASE("host shape: panels cover the tile with little padding") {
  const HostCpu cpu = cpu_with("+avx2,+fma,+avx512f,+avx512bw,+avx512dq,+avx512vl");
  CHECK(shape_of(64, 64, DType::f32, 96, 64, cpu).panel == 48);
  CHECK(shape_of(64, 64, DType::f32, 64, 64, cpu).panel == 32);  // 48 would pad to 96
  CHECK(shape_of(64, 64, DType::f32, 1, 64, cpu).panel == 16);
  for (int tile_q = 1; tile_q <= 256; ++tile_q) {
    const HostShape shape = shape_of(64, 64, DType::f32, tile_q, 64, cpu);
    CHECK(shape.panels * shape.panel >= tile_q);
    CHECK((shape.panels - 1) * shape.panel < tile_q);
    CHECK(shape.panel % shape.pv_rows == 0);
  }
}

// The second product looks at two vectors at most to find which kv rows its block of query rows needs.
TEST_CASE("host shape: a block of query rows lies in one vector or in two") {
  for (const char* features : {"+sse2", "+avx2,+fma", "+avx2,+fma,+avx512f,+avx512bw,+avx512dq,+avx512vl"})
    for (int tile_q = 1; tile_q <= 256; ++tile_q) {
      const HostShape shape = shape_of(64, 64, DType::f32, tile_q, 64, cpu_with(features));
      for (int row = 0; row < shape.panel; row += shape.pv_rows)
        CHECK((row + shape.pv_rows - 1) / shape.lanes - row / shape.lanes <= 1);
    }
}

TEST_CASE("host shape: buffers are aligned and do not overlap") {
  for (const char* features : {"+sse2", "+avx2,+fma", "+avx2,+fma,+avx512f,+avx512bw,+avx512dq,+avx512vl"})
    for (const DType dtype : {DType::f32, DType::bf16})
      for (const int head_dim : {1, 64, 200}) {
        const HostShape shape = shape_of(head_dim, 257 - head_dim, dtype, 100, 48, cpu_with(features));
        const std::vector<std::size_t> offsets = {shape.q,       shape.o, shape.row_max, shape.row_sum,
                                                  shape.rescale, shape.s, shape.keep,    shape.spans,
                                                  shape.k,       shape.v, shape.bytes};
        for (std::size_t i = 0; i < offsets.size(); ++i) {
          CHECK(offsets[i] % 64 == 0);
          if (i > 0) CHECK(offsets[i] >= offsets[i - 1]);
        }
        const auto rows = static_cast<std::size_t>(shape.panels * shape.panel);
        CHECK(shape.o - shape.q >= rows * static_cast<std::size_t>(head_dim) * 4);
        CHECK(shape.row_max - shape.o >= rows * static_cast<std::size_t>(shape.dv_padded) * 4);
        CHECK(shape.keep - shape.s >= static_cast<std::size_t>((48 + shape.qk_rows) * shape.panel) * 4);
        CHECK(shape.copy_k == (dtype != DType::f32));
        if (dtype != DType::f32) CHECK(shape.v - shape.k >= static_cast<std::size_t>(48 * head_dim) * 4);
        if (shape.copy_v) CHECK(shape.bytes - shape.v >= static_cast<std::size_t>(48 * shape.dv_padded) * 4);
      }
}

TEST_CASE(
    "host shape: the second product's operands can be read in place only where rows are whole vectors") {
  const HostCpu cpu = cpu_with("+avx2,+fma");
  CHECK_FALSE(shape_of(64, 72, DType::f32, 96, 64, cpu).copy_v);
  CHECK(shape_of(64, 60, DType::f32, 96, 64, cpu).copy_v);
  CHECK(shape_of(64, 60, DType::f32, 96, 64, cpu).dv_padded == 64);
}
