// Masks that look an element up in a small table by two ids: trees, graphs, pages.
#include "tests/compiler/analysis/table_masks/masks.h"

#include <algorithm>

namespace fa::test {
namespace {

/// A forest of `count` nodes: whether the second is the first or above it.
Numbers ancestors(Tables& t, int count) {
  Numbers table(at(count * count));
  std::vector<int> parent(at(count));
  for (int node = 0; node < count; ++node) {
    parent[at(node)] = node == 0 || t.pick(12) == 0 ? -1 : t.between(std::max(0, node - 6), node - 1);
    for (int above = node; above >= 0; above = parent[at(above)]) table[at(node * count + above)] = 1;
  }
  return table;
}

}  // namespace

TableMaskKind masks_of_small_tables() {
  return {
      "dense small tables",
      0.15,
      {
          {"a forest's ancestors",
           "tensor node : i32[max(q_len, kv_len)]\ntensor above : bool[64, 64]\n"
           "mask_mod = above[clamp(node[q_idx], 0, 63), clamp(node[kv_idx], 0, 63)]",
           [](Tables& t) {
             const int length = std::max(t.size.q_len, t.size.kv_len);
             return Drawn{t.runs(1, length, 5, 90, [](int run) { return run % 64; }), ancestors(t, 64)};
           }},
          {"a tree of single tokens, after a context",
           "tensor above : bool[256, 256]\nlet token = kv_idx - (kv_len - 256)\nlet own = q_idx - (q_len - "
           "256)\n"
           "mask_mod = (token < 0 and q_idx >= kv_idx) or (token >= 0 and own >= 0 and above[clamp(own, 0, "
           "255), "
           "clamp(token, 0, 255)])",
           [](Tables& t) { return Drawn{ancestors(t, 256)}; }},
          {"pages of requests",
           "tensor request : i32[q_len]\ntensor owner : i32[ceil_div(kv_len, 16)]\n"
           "mask_mod = owner[kv_idx / 16] == request[q_idx]",
           [](Tables& t) {
             return Drawn{t.runs(1, t.size.q_len, 1, 130, [](int run) { return run; }),
                          t.each((t.size.kv_len + 15) / 16, [&](int) { return t.pick(40); })};
           }},
          {"which segments see which",
           "tensor segment : i32[batch, max(q_len, kv_len)]\ntensor sees : bool[32, 32]\n"
           "mask_mod = sees[clamp(segment[b, q_idx], 0, 31), clamp(segment[b, kv_idx], 0, 31)] and q_idx >= "
           "kv_idx",
           [](Tables& t) {
             const int length = std::max(t.size.q_len, t.size.kv_len);
             return Drawn{t.runs(t.size.batch, length, 3, 80, [&](int) { return t.pick(32); }),
                          t.each(32 * 32, [&](int) { return t.pick(12) == 0; })};
           }},
          {"ancestors as bits of words",
           "tensor words : i32[q_len, 8]\nlet token = kv_idx - (kv_len - 256)\n"
           "mask_mod = token < 0 or (words[q_idx, clamp(token, 0, 255) / 32] >> (clamp(token, 0, 255) % 32) "
           "& 1) == 1",
           [](Tables& t) {
             const Numbers table = ancestors(t, 256);
             Numbers words;
             for (int row = 0; row < t.size.q_len; ++row)
               for (int word = 0; word < 8; ++word) {
                 std::uint32_t bits = 0;
                 for (int bit = 0; bit < 32; ++bit)
                   if (table[at(row * 256 / t.size.q_len * 256 + word * 32 + bit)] != 0) bits |= 1u << bit;
                 words.push_back(static_cast<std::int32_t>(bits));
               }
             return Drawn{words};
           }},
          {"a graph of clusters",
           "tensor cluster : i32[max(q_len, kv_len)]\ntensor edge : i8[128, 128]\n"
           "mask_mod = edge[clamp(cluster[q_idx], 0, 127), clamp(cluster[kv_idx], 0, 127)] > 0",
           [](Tables& t) {
             const int length = std::max(t.size.q_len, t.size.kv_len);
             return Drawn{t.runs(1, length, 1, 25, [&](int) { return t.pick(128); }),
                          t.each(128 * 128, [&](int) { return t.pick(60) == 0; })};
           }},
      }};
}

}  // namespace fa::test
