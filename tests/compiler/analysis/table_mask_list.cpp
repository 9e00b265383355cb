#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>

#include "tests/compiler/analysis/table_masks.h"

namespace fa::test {

namespace {

using Numbers = std::vector<double>;
using Drawn = std::vector<Numbers>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Ids of spans of 20 to 150 indices, -1 for those in no span.
Numbers spans(Tables& t, int rows, int length) {
  return t.runs(rows, length, 20, 150, [&](int run) { return t.pick(3) == 0 ? run : -1; });
}

Numbers documents(Tables& t, int rows, int length) {
  return t.runs(rows, length, 10, 400, [](int run) { return run; });
}

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

Numbers Tables::runs(int rows, int length, int least, int most, const std::function<double(int)>& draw) {
  Numbers result;
  for (int row = 0; row < rows; ++row) {
    double value = 0;
    for (int i = 0, left = 0, run = 0; i < length; ++i, --left) {
      if (left == 0) left = between(least, most), value = draw(run++);
      result.push_back(value);
    }
  }
  return result;
}

Numbers Tables::times(int rows, int length) {
  Numbers result;
  for (int row = 0; row < rows; ++row) {
    double time = pick(1000);
    for (int i = 0; i < length; ++i) {
      time += pick(300) == 0 ? between(100, 2000) : 0.125 * pick(17);
      result.push_back(time);
    }
  }
  return result;
}

Numbers Tables::each(int count, const std::function<double(int)>& draw) {
  Numbers result;
  for (int i = 0; i < count; ++i) result.push_back(draw(i));
  return result;
}

Numbers Tables::cuts(int rows, int pieces, int length) {
  Numbers result;
  for (int row = 0; row < rows; ++row) {
    Numbers places = each(pieces - 1, [&](int) { return pick(length); });
    places.push_back(0);
    places.push_back(length);
    std::sort(places.begin(), places.end());
    result.insert(result.end(), places.begin(), places.end());
  }
  return result;
}

tools::Problem problem_of(const TableMask& mask, const ProblemSize& size, std::mt19937& random) {
  const std::string text = std::string("attention probe\nhead_dim 16\ndtype f32\n") + mask.text + "\n";
  tools::Problem problem{
      .spec = Spec::parse(text), .size = size, .q = {}, .k = {}, .v = {}, .tensors = {}, .params = {}};
  Tables tables(random, size);
  const Drawn drawn = mask.draw(tables);
  const std::span<const TensorInfo> tensors = problem.spec.tensors();
  if (drawn.size() != tensors.size()) throw std::logic_error(text + "has other tensors than are drawn");
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const auto count = static_cast<std::int64_t>(drawn[i].size());
    tools::HostTensor tensor(tensors[i].name, tensors[i].dtype, {count});
    for (std::int64_t at = 0; at < count; ++at) tensor.set(at, drawn[i][static_cast<std::size_t>(at)]);
    problem.tensors.push_back(std::move(tensor));
  }
  return problem;
}

const std::vector<TableMaskKind>& table_masks() {
  static const std::vector<TableMaskKind> kinds = {
      {"numbers in tables of floats",
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
       }},
      {"sentinels, offsets, padding",
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
            [](Tables& t) {
              return Drawn{t.each(t.size.batch, [&](int) { return t.pick(t.size.kv_len); })};
            }},
           {"right padding",
            "tensor length : i32[batch]\n"
            "mask_mod = q_idx >= kv_idx and kv_idx < length[b] and q_idx < length[b]",
            [](Tables& t) {
              return Drawn{t.each(t.size.batch, [&](int) { return t.pick(t.size.kv_len); })};
            }},
           {"padding on both sides, and a prefix",
            "tensor start : i32[batch]\ntensor length : i32[batch]\ntensor prefix : i32[batch]\n"
            "let inside = kv_idx >= start[b] and kv_idx < start[b] + length[b]\n"
            "mask_mod = inside and (kv_idx < start[b] + prefix[b] or q_idx >= kv_idx) and q_idx >= start[b]",
            [](Tables& t) {
              const auto part = [&](int) { return t.pick(t.size.kv_len / 2); };
              return Drawn{t.each(t.size.batch, part), t.each(t.size.batch, part),
                           t.each(t.size.batch, part)};
            }},
           {"questions seen by their document's answers",
            "tensor document : i32[max(q_len, kv_len)]\ntensor role : i8[max(q_len, kv_len)]\n"
            "mask_mod = document[q_idx] == document[kv_idx]\n"
            "  and (role[kv_idx] == 0 or (role[q_idx] == role[kv_idx] and q_idx >= kv_idx))",
            [](Tables& t) {
              const int length = std::max(t.size.q_len, t.size.kv_len);
              return Drawn{documents(t, 1, length),
                           t.runs(1, length, 10, 70, [&](int) { return t.pick(4); })};
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
       }},
      {"intervals from tables",
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
       }},
      {"distances that jump",
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
       }},
      {"blocks that are routed",
       0.05,
       {
           {"the best eight",
            "tensor best : i32[num_q_heads, ceil_div(q_len, 64), 8]\n"
            "mask_mod = any(i < 8: best[h, q_idx / 64, i] == kv_idx / 64)",
            [](Tables& t) {
              const int blocks = (t.size.q_len + 63) / 64, keys = (t.size.kv_len + 63) / 64;
              return Drawn{
                  t.each(t.size.num_q_heads * blocks * 8, [&](int) { return t.pick(keys + 1) - 1; })};
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
       }},
      {"dense small tables",
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
       }},
  };
  return kinds;
}

}  // namespace fa::test
