// A backward call through a fake driver: captured gradients begin as zeros, then the passes are launched in order.
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "compiler/compile.h"
#include "compiler/program/workspace.h"
#include "fa/backward.h"
#include "runtime/cuda/launch.h"
#include "tests/catch.h"
#include "tests/runtime/cuda/fake_driver.h"

using namespace fa;
using namespace fa::tests;

namespace {

constexpr const char* kSpecWithSlopes =
    "attention a\nhead_dim 64\ndtype bf16\ntensor slopes : f32[num_q_heads] grad\n"
    "score_mod = score + slopes[h] * (kv_idx - q_idx)\nmask_mod = q_idx >= kv_idx";

BackwardArgs arguments(int q_len, int kv_len, int dim = 64) {
  BackwardArgs args;
  args.forward = {.q = tensor(0x100000000, 6, q_len, dim),
                  .k = tensor(0x200000000, 2, kv_len, dim),
                  .v = tensor(0x300000000, 2, kv_len, dim),
                  .o = tensor(0x400000000, 6, q_len, dim),
                  .lse = static_cast<float*>(at(0x500000000))};
  args.forward.tensors = {
      {.name = "slopes", .data = at(0x600000000), .dtype = DType::f32, .shape = {6}, .rank = 1}};
  args.d_o = tensor(0x700000000, 6, q_len, dim);
  args.d_q = tensor(0x800000000, 6, q_len, dim);
  args.d_k = tensor(0x900000000, 2, kv_len, dim);
  args.d_v = tensor(0xa00000000, 2, kv_len, dim);
  args.gradients = {{.name = "slopes", .data = static_cast<float*>(at(0xb00000000))}};
  return args;
}

std::vector<unsigned> grid(const FakeLaunch& launch) { return {launch.grid, launch.grid + 3}; }

}  // namespace

TEST_CASE("a backward call zeroes captured gradients, then launches its passes in order",
          "[backward][launch]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  const Spec spec = Spec::parse(kSpecWithSlopes);
  const Target& target = find_target("a100");
  const Compiled compiled = compile_front_end(spec.checked(), target, {}, Passes::forward_and_backward);
  const BackwardPlan plan = plan_backward(spec.checked(), compiled, target);
  REQUIRE(plan.dq_by_sums);
  const Program program = emit_backward_for_gpu(spec.checked(), compiled, plan, target).program;
  const auto kernel = load_cuda(device, {.image = "cubin", .program = program});

  const BackwardCall call = prepare_backward(spec.checked(), Device::cuda, arguments(130, 1000));
  CHECK(workspace_bytes(program, call.params.forward.call) > 0);
  launch_backward(*kernel, call, 1000, at(0x1000000), at(0x9000));

  REQUIRE(fake().memsets.size() == 1);
  CHECK(fake().memsets[0].first == 0xb00000000);
  CHECK(fake().memsets[0].width == 6);
  CHECK(fake().memsets[0].value == 0);
  REQUIRE(fake().launches == 3);
  CHECK(fake().first[0].entry == "facet_row_stats");
  CHECK(grid(fake().first[0]) == std::vector<unsigned>{36, 1, 1});  // 130 rows of 18 heads, 128 a block
  CHECK(fake().first[1].entry == "facet_d_kv");
  // 1000 keys, 128 a block, at each of which the two kv heads of all three entries take turns
  CHECK(grid(fake().first[1]) == std::vector<unsigned>{64, 1, 1});
  CHECK(fake().first[2].entry == "facet_d_q");
  CHECK(grid(fake().first[2]) == std::vector<unsigned>{2, 6, 3});
  for (const FakeLaunch& launch : fake().first) {
    CHECK(launch.stream == at(0x9000));
    CHECK(launch.params.q == at(0x100000000));
    CHECK_FALSE(launch.overlaps);
    CHECK(launch.head_counts == nullptr);
  }
}

