#include "compiler/schedule/host/host_blocking.h"

#include <algorithm>

#include "compiler/spec/rounding.h"

namespace fa {

HostBlocking host_blocking(const CheckedSpec& spec, const Plan& plan, const HostCpu& cpu,
                           HostProduct product) {
  HostBlocking blocking;
  // A word must not reach into the next row. No head_dim of the language is odd.
  if (product == HostProduct::pairs && spec.head_dim % 2 != 0) product = HostProduct::floats;
  blocking.product = product;
  blocking.lanes = cpu.lanes;
  // Three vectors across and 8 (4 with 16 registers) kv rows down keep 24 (12) accumulators, three vectors of
  // Q^T and a broadcast of K in registers: more FMAs than two load ports need cycles to feed. Two vectors
  // feed the units almost as well, and win where three would pad the tile more.
  const int vecs = ceil_div(plan.tile_q, cpu.lanes);
  const auto padded = [&](int across) { return ceil_div(vecs, across) * across; };
  blocking.panel_vecs = vecs < 3 ? vecs : padded(3) <= padded(2) ? 3 : 2;
  if (product == HostProduct::tiles) blocking.panel_vecs = 2;  // as wide as a block of tiles
  blocking.panel = blocking.lanes * blocking.panel_vecs;
  blocking.panels = ceil_div(plan.tile_q, blocking.panel);
  const bool many = cpu.registers >= 32;
  blocking.qk_rows = many ? 8 : 4;
  blocking.pv_rows = blocking.panel % 6 == 0 ? 6 : 4;
  blocking.pv_vecs = many ? 4 : 2;
  // AMX's products leave and fetch O's tiles with each softmax. Up to 64 columns that costs less than scores do which the L1 cache
  // does not hold, unless dropout has them anyway.
  const bool in_parts = product == HostProduct::tiles && spec.head_dim_v <= 64 && !spec.has_dropout;
  blocking.softmax_rows = in_parts ? std::min(plan.tile_kv, 64) : plan.tile_kv;
  return blocking;
}

}  // namespace fa
