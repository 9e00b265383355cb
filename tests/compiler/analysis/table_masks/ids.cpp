// Masks that compare ids from tables, with values that stand for "none", offsets and padding.
#include "tests/compiler/analysis/table_masks/masks.h"

#include <algorithm>

namespace fa::test {
namespace {

/// Ids of spans of 20 to 150 indices, -1 for those in no span.
Numbers spans(Tables& t, int rows, int length) {
  return t.runs(rows, length, 20, 150, [&](int run) { return t.pick(3) == 0 ? run : -1; });
}

Numbers documents(Tables& t, int rows, int length) {
  return t.runs(rows, length, 10, 400, [](int run) { return run; });
}

}  // namespace

TableMaskKind masks_of_ids() {
  return {
      "sentinels, offsets, padding",
      0.05,
      {
          {"causal, or in one image",
           "tensor span : i32[batch, max(q_len, kv_len)]\nlet id = span[b, q_idx]\n"
           "mask_mod = q_idx >= kv_idx or (id == span[b, kv_idx] and id >= 0)",
           [](Tables& t) { return Drawn{spans(t, t.size.batch, std::max(t.size.q_len, t.size.kv_len))}; }},
          {"in one image alone",
           "tensor span : i32[batch, max(q_len, kv_len)]\n"
           "mask_mod = span[b, q_idx] == span[b, kv_idx] and span[b, kv_idx] != -1",
           [](Tables& t) { return Drawn{spans(t, t.size.batch, std::max(t.size.q_len, t.size.kv_len))}; }},
          {"images in any order",
           "tensor span : i32[max(q_len, kv_len)]\n"
           "mask_mod = span[q_idx] == span[kv_idx] and span[q_idx] >= 0",
           [](Tables& t) {
             return Drawn{t.runs(1, std::max(t.size.q_len, t.size.kv_len), 8, 90,
                                 [&](int) { return t.pick(2) == 0 ? t.pick(1000) : -1; })};
           }},
          {"documents and padding, causal",
           "tensor document : i32[batch, max(q_len, kv_len)]\n"
           "let id = document[b, q_idx]\nmask_mod = id == document[b, kv_idx] and id != 0 and q_idx >= "
           "kv_idx",
           [](Tables& t) {
             const int length = std::max(t.size.q_len, t.size.kv_len);
             Numbers ids = t.runs(t.size.batch, length, 10, 300, [](int run) { return run + 1; });
             for (int i = 0; i < t.size.batch * length; ++i)
               if (i % length > length * 2 / 3) ids[at(i)] = 0;
             return Drawn{ids};
           }},
          {"the first keys of each document",
           "tensor document : i32[batch, max(q_len, kv_len)]\ntensor offset : i32[batch, 4096]\n"
           "let id = document[b, kv_idx]\nlet place = kv_idx - offset[b, clamp(id, 0, 4095)]\n"
           "mask_mod = document[b, q_idx] == id and q_idx >= kv_idx and (place < 4 or q_idx - kv_idx < 32)",
           [](Tables& t) {
             const int length = std::max(t.size.q_len, t.size.kv_len);
             Drawn drawn{documents(t, t.size.batch, length), Numbers(at(t.size.batch * 4096))};
             for (int i = t.size.batch * length - 1; i >= 0; --i)
               drawn[1][at(i / length * 4096 + static_cast<int>(drawn[0][at(i)]))] = i % length;
             return drawn;
           }},
          {"cu_seqlens",
           "tensor sequence : i32[q_len]\ntensor cu_seqlens : i32[33]\nlet s = clamp(sequence[q_idx], 0, "
           "31)\n"
           "mask_mod = kv_idx >= cu_seqlens[s] and kv_idx < cu_seqlens[s + 1]",
           [](Tables& t) {
             const Numbers keys = t.cuts(1, 32, t.size.kv_len), queries = t.cuts(1, 32, t.size.q_len);
             Numbers sequence;
             for (int i = 0, s = 0; i < t.size.q_len; ++i) {
               while (s < 31 && i >= queries[at(s + 1)]) ++s;
               sequence.push_back(s);
             }
             return Drawn{sequence, keys};
           }},
          {"left padding",
           "tensor start : i32[batch]\n"
           "mask_mod = kv_idx >= start[b] and q_idx >= start[b] and q_idx >= kv_idx",
           [](Tables& t) { return Drawn{t.each(t.size.batch, [&](int) { return t.pick(t.size.kv_len); })}; }},
          {"right padding",
           "tensor length : i32[batch]\n"
           "mask_mod = q_idx >= kv_idx and kv_idx < length[b] and q_idx < length[b]",
           [](Tables& t) { return Drawn{t.each(t.size.batch, [&](int) { return t.pick(t.size.kv_len); })}; }},
          {"padding on both sides, and a prefix",
           "tensor start : i32[batch]\ntensor length : i32[batch]\ntensor prefix : i32[batch]\n"
           "let inside = kv_idx >= start[b] and kv_idx < start[b] + length[b]\n"
           "mask_mod = inside and (kv_idx < start[b] + prefix[b] or q_idx >= kv_idx) and q_idx >= start[b]",
           [](Tables& t) {
             const auto part = [&](int) { return t.pick(t.size.kv_len / 2); };
             return Drawn{t.each(t.size.batch, part), t.each(t.size.batch, part), t.each(t.size.batch, part)};
           }},
          {"questions seen by their document's answers",
           "tensor document : i32[max(q_len, kv_len)]\ntensor role : i8[max(q_len, kv_len)]\n"
           "mask_mod = document[q_idx] == document[kv_idx]\n"
           "  and (role[kv_idx] == 0 or (role[q_idx] == role[kv_idx] and q_idx >= kv_idx))",
           [](Tables& t) {
             const int length = std::max(t.size.q_len, t.size.kv_len);
             return Drawn{documents(t, 1, length), t.runs(1, length, 10, 70, [&](int) { return t.pick(4); })};
           }},
          {"a window inside documents, by distance from their start",
           "tensor document : i32[batch, max(q_len, kv_len)]\ntensor place : i32[batch, max(q_len, "
           "kv_len)]\n"
           "let d = place[b, q_idx] - place[b, kv_idx]\n"
           "mask_mod = document[b, q_idx] == document[b, kv_idx] and d >= 0 and d < 100",
           [](Tables& t) {
             const int length = std::max(t.size.q_len, t.size.kv_len);
             Drawn drawn{documents(t, t.size.batch, length), {}};
             for (int i = 0, place = 0; i < t.size.batch * length; ++i) {
               const bool is_first = i % length == 0 || drawn[0][at(i)] != drawn[0][at(i - 1)];
               place = is_first ? 0 : place + 1;
               drawn[1].push_back(place);
             }
             return drawn;
           }},
      }};
}

}  // namespace fa::test
