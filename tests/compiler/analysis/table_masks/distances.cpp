// Masks of a distance that keep it now and then: powers of two, squares, a table by distance.
#include "tests/compiler/analysis/table_masks/masks.h"

namespace fa::test {
TableMaskKind masks_of_distances() {
  return {
      "distances that jump",
      0.05,
      {
          {"powers of two", "let d = q_idx - kv_idx\nmask_mod = d >= 0 and (d & (d - 1)) == 0",
           [](Tables&) { return Drawn{}; }},
          {"near, or a power of two",
           "let d = q_idx + (kv_len - q_len) - kv_idx\nmask_mod = d >= 0 and (d < 40 or (d & (d - 1)) == 0)",
           [](Tables&) { return Drawn{}; }},
          {"squares", "let d = q_idx - kv_idx\nmask_mod = d >= 0 and any(i < 30: d == i * i)",
           [](Tables&) { return Drawn{}; }},
          {"a table by distance",
           "tensor keep : bool[4096]\nlet d = q_idx - kv_idx\nmask_mod = d >= 0 and keep[min(d, 4095)]",
           [](Tables& t) { return Drawn{t.runs(1, 4096, 1, 250, [&](int) { return t.pick(4) == 0; })}; }},
          {"a stride by head",
           "tensor stride : i32[num_q_heads]\nlet d = q_idx - kv_idx\n"
           "mask_mod = d >= 0 and (d < 16 or d % max(stride[h], 1) == 0)",
           [](Tables& t) {
             return Drawn{t.each(t.size.num_q_heads, [&](int) { return 100 + t.pick(900); })};
           }},
          {"neighbours on a hypercube", "let x = q_idx ^ kv_idx\nmask_mod = (x & (x - 1)) == 0",
           [](Tables&) { return Drawn{}; }},
      }};
}

}  // namespace fa::test
