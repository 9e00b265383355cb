// Loading and launching through a fake driver: what reaches cuLaunchKernel, in which context, and what errors
// say.
#include "runtime/cuda/launch.h"

#include <array>
#include <limits>

#include "runtime/call/kernel_state.h"
#include "runtime/cuda/device_memory.h"
#include "tests/catch.h"
#include "tests/runtime/cuda/fake_driver.h"
#include "tests/runtime/system/temporary.h"

using namespace fa;
using namespace fa::tests;

namespace {

const Binary kBinary = {.image = "cubin",
                        .program = {{.entry = "facet_forward",
                                     .grid = Grid::q_tiles,
                                     .tile_q = 64,
                                     .tile_kv = 64,
                                     .threads = 128,
                                     .shared_memory = 50000}}};

Kernel fake_kernel(const CudaDevice& device, std::string_view text, const Binary& binary = kBinary) {
  auto loaded = std::make_shared<LoadedKernel>(LoadedKernel{.spec = Spec::parse(text),
                                                            .device = Device::cuda,
                                                            .target = "h200",
                                                            .plan = "plan",
                                                            .cuda = load_cuda(device, binary),
                                                            .host = {}});
  return Kernel(std::make_shared<const KernelState>(KernelState{.loaded = std::move(loaded), .times = {}}));
}

Binary with_tile_map(bool overlaps) {
  Binary binary = kBinary;
  binary.program[0].overlaps = overlaps;
  binary.program.insert(binary.program.begin(),
                        {.entry = "facet_tile_map",
                         .grid = Grid::tile_map,
                         .tile_q = 64,
                         .tile_kv = 64,
                         .threads = 512,
                         .overlaps = overlaps,
                         .tile_map = TileMapShape{.of_batch = true, .of_head = false, .has_plain = true}});
  return binary;
}

}  // namespace

TEST_CASE("a loaded kernel may use its shared memory, and unloads itself", "[runtime][launch]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  CHECK(device.info().name == "Fake GPU");
  CHECK(device.info().compute_capability == 90);
  {
    const std::unique_ptr<const CudaKernel> kernel = load_cuda(device, kBinary);
    CHECK(fake().modules_loaded == 1);
    CHECK(fake().functions.size() == 1);
    CHECK(fake().functions.contains("facet_forward"));
    CHECK(fake().function_attributes.at(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) == 50000);
    CHECK(kernel->registers == 168);
    CHECK(fake().modules_unloaded == 0);
  }
  CHECK(fake().modules_unloaded == 1);
  CHECK(fake().capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL);  // as it was
  CHECK(fake().contexts.empty());
}

TEST_CASE("a forward call reaches the driver as one launch", "[runtime][launch]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  const Kernel kernel =
      fake_kernel(device,
                  "attention a\nhead_dim 64\nhead_dim_v 128\ndtype bf16\nscale 0.25\nparam window : i32 = "
                  "7\nparam t : f32 = 0.5\n"
                  "tensor slopes : f32[num_q_heads]\ntensor doc : i32[batch, kv_len]\n"
                  "score_mod = score * t + slopes[h] + doc[b, kv_idx]\nmask_mod = q_idx - kv_idx < window\n");
  ForwardArgs args = {.q = tensor(0x100000000, 6, 130),
                      .k = tensor(0x200000000, 2, 1000),
                      .v = tensor(0x300000000, 2, 1000, 128),
                      .o = tensor(0x400000000, 6, 130, 128)};
  args.lse = reinterpret_cast<float*>(0x1000500);
  args.tensors = {
      {.name = "doc", .data = at(0x700000000), .dtype = DType::i32, .shape = {3, 1000}, .rank = 2},
      {.name = "slopes", .data = at(0x600000000), .dtype = DType::f32, .shape = {6}, .rank = 1}};
  args.params = {{.name = "t", .value = 2.0f}};
  kernel.forward(args, at(0x9000));

  REQUIRE(fake().launches == 1);
  const FakeLaunch& launch = fake().launch;
  CHECK(launch.function == fake_function());
  CHECK(launch.context == fake_context());
  CHECK(launch.stream == at(0x9000));
  CHECK(launch.grid[0] == 3 * 2);  // q tiles, at each of which two heads take turns; 130 rows, 64 a tile
  CHECK(launch.grid[1] == 6 / 2);
  CHECK(launch.params.head_shift == 1);
  CHECK(launch.grid[2] == 3);
  CHECK(launch.block[0] == 128);
  CHECK(launch.block[1] == 1);
  CHECK(launch.block[2] == 1);
  CHECK(launch.shared_memory == 50000);
  const ForwardParams& p = launch.params;
  CHECK(p.q == at(0x100000000));
  CHECK(p.k == at(0x200000000));
  CHECK(p.v == at(0x300000000));
  CHECK(p.o == at(0x400000000));
  CHECK(p.lse == at(0x1000500));
  CHECK(p.q_strides.batch == 6 * 130 * 64);
  CHECK(p.q_strides.head == 130 * 64);
  CHECK(p.q_strides.row == 64);
  CHECK(p.v_strides.batch == 2 * 1000 * 128);
  CHECK(p.o_strides.row == 128);
  CHECK(p.call.batch == 3);
  CHECK(p.call.num_q_heads == 6);
  CHECK(p.call.num_kv_heads == 2);
  CHECK(p.call.group_size == 3);
  CHECK(p.call.q_len == 130);
  CHECK(p.call.kv_len == 1000);
  CHECK(p.call.scale == 0.25f);
  CHECK(p.call.scale_log2 == 0.25f * 1.44269504f);
  CHECK(p.call.drop_threshold == 0);
  CHECK(p.call.keep_scale == 1.0f);
  CHECK(p.call.params[0].i32 == 7);
  CHECK(p.call.params[1].f32 == 2.0f);
  CHECK(p.call.tensors[0] == at(0x600000000));
  CHECK(p.call.tensors[1] == at(0x700000000));
  CHECK(fake().contexts.empty());
  CHECK(fake().allocations.empty());
}

