// Register blocking for a CPU, and the workspace's layout.
#include "compiler/emit/host/shape.h"

#include <algorithm>

#include "compiler/spec/arithmetic.h"
#include "fa/error.h"

namespace fa {

HostShape host_shape(const CheckedSpec& spec, const Plan& plan, const HostCpu& cpu) {
  if (plan.tile_q < 1 || plan.tile_q > 256 || plan.tile_kv < 16 || plan.tile_kv > 1024 ||
      plan.tile_kv % 16 != 0)
    throw InternalError("the host needs tile_q in 1..256 and tile_kv a multiple of 16 in 16..1024, not " +
                        std::to_string(plan.tile_q) + " and " + std::to_string(plan.tile_kv));
  HostShape shape;
  shape.lanes = cpu.lanes;
  shape.tile_q = plan.tile_q;
  shape.tile_kv = plan.tile_kv;
  shape.head_dim = spec.head_dim;
  shape.head_dim_v = spec.head_dim_v;
  // Three vectors across and 8 (4 with 16 registers) kv rows down keep 24 (12) accumulators, three vectors of
  // Q^T and a broadcast of K in registers: more FMAs than two load ports need cycles to feed. Two vectors
  // feed the units almost as well, and win where three would pad the tile more.
  const int vecs = ceil_div(plan.tile_q, cpu.lanes);
  auto padded = [&](int across) { return ceil_div(vecs, across) * across; };
  shape.panel_vecs = vecs < 3 ? vecs : padded(3) <= padded(2) ? 3 : 2;
  shape.amx = cpu.amx && spec.dtype == DType::bf16;
  if (shape.amx) shape.panel_vecs = 2;  // as wide as a block of tiles
  shape.panel = shape.lanes * shape.panel_vecs;
  shape.panels = ceil_div(plan.tile_q, shape.panel);
  shape.dv_vecs = ceil_div(spec.head_dim_v, cpu.lanes);
  shape.dv_padded = shape.dv_vecs * cpu.lanes;
  const bool many = cpu.registers >= 32;
  shape.qk_rows = many ? 8 : 4;
  shape.pv_rows = shape.panel % 6 == 0 ? 6 : 4;
  shape.pv_vecs = many ? 4 : 2;
  shape.copy_k = spec.dtype != DType::f32 && !shape.amx;
  shape.copy_v = (spec.dtype != DType::f32 || spec.head_dim_v % cpu.lanes != 0) && !shape.amx;
  shape.q_rows = ceil_div(spec.head_dim, 32) * 32;
  shape.o_columns = shape.amx ? ceil_div(spec.head_dim_v, 32) * 32 : shape.dv_padded;
  shape.kv_columns = ceil_div(shape.tile_kv, 32) * 32;

  std::size_t at = 0;
  auto place = [&](std::size_t& offset, std::size_t bytes) {
    offset = at;
    at += (bytes + 63) / 64 * 64;
  };
  const std::size_t rows = static_cast<std::size_t>(shape.panels) * shape.panel;
  place(shape.q, shape.amx ? 0 : rows * shape.head_dim * 4);
  place(shape.o, rows * shape.o_columns * 4);
  shape.o_rows = shape.o;
  if (shape.amx) place(shape.o_rows, rows * shape.dv_padded * 4);
  place(shape.row_max, rows * 4);
  place(shape.row_sum, rows * 4);
  place(shape.rescale, static_cast<std::size_t>(shape.panel) * 4);
  const int past = std::max(shape.qk_rows, shape.kv_columns - shape.tile_kv);
  place(shape.s, static_cast<std::size_t>(shape.tile_kv + past) * shape.panel * 4);
  place(shape.keep, static_cast<std::size_t>(shape.tile_kv) * shape.panel_vecs * 2);
  place(shape.spans, static_cast<std::size_t>(shape.panel_vecs) * 16);
  place(shape.k, shape.copy_k ? static_cast<std::size_t>(shape.tile_kv) * shape.head_dim * 4 : 0);
  place(shape.v, shape.copy_v ? static_cast<std::size_t>(shape.tile_kv) * shape.dv_padded * 4 : 0);
  if (shape.amx) {
    const auto columns = static_cast<std::size_t>(shape.kv_columns);
    place(shape.q_pairs, rows * shape.q_rows * 2);
    place(shape.k_rows, columns * shape.q_rows * 2);
    place(shape.v_columns, columns * shape.o_columns * 2);
    place(shape.p_pairs, columns * shape.panel * 2);
    place(shape.product, static_cast<std::size_t>(shape.o_columns) * shape.panel * 4);
    place(shape.v_pairs, 16 * 16 * 4);
  }
  shape.bytes = at;
  return shape;
}

std::string describe_products(const HostShape& shape) {
  const std::string how = shape.amx ? "AMX tiles: bf16 times bf16, summed in f32"
                                    : "vectors of " + std::to_string(shape.lanes) + " floats";
  return how + "; panels of " + std::to_string(shape.panel) + " rows";
}

}  // namespace fa
