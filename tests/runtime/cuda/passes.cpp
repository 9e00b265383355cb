// A kernel of three passes goes all the way: source, cubin, disk cache, bundle, driver. Passes are launched
// in order, each with its own grid, threads and shared memory, and all with the same arguments.
#include <algorithm>

#include "runtime/build/build.h"
#include "runtime/bundle/state.h"
#include "runtime/call/kernel_state.h"
#include "tests/catch.h"
#include "tests/runtime/cuda/fake_driver.h"
#include "tests/runtime/system/temporary.h"
#include "tests/skip.h"

using namespace fa;
using namespace fa::tests;

namespace {

constexpr const char* kSpec = "attention a\nhead_dim 64\ndtype bf16\n";

Program three_passes() {
  return {{.entry = "prepare",
           .grid = Grid::q_tiles,
           .tile_q = 16,
           .tile_kv = 16,
           .threads = 32,
           .shared_memory = 0},
          {.entry = "fill",
           .grid = Grid::tile_map,
           .tile_q = 64,
           .tile_kv = 64,
           .threads = 256,
           .overlaps = true,
           .tile_map = TileMapShape{.of_batch = false, .of_head = true, .has_plain = false}},
          {.entry = "facet_forward",
           .grid = Grid::q_tiles,
           .tile_q = 64,
           .tile_kv = 64,
           .threads = 128,
           .shared_memory = 50000,
           .overlaps = true}};
}

Source source_of_three() {
  return {.text =
              "extern \"C\" __global__ void prepare(float* x) { x[threadIdx.x] = 1; }\n"
              "extern \"C\" __global__ void fill(float* x) { x[threadIdx.x] += x[threadIdx.x + 1]; }\n"
              "extern \"C\" __global__ void facet_forward(float* x) { x[0] = 0; }\n",
          .headers = {},
          .arch = "sm_90",
          .program = three_passes()};
}

/// Launches the kernel of `bundle`, and looks at what reaches the driver.
void check_launches(const BundleContents& contents) {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  const Kernel kernel = load_kernel(*make_bundle_state("x", contents), "a", 64, DType::bf16, device);
  CHECK(fake().functions.size() == 3);
  ForwardArgs args = {.q = tensor(0x100000000, 2, 130),
                      .k = tensor(0x200000000, 1, 4000),
                      .v = tensor(0x300000000, 1, 4000),
                      .o = tensor(0x400000000, 2, 130)};
  args.workspace_bytes = kernel.workspace_bytes(args);
  CHECK(args.workspace_bytes == 2 * 3 * 2 * 2 * 4);  // 2 heads, 3 q tiles, 2 words, 2 bits a tile
  args.workspace = reinterpret_cast<void*>(0x1000000);
  kernel.forward(args, reinterpret_cast<void*>(0x9000));

  REQUIRE(fake().launches == 3);
  const auto& [prepare, fill, forward] = std::tie(fake().first[0], fake().first[1], fake().first[2]);
  const auto grid = [](const FakeLaunch& launch) { return std::vector(launch.grid, launch.grid + 3); };
  CHECK(prepare.entry == "prepare");
  CHECK(grid(prepare) == std::vector<unsigned>{9 * 2, 1, 3});  // 9 tiles of 16 rows, two heads in turn
  CHECK(prepare.block[0] == 32);
  CHECK(prepare.shared_memory == 0);
  CHECK_FALSE(prepare.overlaps);
  CHECK(fill.entry == "fill");
  CHECK(grid(fill) == std::vector<unsigned>{8, 2, 1});
  CHECK(fill.block[0] == 256);
  CHECK(fill.shared_memory == 0);
  CHECK(fill.overlaps);
  CHECK(forward.entry == "facet_forward");
  CHECK(grid(forward) == std::vector<unsigned>{3 * 2, 1, 3});
  CHECK(forward.block[0] == 128);
  CHECK(forward.shared_memory == 50000);
  CHECK(forward.overlaps);
  for (const FakeLaunch& launch : fake().first) {
    CHECK(launch.stream == reinterpret_cast<CUstream>(0x9000));
    CHECK(launch.params.q == args.q.data);
    CHECK(launch.params.tile_map == args.workspace);
    CHECK(launch.params.head_shift == 1);
    CHECK(launch.context == fake_context());
  }
}

BundleContents bundle_of(const Binary& binary) {
  return {.facet = "0.1.0",
          .nvrtc = 1300,
          .specs = {Spec::parse(kSpec)},
          .kernels = {{.spec = 0, .arch = "sm_90", .plan = "plan", .binary = binary}}};
}

}  // namespace

