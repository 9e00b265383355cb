// The walk over kv tiles against brute force: it visits every tile that keeps something once, in order, and
// knows the full ones; and the order in which work is dealt.
#include "runtime/host/walk.h"

#include <fmt/format.h>

#include <cstdlib>
#include <functional>

#include "runtime/host/order.h"
#include "tests/catch.h"
#include "tests/runtime/host/problem.h"

using namespace fa;
using namespace fa::test;

namespace {

struct Size {
  int q_len, kv_len, tile_q = 32, tile_kv = 16;
};

/// A mask as a spec and as a function of the test.
struct Mask {
  const char* name;
  const char* text;
  std::function<bool(const Size&, int b, int h, int q, int kv)> keeps;
};

constexpr int kLongest = 50000;

/// Ids that rise by one at uneven places, as packed documents do; and flags of 16 x 16 blocks by head.
struct Tables {
  std::vector<std::int32_t> document = std::vector<std::int32_t>(2 * kLongest);
  std::vector<std::int8_t> layout = std::vector<std::int8_t>(2 * 64 * 64);

  Tables() {
    for (int b = 0; b < 2; ++b)
      for (int i = 0, id = 0; i < kLongest; ++i)
        document[static_cast<std::size_t>(b * kLongest + i)] = id += (i * 7 + b * 5) % 97 == 0;
    for (std::size_t i = 0; i < layout.size(); ++i) layout[i] = i * i % 5 == 1;
  }
  int document_of(const Size& size, int b, int i) const {
    return document[static_cast<std::size_t>(b * size.kv_len + i)];
  }
};

const Tables& tables() {
  static const Tables made;
  return made;
}

const Mask kMasks[] = {
    {"causal, bottom-right", "mask_mod = q_idx + (kv_len - q_len) >= kv_idx\n",
     [](const Size& s, int, int, int q, int kv) { return q + s.kv_len - s.q_len >= kv; }},
    {"window by head", "let d = q_idx + (kv_len - q_len) - kv_idx\nmask_mod = d >= 0 and d < 20 + 30 * h\n",
     [](const Size& s, int, int h, int q, int kv) {
       const int d = q + s.kv_len - s.q_len - kv;
       return d >= 0 && d < 20 + 30 * h;
     }},
    {"documents",
     "tensor document : i32[batch, kv_len]\n"
     "mask_mod = document[b, min(q_idx, kv_len - 1)] == document[b, kv_idx]\n",
     [](const Size& s, int b, int, int q, int kv) {
       return tables().document_of(s, b, std::min(q, s.kv_len - 1)) == tables().document_of(s, b, kv);
     }},
    {"every other document, causal",
     "tensor document : i32[batch, kv_len]\n"
     "mask_mod = document[b, kv_idx] % 2 == 0 and q_idx + (kv_len - q_len) >= kv_idx\n",
     [](const Size& s, int b, int, int q, int kv) {
       return tables().document_of(s, b, kv) % 2 == 0 && q + s.kv_len - s.q_len >= kv;
     }},
    {"rows and columns of an image",
     "mask_mod = abs(q_idx / 20 - kv_idx / 20) <= 2 and abs(q_idx % 20 - kv_idx % 20) <= 2\n",
     [](const Size&, int, int, int q, int kv) {
       return std::abs(q / 20 - kv / 20) <= 2 && std::abs(q % 20 - kv % 20) <= 2;
     }},
    {"rows that keep nothing", "mask_mod = q_idx % 3 != 1 and kv_idx > 100\n",
     [](const Size&, int, int, int q, int kv) { return q % 3 != 1 && kv > 100; }},
};

ForwardParams params_of(const Size& size) {
  ForwardParams params{};
  params.call.batch = 2, params.call.num_q_heads = 2, params.call.num_kv_heads = 1,
  params.call.group_size = 2;
  params.call.q_len = size.q_len, params.call.kv_len = size.kv_len;
  params.call.tensors[0] = tables().document.data();
  return params;
}

HostCase case_of(const Mask& mask, const Size& size) {
  return host_case(std::string("attention t\nhead_dim 16\ndtype f32\n") + mask.text, size.tile_q,
                   size.tile_kv);
}

HostTileMap filled(const HostKernel& kernel, const ForwardParams& params) {
  HostTileMap map;
  map.prepare(kernel, params);
  for (std::size_t item = 0; item < map.key_items(); ++item) map.summarise_keys(item);
  for (std::size_t item = 0; item < map.items(); ++item) map.fill(item);
  return map;
}

int ceil_div(int a, int b) { return (a + b - 1) / b; }

struct Tally {
  int visits = 0, partial = 0, needless = 0;
  std::string wrong;
};

/// Walks everything; `wrong` says where brute force contradicts the walk.
Tally check(const Mask& mask, const Size& size) {
  const HostCase host = case_of(mask, size);
  const ForwardParams params = params_of(size);
  const HostTileMap map = filled(*host.kernel, params);
  Tally tally;
  for (int b = 0; b < params.call.batch; ++b)
    for (int h = 0; h < params.call.num_q_heads; ++h)
      for (int q_tile = 0; q_tile < ceil_div(size.q_len, size.tile_q); ++q_tile) {
        const TileWalk walk(*host.kernel, params, map, b, h, q_tile);
        int next = 0;  // the first kv tile not judged yet
        const auto judge = [&](int tile, bool visited, bool full) {
          int kept = 0, elements = 0;
          for (int q = q_tile * size.tile_q; q < std::min((q_tile + 1) * size.tile_q, size.q_len); ++q)
            for (int kv = tile * size.tile_kv; kv < std::min((tile + 1) * size.tile_kv, size.kv_len); ++kv)
              kept += mask.keeps(size, b, h, q, kv), ++elements;
          tally.visits += visited;
          tally.partial += kept > 0 && kept < elements;
          tally.needless += visited && (kept == 0 || (kept == elements && !full));
          if ((kept > 0 && !visited) || (full && kept < elements))
            tally.wrong = fmt::format("b {} h {} q tile {} kv tile {}: {} of {} kept, visited {} full {}", b,
                                      h, q_tile, tile, kept, elements, visited, full);
        };
        walk.each([&](int tile, bool full) {
          if (tile < next) tally.wrong = fmt::format("tile {} is visited out of order", tile);
          while (next < tile) judge(next++, false, false);
          judge(next++, true, full);
        });
        while (next < ceil_div(size.kv_len, size.tile_kv)) judge(next++, false, false);
        int count = 0;
        walk.each([&](int, bool) { ++count; });
        if (walk.count() != count) tally.wrong = "the count is not that of the visits";
      }
  return tally;
}

}  // namespace

