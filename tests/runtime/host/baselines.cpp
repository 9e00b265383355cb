// The host's baselines at the level of their passes: tiles that are ragged, masks, sinks' rows, dropout, every way to
// multiply, and that a call stays within the workspace it asks for (compare() of problem.h guards it).
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tests/catch.h"
#include "tests/runtime/host/emulated.h"
#include "tests/runtime/host/problem.h"

using namespace fa;
using namespace fa::test;

namespace {

constexpr LoopOrder kOrders[] = {LoopOrder::standard, LoopOrder::kv_outer};
constexpr std::pair<int, int> kBaselineLengths[] = {{1, 1},     {1, 300},   {131, 257}, {128, 128},
                                                    {257, 131}, {300, 129}, {97, 640}};

CheckedSpec spec_of(DType dtype, const std::string& items, int head_dim = 64, int head_dim_v = 64) {
  return Spec::parse("attention t\ndtype " + std::string(dtype_name(dtype)) + "\nhead_dim " +
                     std::to_string(head_dim) + "\nhead_dim_v " + std::to_string(head_dim_v) + "\n" + items)
      .checked();
}

HostCase baseline_case(LoopOrder order, const CheckedSpec& spec, int tile_q = 96, int tile_kv = 64) {
  return {.spec = spec,
          .kernel = nullptr,
          .baseline = load_host_baseline(host_object(baseline_code(spec, order, tile_q, tile_kv)))};
}

std::vector<MeantItems> all_items() {
  std::vector<MeantItems> all = items_that_keep_little();
  all.push_back({"", {}});
  all.push_back({"mask_mod = q_idx >= kv_idx\n", {{}, [](int, int, int q, int kv) { return q >= kv; }}});
  all.push_back({"mask_mod = q_idx < 0\n", {{}, [](int, int, int, int) { return false; }}});
  return all;
}

}  // namespace

TEST_CASE("host baselines: masks, scores, and rows that keep little or nothing", "[runtime][baseline]") {
  for (const LoopOrder order : kOrders)
    for (const MeantItems& kind : all_items()) {
      const HostCase host = baseline_case(order, spec_of(DType::f32, kind.items));
      for (const auto& [q_len, kv_len] : kBaselineLengths) {
        INFO(loop_order_name(order) << " " << kind.items << "q_len " << q_len << " kv_len " << kv_len);
        const HostProblem problem{.batch = 2, .q_heads = 2, .kv_heads = 1, .q_len = q_len, .kv_len = kv_len};
        CHECK(worst_error(compare(host, problem, kind.meaning)) < error_bound(host.spec));
      }
    }
}

TEST_CASE("host baselines: dtypes, head dims, layouts and plans", "[runtime][baseline]") {
  const Meaning meaning{.score = {}, .mask = [](int, int, int q, int kv) { return q - kv < 40; }};
  for (const LoopOrder order : kOrders)
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
      for (const auto& [head_dim, head_dim_v] : {std::pair{8, 8}, {72, 64}, {256, 24}, {40, 256}})
        for (const auto& [tile_q, tile_kv] : {std::pair{128, 32}, {40, 96}, {16, 512}}) {
          const HostCase host =
              baseline_case(order, spec_of(dtype, "mask_mod = q_idx - kv_idx < 40\n", head_dim, head_dim_v),
                            tile_q, tile_kv);
          for (const Layout layout : {Layout::bhsd, Layout::bshd, Layout::padded}) {
            const HostProblem problem{
                .batch = 2, .q_heads = 2, .kv_heads = 1, .q_len = 70, .kv_len = 113, .layout = layout};
            INFO(loop_order_name(order) << " " << dtype_name(dtype) << " " << head_dim << " " << head_dim_v
                                        << " layout " << static_cast<int>(layout) << " tile_q " << tile_q);
            CHECK(worst_error(compare(host, problem, meaning)) < error_bound(host.spec));
          }
        }
}

TEST_CASE("host baselines: dropout leaves out what the fused kernel does", "[runtime][baseline]") {
  const Meaning meaning{.score = {}, .mask = [](int, int, int q, int kv) { return q >= kv; }};
  for (const LoopOrder order : kOrders) {
    const HostCase host =
        baseline_case(order, spec_of(DType::f32, "mask_mod = q_idx >= kv_idx\ndropout 0.3\n"));
    for (const double dropout : {0.0, 0.3, 1.0}) {
      INFO(loop_order_name(order) << " " << dropout);
      const HostProblem problem{.batch = 2,
                                .q_heads = 2,
                                .kv_heads = 1,
                                .q_len = 150,
                                .kv_len = 150,
                                .dropout = dropout,
                                .seed = 9};
      CHECK(worst_error(compare(host, problem, meaning)) < error_bound(host.spec));
    }
  }
}