TEST_CASE(
    "from compute capability 9.0 on each pass of a backward call but the first may start before the one "
    "before has ended",
    "[backward][launch]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  const Spec spec = Spec::parse(
      "attention a\nhead_dim 64\ndtype bf16\ntensor slopes : f32[num_q_heads] grad\n"
      "tensor document : i32[kv_len]\nscore_mod = score + slopes[h] * (kv_idx - q_idx)\n"
      "mask_mod = document[min(q_idx, kv_len - 1)] == document[kv_idx]\n");
  const auto program_for = [&](const char* gpu) {
    const Target& target = find_target(gpu);
    const Compiled compiled = compile_front_end(spec.checked(), target, {}, Passes::forward_and_backward);
    const BackwardPlan plan = plan_backward(spec.checked(), compiled, target);
    return emit_backward_for_gpu(spec.checked(), compiled, plan, target).program;
  };
  BackwardArgs args = arguments(130, 1000);
  args.forward.tensors.push_back(
      {.name = "document", .data = at(0xc00000000), .dtype = DType::i32, .shape = {1000}, .rank = 1});
  const BackwardCall call = prepare_backward(spec.checked(), Device::cuda, args);
  for (const char* gpu : {"a100", "h100"}) {
    reset_fake();
    const auto kernel = load_cuda(device, {.image = "cubin", .program = program_for(gpu)});
    launch_backward(*kernel, call, 1000, at(0x1000000), at(0x9000));
    REQUIRE(fake().launches == 4);
    // The first reads what the caller's kernels wrote. The map is filled beside the row stats.
    CHECK(fake().first[0].entry == "facet_tile_map_of_keys");
    CHECK(fake().first[1].entry == "facet_row_stats");
    CHECK(fake().first[2].entry == "facet_d_kv");
    CHECK(fake().first[3].entry == "facet_d_q");
    for (std::size_t i = 0; i < 4; ++i)
      CHECK(fake().first[i].overlaps == (i > 0 && gpu == std::string("h100")));
  }
}

TEST_CASE("where row stats take long, the passes after them wait for heads, which are counted from zero",
          "[backward][launch]") {
  struct Case {
    const char* gpu;
    int rows;
    bool by_head;
    int driver = 13000;
    int l2_bytes = 1 << 20;
    int keys = 1000;  // that the mask keeps of a row, at most
    int head_dim = 128;
  };
  // 18 heads. A quarter of the 132 SMs have a block each, of 4 * 128 rows at once, and go round 8 times.
  // Where Q and dO of two heads fit the L2 cache, the next pass begins with two of six.
  for (const Case& c :
       {Case{"h100", 58 * 128, false}, Case{"h100", 58 * 128 + 1, true}, Case{"a100", 1 << 19, false},
        Case{"h100", 1 << 19, false, 12000}, Case{"h100", 58 * 128 + 1, false, 13000, 1 << 30},
        Case{"h100", 1 << 19, false, 13000, 1 << 20, 200}, Case{"h100", 1 << 19, true, 13000, 1 << 20, 300},
        Case{"h100", 1 << 19, false, 13000, 1 << 20, 1000, 64}}) {
    CAPTURE(c.gpu, c.rows, c.driver, c.l2_bytes, c.keys, c.head_dim);
    const Spec spec = Spec::parse(kSpecWithSlopes + fmt::format(" and q_idx - kv_idx < {}\n", c.keys))
                          .with_head_dim(c.head_dim);
    reset_fake();
    fake().driver_version = c.driver;
    fake().l2_bytes = c.l2_bytes;
    const CudaDevice device(fake_table(), 0);
    const Target& target = find_target(c.gpu);
    const Compiled compiled = compile_front_end(spec.checked(), target, {}, Passes::forward_and_backward);
    const Program program = emit_backward_for_gpu(spec.checked(), compiled,
                                                  plan_backward(spec.checked(), compiled, target), target)
                                .program;
    const auto kernel = load_cuda(device, {.image = "cubin", .program = program});
    const BackwardCall call =
        prepare_backward(spec.checked(), Device::cuda, arguments(c.rows, 1000, c.head_dim));
    launch_backward(*kernel, call, std::int64_t{1000} * 4 * c.head_dim, at(0x1000000), at(0x9000));

    REQUIRE(fake().launches == 3);
    REQUIRE(fake().first[0].entry == "facet_row_stats");
    const int tiles = (c.rows + 127) / 128 * 18;
    if (c.by_head) {
      const std::size_t stats = std::size_t{2} * tiles * 128 * sizeof(float);
      CHECK(grid(fake().first[0]) == std::vector<unsigned>{33, 1, 1});
      REQUIRE(fake().memsets.size() == 2);  // after the slopes' gradient
      CHECK(fake().memsets[1].first == 0x1000000 + stats);
      CHECK(fake().memsets[1].width == (6 + 2) * 3);
      CHECK(fake().memsets[1].value == 0);
      for (const FakeLaunch& launch : fake().first) CHECK(launch.head_counts == at(0x1000000 + stats));
    } else {
      const unsigned teams = c.gpu == std::string("h100") && c.keys >= 256 && c.head_dim >= 128 ? 4 : 1;
      CHECK(grid(fake().first[0]) ==
            std::vector<unsigned>{(static_cast<unsigned>(tiles) + teams - 1) / teams, 1, 1});
      CHECK(fake().memsets.size() == 1);
      for (const FakeLaunch& launch : fake().first) CHECK(launch.head_counts == nullptr);
    }
  }
}

