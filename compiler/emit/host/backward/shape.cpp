#include "compiler/emit/host/backward/shape.h"

#include "compiler/spec/rounding.h"

namespace fa {

BackwardShape backward_shape(const CheckedSpec& spec, const HostShape& host, const HostCpu& cpu) {
  BackwardShape shape;
  shape.d_vecs = ceil_div(spec.head_dim, host.lanes);
  shape.dv_vecs = ceil_div(spec.head_dim_v, host.lanes);
  shape.d_padded = shape.d_vecs * host.lanes;
  shape.dv_padded = shape.dv_vecs * host.lanes;
  // 24 (12) accumulators, as in the forward pass; 8 (4) rows divide a kv tile.
  shape.rows_down = cpu.registers >= 32 ? 8 : 4;
  shape.most_vecs = 3;
  shape.copy_k = spec.dtype != DType::f32 || shape.d_padded != spec.head_dim;
  shape.copy_v = spec.dtype != DType::f32 || shape.dv_padded != spec.head_dim_v;

  std::size_t at = 0;
  auto place = [&](std::size_t& offset, std::size_t bytes) {
    offset = at;
    at += (bytes + 63) / 64 * 64;
  };
  const std::size_t rows = static_cast<std::size_t>(host.panels) * host.panel;
  const auto tile = static_cast<std::size_t>(host.tile_kv);
  const auto panel = static_cast<std::size_t>(host.panel);
  const auto d = static_cast<std::size_t>(shape.d_padded), dv = static_cast<std::size_t>(shape.dv_padded);
  place(shape.q_columns, rows * static_cast<std::size_t>(spec.head_dim) * 4);
  place(shape.do_columns, rows * static_cast<std::size_t>(spec.head_dim_v) * 4);
  place(shape.q_rows, rows * d * 4);
  place(shape.do_rows, rows * dv * 4);
  place(shape.dq, rows * d * 4);
  place(shape.shift, rows * 4);
  place(shape.shift_rest, rows * 4);
  place(shape.d_sum, rows * 4);
  const std::size_t scores = (tile + static_cast<std::size_t>(host.qk_rows)) * panel * 4;
  place(shape.s, scores);
  place(shape.dp, scores);
  place(shape.kept_scale, spec.has_dropout ? tile * panel * 4 : 0);
  place(shape.keep, tile * static_cast<std::size_t>(host.panel_vecs) * 2);
  place(shape.spans, static_cast<std::size_t>(host.panel_vecs) * 16);
  place(shape.k, shape.copy_k ? tile * d * 4 : 0);
  place(shape.v, shape.copy_v ? tile * dv * 4 : 0);
  shape.bytes = at;
  return shape;
}

}  // namespace fa