TEST_CASE("host walk: no tile that keeps something is left out, none is called full wrongly") {
  for (const Mask& mask : kMasks)
    for (const Size& size :
         {Size{300, 300}, Size{1, 77}, Size{130, 301}, Size{301, 130}, Size{5, 1}, Size{150, 640, 48, 64}}) {
      const Tally tally = check(mask, size);
      INFO(mask.name << ", q_len " << size.q_len << " kv_len " << size.kv_len);
      CHECK(tally.wrong == "");
    }
}

TEST_CASE("host walk: masks that the analysis sees exactly visit no tile needlessly") {
  for (const Mask& mask : std::span(kMasks).first(4)) {
    const Tally tally = check(mask, {300, 300});
    INFO(mask.name);
    CHECK(tally.needless == 0);
    CHECK(tally.partial > 0);
  }
}

TEST_CASE("host walk: thousands of tiles, by spans of 1024 and 32") {
  CHECK(span_counts(1) == SpanCounts{1, 1, 1});
  CHECK(span_counts(33) == SpanCounts{33, 2, 1});
  CHECK(span_counts(2500) == SpanCounts{2500, 79, 3});
  for (const Mask& mask : std::span(kMasks).first(4)) {
    const Tally tally = check(mask, {40, 40000, 24, 16});
    INFO(mask.name);
    CHECK(tally.wrong == "");
    CHECK(tally.needless == 0);
  }
}

TEST_CASE("host order: every item once, those with the most tiles first") {
  for (const Mask& mask : kMasks) {
    const Size size{500, 300};
    const HostCase host = case_of(mask, size);
    const ForwardParams params = params_of(size);
    const HostTileMap map = filled(*host.kernel, params);
    for (const int threads : {1, 2, 1000}) {
      HostOrder order;
      order.prepare(*host.kernel, params, map, threads);
      REQUIRE(order.items() == 2u * 2 * 16);
      std::vector<int> seen(order.items());
      int last = INT32_MAX, rises = 0;
      for (std::size_t i = 0; i < order.items(); ++i) {
        const HostItem item = order.at(i);
        ++seen[static_cast<std::size_t>((item.b * 2 + item.h) * 16 + item.q_tile)];
        const int tiles = TileWalk(*host.kernel, params, map, item.b, item.h, item.q_tile).count();
        rises += tiles > last;
        last = tiles;
      }
      INFO(mask.name << ", " << threads << " threads");
      CHECK(seen == std::vector<int>(order.items(), 1));
      if (threads == 2) CHECK(rises == 0);
    }
  }
}