TEST_CASE("three passes of a bundle are launched in order", "[runtime][launch][passes]") {
  const std::string bytes = encode_bundle(bundle_of({.image = "cubin", .program = three_passes()}));
  check_launches(decode_bundle(bytes, "x"));
}

TEST_CASE("a failing pass is named, and none after it is launched", "[runtime][launch][passes]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  const BundleContents contents = bundle_of({.image = "cubin", .program = three_passes()});
  const Kernel kernel = load_kernel(*make_bundle_state("x", contents), "a", 64, DType::bf16, device);
  ForwardArgs args = {.q = tensor(0x100000000, 2, 130),
                      .k = tensor(0x200000000, 1, 4000),
                      .v = tensor(0x300000000, 1, 4000),
                      .o = tensor(0x400000000, 2, 130)};
  args.workspace_bytes = kernel.workspace_bytes(args);
  args.workspace = reinterpret_cast<void*>(0x1000000);
  fake().launch_result = CUDA_ERROR_LAUNCH_FAILED;
  CHECK(message_of<DeviceError>([&] { kernel.forward(args); }) ==
        "launching prepare: CUDA_ERROR_LAUNCH_FAILED (unspecified launch failure)");
  CHECK(fake().launches == 1);
}

TEST_CASE("three passes are built into one cubin, kept on the disk and read back",
          "[runtime][nvrtc][passes]") {
  if (skip_without_nvrtc()) return;
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), 1 << 20);
  const BuildResult first = build(source_of_three(), cache, "three");
  const BuildResult second = build(source_of_three(), cache, "three");
  CHECK_FALSE(first.from_disk);
  CHECK(second.from_disk);
  CHECK(second.binary.image == first.binary.image);
  CHECK(print(second.binary.program) == print(three_passes()));
  for (const Pass& pass : second.binary.program)
    CHECK(second.binary.image.find(".text." + pass.entry) != std::string::npos);
  CHECK(second.binary.registers == first.binary.registers);
  check_launches(decode_bundle(encode_bundle(bundle_of(second.binary)), "x"));

  // The cache tells apart sources that differ in how a pass is launched, and in nothing else.
  Source other = source_of_three();
  other.program[1].threads = 128;
  CHECK_FALSE(build(other, cache, "three").from_disk);
}

TEST_CASE("figures are the most registers of any pass, and the spills of all", "[runtime][nvrtc][passes]") {
  const std::string_view log =
      "ptxas info    : Compiling entry function 'a' for 'sm_90'\n"
      "    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 40 registers, used 0 barriers\n"
      "ptxas info    : Compiling entry function 'b' for 'sm_90'\n"
      "    16 bytes stack frame, 1 bytes spill stores, 2 bytes spill loads\n"
      "ptxas info    : Used 32 registers, used 0 barriers\n";
  const PtxasFigures all = read_ptxas_report(log, Program{{.entry = "a"}, {.entry = "b"}, {.entry = "c"}});
  CHECK(all.registers == 40);
  CHECK(all.stack_bytes == 16);
  CHECK(all.spill_store_bytes == 5);
  CHECK(all.spill_load_bytes == 14);
}

TEST_CASE("a source that is refused names all of its passes", "[runtime][nvrtc][passes]") {
  if (skip_without_nvrtc()) return;
  Source source = source_of_three();
  source.text += "?";
  CHECK(message_of<BuildError>([&] {
          build_source(source);
        }).find(" refused prepare, fill, facet_forward for sm_90 ") != std::string::npos);
}
