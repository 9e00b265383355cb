// Masks of intervals whose ends come from tables.
#include "tests/compiler/analysis/table_masks/masks.h"

#include <algorithm>

namespace fa::test {
namespace {

/// Starts and ends of an interval for each of `length` rows (or columns), near a place that wanders and now
/// and then jumps.
Drawn intervals(Tables& t, int rows, int length, int other, int longest) {
  Drawn result(2);
  for (int row = 0; row < rows; ++row) {
    int place = t.pick(other), reach = t.between(1, longest);
    for (int i = 0; i < length; ++i) {
      if (t.pick(90) == 0) place = t.pick(other), reach = t.between(1, longest);
      place = std::clamp(place + t.between(-2, 3), 0, other - 1);
      result[0].push_back(place);
      result[1].push_back(std::min(place + reach, other));
    }
  }
  return result;
}

Drawn joined(Drawn a, const Drawn& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace

TableMaskKind masks_of_intervals() {
  return {
      "intervals from tables",
      0.05,
      {
          {"one a row",
           "tensor start : i32[batch, q_len]\ntensor end : i32[batch, q_len]\n"
           "mask_mod = kv_idx >= start[b, q_idx] and kv_idx < end[b, q_idx]",
           [](Tables& t) { return intervals(t, t.size.batch, t.size.q_len, t.size.kv_len, 400); }},
          {"two a row",
           "tensor a : i32[q_len]\ntensor a_end : i32[q_len]\ntensor c : i32[q_len]\ntensor c_end : "
           "i32[q_len]\n"
           "mask_mod = (kv_idx >= a[q_idx] and kv_idx < a_end[q_idx]) or (kv_idx >= c[q_idx] and kv_idx < "
           "c_end[q_idx])",
           [](Tables& t) {
             return joined(intervals(t, 1, t.size.q_len, t.size.kv_len, 300),
                           intervals(t, 1, t.size.q_len, t.size.kv_len, 100));
           }},
          {"one a column",
           "tensor start : i32[batch, kv_len]\ntensor end : i32[batch, kv_len]\n"
           "mask_mod = q_idx >= start[b, kv_idx] and q_idx < end[b, kv_idx]",
           [](Tables& t) { return intervals(t, t.size.batch, t.size.kv_len, t.size.q_len, 400); }},
          {"causal but for one a column",
           "tensor start : i32[num_q_heads, kv_len]\ntensor end : i32[num_q_heads, kv_len]\n"
           "mask_mod = q_idx >= kv_idx and not (q_idx >= start[h, kv_idx] and q_idx < end[h, kv_idx])",
           [](Tables& t) { return intervals(t, t.size.num_q_heads, t.size.kv_len, t.size.q_len, 700); }},
          {"one a row or one a column",
           "tensor a : i32[q_len]\ntensor a_end : i32[q_len]\ntensor c : i32[kv_len]\ntensor c_end : "
           "i32[kv_len]\n"
           "mask_mod = (kv_idx >= a[q_idx] and kv_idx < a_end[q_idx]) or (q_idx >= c[kv_idx] and q_idx < "
           "c_end[kv_idx])",
           [](Tables& t) {
             return joined(intervals(t, 1, t.size.q_len, t.size.kv_len, 200),
                           intervals(t, 1, t.size.kv_len, t.size.q_len, 200));
           }},
          {"a list of ranges for each batch entry",
           "tensor start : i32[batch, 6]\ntensor end : i32[batch, 6]\n"
           "mask_mod = q_idx >= kv_idx and any(i < 6: kv_idx >= start[b, i] and kv_idx < end[b, i])",
           [](Tables& t) {
             Drawn drawn(2);
             for (int i = 0; i < t.size.batch * 6; ++i) {
               drawn[0].push_back(t.pick(t.size.kv_len));
               drawn[1].push_back(drawn[0].back() + t.pick(120));
             }
             return drawn;
           }},
          {"the row's own range of columns, and the column's of rows",
           "tensor reach : i32[q_len]\ntensor back : i32[kv_len]\n"
           "mask_mod = q_idx - kv_idx < reach[q_idx] and q_idx - kv_idx >= 0 and q_idx - kv_idx < "
           "back[kv_idx]",
           [](Tables& t) {
             const auto length = [&](int) { return t.pick(8) == 0 ? t.pick(800) : t.pick(60); };
             return Drawn{t.runs(1, t.size.q_len, 1, 200, length), t.runs(1, t.size.kv_len, 1, 200, length)};
           }},
      }};
}

}  // namespace fa::test