TEST_CASE("a deterministic call also zeroes the exact sums, and makes gradients of them last",
          "[backward][launch][deterministic]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  const Spec spec = Spec::parse(kSpecWithSlopes);
  const Target& target = find_target("a100");
  const Compiled compiled = compile_front_end(spec.checked(), target, {}, Passes::forward_and_backward);
  const BackwardPlan plan = plan_backward(spec.checked(), compiled, target, true);
  const Program program = emit_backward_for_gpu(spec.checked(), compiled, plan, target).program;
  const auto kernel = load_cuda(device, {.image = "cubin", .program = program});

  const BackwardCall call = prepare_backward(spec.checked(), Device::cuda, arguments(130, 1000));
  const std::size_t stats = 2 * sizeof(float) * 256 * 6 * 3    // lse and D, rows rounded up to 128
                            + sizeof(unsigned) * (6 + 2) * 3;  // counts of heads of q and kv heads
  CHECK(workspace_bytes(program, call.params) == stats + 6 * sizeof(ExactSum));
  launch_backward(*kernel, call, 1000, at(0x1000000), at(0x9000));
  REQUIRE(fake().memsets.size() == 2);
  CHECK(fake().memsets[0].first == 0xb00000000);
  CHECK(fake().memsets[1].first == 0x1000000 + stats);
  CHECK(fake().memsets[1].width == 6 * sizeof(ExactSum) / 4);
  REQUIRE(fake().launches == 4);
  CHECK(fake().first[0].entry == "facet_row_stats");
  CHECK(fake().first[1].entry == "facet_d_kv");
  CHECK(fake().first[2].entry == "facet_d_q");
  CHECK(grid(fake().first[2]) == std::vector<unsigned>{96, 1, 1});  // tiles of 64 rows, two heads take turns
  CHECK(fake().first[3].entry == "facet_captured");
  CHECK(grid(fake().first[3]) == std::vector<unsigned>{128, 1, 1});
}

TEST_CASE("a backward call without keys zeroes every gradient on the device", "[backward][launch]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  const Spec spec = Spec::parse(kSpecWithSlopes);
  const BackwardCall call = prepare_backward(spec.checked(), Device::cuda, arguments(130, 0));
  CHECK_FALSE(call.has_elements);
  launch_zeros(device, spec.checked(), call, at(0x9000));
  REQUIRE(fake().memsets.size() == 3 * 6 + 1);  // d_q, head by head, and the slopes'; d_k and d_v have no row
  CHECK(fake().memsets[0].first == 0x800000000);
  CHECK(fake().memsets[0].width == 64 * 2);
  CHECK(fake().memsets[0].height == 130);
  CHECK(fake().memsets.back().first == 0xb00000000);
}