TEST_CASE("a grid has the heads that take turns", "[runtime][launch]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  const auto launch = [&](Grid grid, int heads) -> const FakeLaunch& {
    Binary binary = kBinary;
    binary.program[0].grid = grid;
    const Kernel kernel = fake_kernel(device, "attention a\nhead_dim 64\ndtype bf16\n", binary);
    kernel.forward({.q = tensor(0x100000000, heads, 130),
                    .k = tensor(0x200000000, 2, 100),
                    .v = tensor(0x300000000, 2, 100),
                    .o = tensor(0x400000000, heads, 130)});
    return fake().launch;
  };
  using Blocks3 = std::array<unsigned, 3>;
  const auto blocks = [](const FakeLaunch& made) {
    return Blocks3{made.grid[0], made.grid[1], made.grid[2]};
  };
  const FakeLaunch& some = launch(Grid::q_tiles, 8);  // 130 rows, 64 a tile, 3 batch entries
  CHECK(some.params.head_shift == 2);
  CHECK(blocks(some) == Blocks3{3 << 2, 8 >> 2, 3});
  const FakeLaunch& all = launch(Grid::first_q_tiles_first, 6);
  CHECK(all.params.head_shift == 5);  // 18 heads
  CHECK(blocks(all) == Blocks3{3 << 5, 1, 1});
}

TEST_CASE("the caller's context is used as it is, and another is put back", "[runtime][launch]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  const Kernel kernel = fake_kernel(device, "attention a\nhead_dim 64\ndtype bf16\n");
  const ForwardArgs args = {.q = tensor(0x100000000, 1, 1),
                            .k = tensor(0x200000000, 1, 1),
                            .v = tensor(0x300000000, 1, 1),
                            .o = tensor(0x400000000, 1, 1)};
  fake().pushes = 0;
  fake().contexts = {fake_context()};
  kernel.forward(args);
  CHECK(fake().pushes == 0);
  const auto other = reinterpret_cast<CUcontext>(0x7777);
  fake().contexts = {other};
  kernel.forward(args);
  CHECK(fake().pushes == 1);
  CHECK(fake().launch.context == fake_context());
  CHECK(fake().contexts == std::vector<CUcontext>{other});
  fake().contexts.clear();
}

TEST_CASE("dropout reaches the kernel as a threshold", "[runtime][launch]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  const Kernel kernel = fake_kernel(device, "attention a\nhead_dim 64\ndtype bf16\ndropout 0.25\n");
  ForwardArgs args = {.q = tensor(0x100000000, 1, 1),
                      .k = tensor(0x200000000, 1, 1),
                      .v = tensor(0x300000000, 1, 1),
                      .o = tensor(0x400000000, 1, 1)};
  args.seed = 0x123456789abcdef0u;
  kernel.forward(args);
  CHECK(fake().launch.params.call.drop_threshold == 16384);
  CHECK(fake().launch.params.call.keep_scale == 4.0f / 3.0f);
  CHECK(fake().launch.params.call.seed == 0x123456789abcdef0u);
  args.dropout = 0.0f;
  kernel.forward(args);
  CHECK(fake().launch.params.call.drop_threshold == 0);
  CHECK(fake().launch.params.call.keep_scale == 1.0f);
  args.dropout = 1.0f;
  kernel.forward(args);
  CHECK(fake().launch.params.call.drop_threshold == 65536);
  CHECK(fake().launch.params.call.keep_scale == 0.0f);
}

