// Masks that keep the blocks that a table lists for each row or block of rows.
#include "tests/compiler/analysis/table_masks/masks.h"

namespace fa::test {
TableMaskKind masks_of_routed_blocks() {
  return {
      "blocks that are routed",
      0.05,
      {
          {"the best eight",
           "tensor best : i32[num_q_heads, ceil_div(q_len, 64), 8]\n"
           "mask_mod = any(i < 8: best[h, q_idx / 64, i] == kv_idx / 64)",
           [](Tables& t) {
             const int blocks = (t.size.q_len + 63) / 64, keys = (t.size.kv_len + 63) / 64;
             return Drawn{t.each(t.size.num_q_heads * blocks * 8, [&](int) { return t.pick(keys + 1) - 1; })};
           }},
          {"the best four of 16, causal",
           "tensor best : i32[batch, ceil_div(q_len, 16), 4]\n"
           "mask_mod = q_idx >= kv_idx and any(i < 4: best[b, q_idx / 16, i] == kv_idx / 16)",
           [](Tables& t) {
             const int blocks = (t.size.q_len + 15) / 16;
             return Drawn{
                 t.each(t.size.batch * blocks * 4, [&](int i) { return t.pick(i / 4 % blocks + 1); })};
           }},
          {"a layout of 32 x 32",
           "tensor layout : bool[num_q_heads, ceil_div(q_len, 32), ceil_div(kv_len, 32)]\n"
           "mask_mod = layout[h, q_idx / 32, kv_idx / 32]",
           [](Tables& t) {
             const int count = t.size.num_q_heads * ((t.size.q_len + 31) / 32) * ((t.size.kv_len + 31) / 32);
             return Drawn{t.each(count, [&](int) { return t.pick(16) == 0; })};
           }},
          {"each row's own blocks",
           "tensor gate : bool[q_len, ceil_div(kv_len, 64)]\n"
           "mask_mod = gate[q_idx, kv_idx / 64] and q_idx >= kv_idx",
           [](Tables& t) {
             const int blocks = (t.size.kv_len + 63) / 64;
             Numbers gate;
             for (int row = 0; row < t.size.q_len; ++row) {
               for (int i = 0; i < blocks; ++i)
                 gate.push_back(row % 100 != 0 ? gate[at((row - 1) * blocks + i)] : t.pick(9) == 0);
             }
             return Drawn{gate};
           }},
          {"the best forty, a long list",
           "tensor best : i32[ceil_div(q_len, 128), 40]\n"
           "mask_mod = any(i < 40: best[q_idx / 128, i] == kv_idx / 16)",
           [](Tables& t) {
             const int blocks = (t.size.q_len + 127) / 128, keys = (t.size.kv_len + 15) / 16;
             return Drawn{t.each(blocks * 40, [&](int) { return t.pick(4) == 0 ? t.pick(keys) : -1; })};
           }},
      }};
}

}  // namespace fa::test
