// Register blocking for a CPU, and the workspace's layout.
#include "compiler/emit/host/shape.h"

#include <algorithm>

#include "compiler/spec/rounding.h"
#include "fa/error.h"

namespace fa {

HostShape host_shape(const CheckedSpec& spec, const Plan& plan, const HostCpu& cpu) {
  return host_shape(spec, plan, cpu, product_of(spec.dtype, cpu));
}

HostShape host_shape(const CheckedSpec& spec, const Plan& plan, const HostCpu& cpu, HostProduct product) {
  if (plan.tile_q < 1 || plan.tile_q > 256 || plan.tile_kv < 16 || plan.tile_kv > 1024 ||
      plan.tile_kv % 16 != 0)
    throw InternalError("the host needs tile_q in 1..256 and tile_kv a multiple of 16 in 16..1024, not " +
                        std::to_string(plan.tile_q) + " and " + std::to_string(plan.tile_kv));
  HostShape shape{host_blocking(spec, plan, cpu, product)};
  product = shape.product;
  const bool tiles = product == HostProduct::tiles;
  shape.tile_q = plan.tile_q;
  shape.tile_kv = plan.tile_kv;
  shape.head_dim = spec.head_dim;
  shape.head_dim_v = spec.head_dim_v;
  shape.dv_vecs = ceil_div(spec.head_dim_v, cpu.lanes);
  shape.dv_padded = shape.dv_vecs * cpu.lanes;
  shape.numbers = product == HostProduct::floats ? 1 : 2;
  shape.q_words = spec.head_dim / shape.numbers;
  shape.copy_k = spec.dtype != DType::f32 && product == HostProduct::floats;
  shape.copy_v = (spec.dtype != DType::f32 || spec.head_dim_v % cpu.lanes != 0) && !tiles;
  shape.q_rows = ceil_div(spec.head_dim, 32) * 32;
  shape.o_columns = tiles ? ceil_div(spec.head_dim_v, 32) * 32 : shape.dv_padded;
  shape.kv_columns = ceil_div(shape.tile_kv, 32) * 32;

  std::size_t at = 0;
  auto place = [&](std::size_t& offset, std::size_t bytes) {
    offset = at;
    at += (bytes + 63) / 64 * 64;
  };
  const std::size_t rows = static_cast<std::size_t>(shape.panels) * shape.panel;
  place(shape.q, tiles ? 0 : rows * shape.q_words * 4);
  place(shape.o, rows * shape.o_columns * 4);
  shape.o_rows = shape.o;
  if (tiles) place(shape.o_rows, rows * shape.dv_padded * 4);
  place(shape.row_max, rows * 4);
  place(shape.row_sum, rows * 4);
  place(shape.rescale, static_cast<std::size_t>(shape.panel) * 4);
  const int past = std::max(shape.qk_rows, shape.kv_columns - shape.tile_kv);
  place(shape.s, static_cast<std::size_t>(shape.tile_kv + past) * shape.panel * 4);
  place(shape.keep, static_cast<std::size_t>(shape.tile_kv) * shape.panel_vecs * 2);
  place(shape.spans, static_cast<std::size_t>(shape.panel_vecs) * 16);
  place(shape.k, shape.copy_k ? static_cast<std::size_t>(shape.tile_kv) * shape.head_dim * 4 : 0);
  const int v_rows = shape.tile_kv / shape.numbers;
  place(shape.v, shape.copy_v ? static_cast<std::size_t>(v_rows) * shape.dv_padded * 4 : 0);
  const auto columns = static_cast<std::size_t>(shape.kv_columns);
  place(shape.p_pairs, product == HostProduct::floats ? 0 : columns * shape.panel * 2);
  if (tiles) {
    place(shape.q_pairs, rows * shape.q_rows * 2);
    place(shape.k_tiles, columns * shape.q_rows * 2);
    place(shape.v_tiles, columns * shape.o_columns * 2);
    place(shape.v_pairs, 16 * 16 * 4);
  }
  shape.bytes = at;
  return shape;
}

std::string describe_products(const HostShape& shape) {
  const auto vectors = [&](const char* of) { return "vectors of " + std::to_string(shape.lanes) + of; };
  const std::string how = shape.product == HostProduct::tiles ? "AMX tiles: bf16 times bf16, summed in f32"
                          : shape.product == HostProduct::pairs
                              ? vectors(" pairs, AVX512_BF16: bf16 times bf16, summed in f32")
                              : vectors(" floats");
  return how + "; panels of " + std::to_string(shape.panel) + " rows";
}

}  // namespace fa