TEST_CASE("a tile map is filled by a kernel before the forward pass, in the caller's workspace",
          "[runtime][launch]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  const Kernel kernel = fake_kernel(device, "attention a\nhead_dim 64\ndtype bf16\n", with_tile_map(false));
  ForwardArgs args = {.q = tensor(0x100000000, 2, 130),
                      .k = tensor(0x200000000, 1, 4000),
                      .v = tensor(0x300000000, 1, 4000),
                      .o = tensor(0x400000000, 2, 130)};
  // For each of 3 batch entries 3 q tiles, each with the 63 kv tiles of 2 words, 3 bits a tile.
  const std::size_t bytes = 3 * 3 * 2 * 3 * 4;
  CHECK(kernel.workspace_bytes(args) == bytes);
  CHECK(message_of<ArgumentError>([&] { kernel.forward(args); }) ==
        "workspace has 0 bytes, this call needs 216: pass device memory of Kernel::workspace_bytes(args) "
        "bytes");
  args.workspace = at(0x1000008);
  args.workspace_bytes = bytes;
  CHECK(message_of<ArgumentError>([&] { kernel.forward(args); }) ==
        "workspace is not aligned to 16 bytes: pass an address that is");
  args.workspace = at(0x1000000);
  CHECK(fake().launches == 0);
  kernel.forward(args, at(0x9000));
  REQUIRE(fake().launches == 2);
  CHECK(fake().first[0].function != fake().launch.function);
  CHECK(fake().first[0].grid[0] == 2 * 4);  // bytes of 2 words; one round has all q tiles
  CHECK(fake().first[0].grid[1] == 1);
  CHECK(fake().first[0].grid[2] == 3);
  CHECK(fake().first[0].block[0] == 512);
  CHECK(fake().first[0].shared_memory == 0);
  CHECK(fake().first[0].stream == at(0x9000));
  CHECK(fake().first[0].params.tile_map == at(0x1000000));
  CHECK(fake().launch.function == fake_function());
  CHECK(fake().launch.grid[0] == 3 * 2);
  CHECK(fake().launch.params.tile_map == at(0x1000000));
  CHECK_FALSE(fake().launch.overlaps);
  args.q.shape[2] = args.o.shape[2] = 0;
  CHECK(kernel.workspace_bytes(args) == 0);
}

TEST_CASE(
    "passes that wait themselves may start before the pass or the caller's kernel before them has ended",
    "[runtime][launch]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  const Binary binary = with_tile_map(true);
  const Kernel kernel = fake_kernel(device, "attention a\nhead_dim 64\ndtype bf16\n", binary);
  ForwardArgs args = {.q = tensor(0x10000000, 2, 130),
                      .k = tensor(0x20000000, 1, 4000),
                      .v = tensor(0x30000000, 1, 4000),
                      .o = tensor(0x40000000, 2, 130)};
  args.workspace = at(0x1000000);
  args.workspace_bytes = kernel.workspace_bytes(args);
  kernel.forward(args);
  REQUIRE(fake().launches == 2);
  CHECK(fake().first[0].overlaps);  // the caller's kernel before it
  CHECK(fake().launch.overlaps);

  reset_fake();
  fake().driver_version = 12020;  // graphs of its time do not know of it
  const CudaDevice older(fake_table(), 0);
  const Kernel in_turn = fake_kernel(older, "attention a\nhead_dim 64\ndtype bf16\n", binary);
  in_turn.forward(args);
  REQUIRE(fake().launches == 2);
  CHECK_FALSE(fake().first[0].overlaps);
  CHECK_FALSE(fake().launch.overlaps);
}

TEST_CASE("no queries launch nothing; no keys leave zeros and -inf", "[runtime][launch]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  const Kernel kernel = fake_kernel(device, "attention a\nhead_dim 64\ndtype bf16\n");
  kernel.forward({.q = tensor(0, 2, 0),
                  .k = tensor(0x200000000, 2, 5),
                  .v = tensor(0x300000000, 2, 5),
                  .o = tensor(0, 2, 0)});
  ForwardArgs none = {.q = tensor(0, 2, 3), .k = tensor(0, 2, 3), .v = tensor(0, 2, 3), .o = tensor(0, 2, 3)};
  for (Tensor* t : {&none.q, &none.k, &none.v, &none.o}) t->shape[0] = 0;
  kernel.forward(none);
  CHECK(fake().launches == 0);
  CHECK(fake().memsets.empty());

  ForwardArgs args = {
      .q = tensor(0x100000000, 2, 5), .k = tensor(0, 1, 0), .v = tensor(0, 1, 0), .o = tensor(0x1000, 2, 5)};
  args.lse = reinterpret_cast<float*>(0x1000500);
  kernel.forward(args, at(0x9000));
  CHECK(fake().launches == 0);
  REQUIRE(fake().memsets.size() == 3 * 2 + 1);
  const FakeMemset& last_head = fake().memsets[5];
  CHECK(last_head.first == 0x1000 + 5 * (5 * 64 * 2));
  CHECK(last_head.pitch == 128);
  CHECK(last_head.width == 128);
  CHECK(last_head.height == 5);
  CHECK(last_head.value == 0);
  CHECK(last_head.stream == at(0x9000));
  const FakeMemset& lse = fake().memsets[6];
  CHECK(lse.first == 0x1000500);
  CHECK(lse.width == 3 * 2 * 5);
  CHECK(lse.value == 0xff800000u);
}

