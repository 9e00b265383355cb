// Masks that compare numbers from tables of floats: times, places, levels.
#include "tests/compiler/analysis/table_masks/masks.h"

#include <algorithm>
#include <limits>

namespace fa::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

}  // namespace

TableMaskKind masks_of_times() {
  return {"numbers in tables of floats",
          0.05,
          {
              {"a window of time",
               "tensor time : f32[batch, max(q_len, kv_len)]\nlet age = time[b, q_idx] - time[b, kv_idx]\n"
               "mask_mod = age >= 0.0 and age <= 90.0",
               [](Tables& t) { return Drawn{t.times(t.size.batch, std::max(t.size.q_len, t.size.kv_len))}; }},
              {"a window of time in bf16, by head",
               "tensor time : bf16[max(q_len, kv_len)]\ntensor reach : f32[num_q_heads]\n"
               "mask_mod = abs(time[q_idx] - time[kv_idx]) < reach[h]",
               [](Tables& t) {
                 return Drawn{t.times(1, std::max(t.size.q_len, t.size.kv_len)),
                              t.each(t.size.num_q_heads, [&](int) { return 1 + t.pick(200); })};
               }},
              {"missing times are NaN, open ones infinite",
               "tensor from : f32[batch, q_len]\ntensor time : f32[batch, kv_len]\n"
               "mask_mod = time[b, kv_idx] >= from[b, q_idx] - 40.0 and time[b, kv_idx] <= from[b, q_idx]",
               [](Tables& t) {
                 Drawn drawn{t.times(t.size.batch, t.size.q_len), t.times(t.size.batch, t.size.kv_len)};
                 for (double& number : drawn[0])
                   if (t.pick(700) == 0) number = t.pick(2) == 0 ? kNan : kInf;
                 for (double& number : drawn[1])
                   if (t.pick(700) == 0) number = t.pick(2) == 0 ? kNan : -kInf;
                 return drawn;
               }},
              {"a radius in the plane, f16",
               "tensor x : f16[max(q_len, kv_len)]\ntensor y : f16[max(q_len, kv_len)]\n"
               "let dx = x[q_idx] - x[kv_idx]\nlet dy = y[q_idx] - y[kv_idx]\nmask_mod = dx * dx + dy * dy < "
               "30.0",
               [](Tables& t) {  // points along a path
                 Drawn drawn(2);
                 double x = 0, y = 0;
                 for (int i = 0; i < std::max(t.size.q_len, t.size.kv_len); ++i) {
                   x += 0.25 * t.between(-3, 4), y += 0.25 * t.between(-4, 4);
                   drawn[0].push_back(x), drawn[1].push_back(y);
                 }
                 return drawn;
               }},
              {"four streams, interleaved by blocks",
               "tensor time : f32[max(q_len, kv_len)]\ntensor stream : i32[max(q_len, kv_len)]\n"
               "mask_mod = stream[q_idx] == stream[kv_idx] and time[q_idx] >= time[kv_idx]\n"
               "  and time[q_idx] - time[kv_idx] < 60.0",
               [](Tables& t) {
                 const int length = std::max(t.size.q_len, t.size.kv_len);
                 return Drawn{t.times(1, length), t.runs(1, length, 5, 60, [&](int) { return t.pick(4); })};
               }},
              {"levels of importance",
               "tensor weight : f32[batch, kv_len]\ntensor need : f32[batch, q_len]\n"
               "mask_mod = weight[b, kv_idx] > need[b, q_idx] and q_idx >= kv_idx",
               [](Tables& t) {
                 const auto level = [&](int) { return 0.01 * t.pick(100); };
                 return Drawn{t.runs(t.size.batch, t.size.kv_len, 30, 90, level),
                              t.runs(t.size.batch, t.size.q_len, 30, 90, level)};
               }},
          }};
}

}  // namespace fa::test