TEST_CASE("host baselines: bf16 by pairs and by tiles", "[runtime][baseline]") {
  for (const EmulatedWay& way : emulated_ways())
    for (const LoopOrder order : kOrders)
      for (const MeantItems& kind : all_items()) {
        const CheckedSpec spec = spec_of(DType::bf16, kind.items, 72, 40);
        const EmitFor emit = [&](const HostCpu& cpu) { return baseline_code(spec, order, 40, 96, cpu); };
        const HostCase host{
            .spec = spec, .kernel = nullptr, .baseline = load_host_baseline(way.object(emit))};
        for (const auto& [q_len, kv_len] : {std::pair{1, 230}, {131, 97}, {45, 129}}) {
          INFO(way.name << " " << loop_order_name(order) << " " << kind.items << "q_len " << q_len
                        << " kv_len " << kv_len);
          const HostProblem problem{.q_heads = 2, .kv_heads = 1, .q_len = q_len, .kv_len = kv_len};
          CHECK(worst_error(compare(host, problem, kind.meaning)) < error_bound(host.spec));
        }
      }
}

TEST_CASE("host baselines: bits do not depend on the number of threads", "[runtime][baseline]") {
  for (const LoopOrder order : kOrders) {
    const HostCase host = baseline_case(order, spec_of(DType::f32, "mask_mod = q_idx >= kv_idx\n"));
    HostProblem problem{.batch = 2, .q_heads = 3, .kv_heads = 3, .q_len = 300, .kv_len = 300, .threads = 1};
    const Compared one = compare(host, problem);
    problem.threads = 7;
    const Compared seven = compare(host, problem);
    CHECK(one.host.o == seven.host.o);
    CHECK(one.host.lse == seven.host.lse);
  }
}

TEST_CASE("host baselines: a workspace has all of S, or O, of all rows", "[runtime][baseline]") {
  const CheckedSpec spec = spec_of(DType::f32, "");
  const HostCpu cpu = host_cpu();
  const auto shape = [&](int tile_q) { return host_shape(spec, host_plan(tile_q, 64), cpu); };
  const HostShape whole = shape(2 * cpu.lanes);
  REQUIRE(whole.panels == 1);
  const HostRoom scores = host_room(whole, LoopOrder::standard), sums = host_room(whole, LoopOrder::kv_outer);
  const int rows = 2 * cpu.lanes;
  constexpr std::size_t kAligned = 48;  // beside a workspace that is aligned to 16
  // S, each row's maximum and sum.
  for (const auto& [kv_len, columns] : {std::pair{1, 64}, {64, 64}, {65, 128}, {640, 640}})
    CHECK(room_bytes(scores, {.batch = 2, .num_q_heads = 3, .q_len = 10 * rows, .kv_len = kv_len}) ==
          kAligned + std::size_t{2 * 3 * 10} * static_cast<std::size_t>(rows * (columns + 2) * 4));
  for (const int kv_len : {1, 1000000})
    CHECK(room_bytes(sums, {.batch = 2, .num_q_heads = 3, .q_len = 10 * rows, .kv_len = kv_len}) ==
          kAligned + std::size_t{2 * 3 * 10} * static_cast<std::size_t>(rows * (64 + 2) * 4));
  // Of a tile that is not whole, the panels there are.
  const HostShape several = shape(8 * cpu.lanes);
  const HostRoom room = host_room(several, LoopOrder::standard);
  CHECK(blocks_of_head(room, 1) == 1);
  CHECK(blocks_of_head(room, several.panel + 1) == 2);
  CHECK(blocks_of_head(room, several.tile_q) == static_cast<std::uint64_t>(several.panels));
  CHECK(blocks_of_head(room, several.tile_q + 1) == static_cast<std::uint64_t>(several.panels) + 1);
  // More than 64 bits count is refused as more than there is, and not taken for less.
  constexpr int kMost = std::numeric_limits<int>::max();
  CHECK(room_bytes(room, {.batch = kMost, .num_q_heads = kMost, .q_len = kMost, .kv_len = kMost}) >=
        std::size_t{1} << 60);
}