TEST_CASE("the same in host memory, with room between the rows", "[runtime][launch]") {
  std::array<float, 2 * 3 * 8> out;
  out.fill(1);
  std::array<float, 6> lse = {};
  ForwardParams params = {};
  params.o = out.data();
  params.lse = lse.data();
  params.o_strides = {.batch = 0, .head = 24, .row = 8};
  params.call.batch = 1;
  params.call.num_q_heads = 2;
  params.call.q_len = 3;
  fill_empty_rows(params, 5, sizeof(float));
  for (std::size_t i = 0; i < out.size(); ++i) CHECK(out[i] == (i % 8 < 5 ? 0.0f : 1.0f));
  for (const float value : lse) CHECK(value == -std::numeric_limits<float>::infinity());
}

TEST_CASE("what the driver refuses is told with its name and a remedy", "[runtime][launch]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  CHECK(message_of<DeviceError>([] { const CudaDevice second(fake_table(), 1); }) ==
        "there is no CUDA device 1: this process sees 1; check CUDA_VISIBLE_DEVICES");
  fake().device_count = 0;
  CHECK(message_of<DeviceError>([] { const CudaDevice first(fake_table(), 0); }) ==
        "there is no CUDA device 0: this process sees none; check CUDA_VISIBLE_DEVICES");

  Binary large = kBinary;
  large.program[0].shared_memory = 300000;
  CHECK(message_of<DeviceError>([&] { load_cuda(device, large); }) ==
        "the plan asks for 300000 bytes of shared memory, Fake GPU gives a block at most 232448: choose "
        "smaller tiles "
        "(Options::plan, FA_PLAN)");
  const Kernel kernel = fake_kernel(device, "attention a\nhead_dim 64\ndtype bf16\n");
  fake().launch_result = CUDA_ERROR_LAUNCH_FAILED;
  const ForwardArgs args = {.q = tensor(0x100000000, 1, 1),
                            .k = tensor(0x200000000, 1, 1),
                            .v = tensor(0x300000000, 1, 1),
                            .o = tensor(0x400000000, 1, 1)};
  CHECK(message_of<DeviceError>([&] { kernel.forward(args); }) ==
        "launching facet_forward: CUDA_ERROR_LAUNCH_FAILED (unspecified launch failure)");
  CHECK(fake().contexts.empty());  // popped all the same
  fake().load_result = CUDA_ERROR_OUT_OF_MEMORY;
  const int unloaded = fake().modules_unloaded;
  CHECK(message_of<DeviceError>([&] { load_cuda(device, kBinary); }) ==
        "loading a kernel on Fake GPU (driver for CUDA 13.0): CUDA_ERROR_OUT_OF_MEMORY (out of memory); the "
        "GPU has no "
        "memory left for it: free some, or use smaller tensors");
  CHECK(fake().modules_unloaded == unloaded);
}

TEST_CASE("device memory is counted and given back", "[runtime][launch]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  {
    const DeviceBuffer a(device, 100);
    DeviceBuffer b(device, 50);
    CHECK(buffer_use(device).now == 150);
    b = DeviceBuffer(device, 10);
    CHECK(b.bytes() == 10);
    CHECK(buffer_use(device).now == 110);
    CHECK(buffer_use(device).peak == 160);
    reset_peak(device);
    CHECK(buffer_use(device).peak == 110);
    const DeviceBuffer empty(device, 0);
    CHECK(empty.data() == nullptr);
    fake().alloc_result = CUDA_ERROR_OUT_OF_MEMORY;
    CHECK(message_of<DeviceError>([&] { const DeviceBuffer c(device, 1000); }) ==
          "allocating 1000 bytes on Fake GPU: CUDA_ERROR_OUT_OF_MEMORY (out of memory); the GPU has no "
          "memory left for "
          "it: free some, or use smaller tensors");
  }
  CHECK(fake().allocations.empty());
  CHECK(buffer_use(device).now == 0);
  CHECK(device_memory(device).free == 5);
}
