// A kernel with several plans, through a fake driver: each call launches the program of its sizes.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "runtime/bundle/format.h"
#include "runtime/bundle/state.h"
#include "runtime/call/kernel_state.h"
#include "tests/catch.h"
#include "tests/fastest.h"
#include "tests/runtime/bundle/fixture.h"
#include "tests/runtime/cuda/fake_driver.h"
#include "tests/runtime/system/temporary.h"

using namespace fa;
using namespace fa::tests;

namespace {

/// A program that fills a tile map before attention; `tile_q` and the threads tell it from others.
Binary binary_of(int tile_q) {
  return {.image = "cubin",
          .program = {{.entry = "facet_tile_map",
                       .grid = Grid::tile_map,
                       .tile_q = tile_q,
                       .tile_kv = 64,
                       .threads = 512,
                       .tile_map = TileMapShape{.of_batch = false, .of_head = false, .has_plain = false}},
                      {.entry = "facet_forward",
                       .grid = Grid::q_tiles,
                       .tile_q = tile_q,
                       .tile_kv = 64,
                       .threads = 2 * tile_q,
                       .shared_memory = 1000}}};
}

CudaBucket bucket_of(const CudaDevice& device, const Bucket& bucket, int tile_q) {
  return {.bucket = bucket,
          .plan = fmt::format("tile_q={}", tile_q),
          .code = load_cuda(device, binary_of(tile_q))};
}

Kernel kernel_of(CudaBuckets buckets) {
  const std::string plan = buckets.all().back().plan;
  auto loaded = std::make_shared<LoadedKernel>(
      LoadedKernel{.spec = Spec::parse("attention a\nhead_dim 64\ndtype bf16\n"),
                   .device = Device::cuda,
                   .target = "h200",
                   .plan = plan,
                   .cuda = std::move(buckets),
                   .host = {}});
  return Kernel(std::make_shared<const KernelState>(KernelState{.loaded = std::move(loaded), .times = {}}));
}

/// 32 rows for short sequences, 64 for few CTAs of work, else 128.
Kernel three_plans(const CudaDevice& device) {
  std::vector<CudaBucket> all;
  all.push_back(bucket_of(device, {.kv_len = {.most = 100}}, 32));
  all.push_back(bucket_of(device, {.ctas = {.most = 66}}, 64));
  all.push_back(bucket_of(device, {}, 128));
  return kernel_of(CudaBuckets(std::move(all)));
}

ForwardArgs args_of(std::int64_t heads, std::int64_t q_len, std::int64_t kv_len) {
  const auto tensor = [&](std::uintptr_t address, std::int64_t length) {
    return Tensor::bhsd(at(address), DType::bf16, 1, heads, length, 64);
  };
  ForwardArgs args = {.q = tensor(0x100000000000, q_len),
                      .k = tensor(0x200000000000, kv_len),
                      .v = tensor(0x300000000000, kv_len),
                      .o = tensor(0x400000000000, q_len)};
  args.workspace = at(0x500000000000);
  args.workspace_bytes = std::size_t{1} << 40;
  return args;
}

/// tile_q of the program that a call launches.
int launched(const Kernel& kernel, const ForwardArgs& args) {
  kernel.forward(args);
  return static_cast<int>(fake().launch.block[0]) / 2;
}

}  // namespace

TEST_CASE("a call launches the program of the first bucket that holds it", "[runtime][launch][bucket]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  const Kernel kernel = three_plans(device);
  CHECK(fake().modules_loaded == 3);
  CHECK(launched(kernel, args_of(33, 256, 256)) == 64);   // 66 CTAs of work
  CHECK(launched(kernel, args_of(67, 128, 256)) == 128);  // 67
  CHECK(launched(kernel, args_of(33, 257, 256)) == 128);  // 99
  CHECK(launched(kernel, args_of(1, 1, 100)) == 32);      // both buckets hold it
  CHECK(launched(kernel, args_of(1, 1, 101)) == 64);
  CHECK(launched(kernel, args_of(64, 9000, 100)) == 32);
  CHECK(fake().launch.entry == "facet_forward");
  CHECK(fake().launches == 12);
  CHECK(fake().launch.grid[0] * fake().launch.grid[1] == 64 * 282);  // tiles of 32 rows
}

TEST_CASE("a kernel says which of its plans a call runs", "[runtime][launch][bucket]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  const Kernel kernel = three_plans(device);
  CHECK(kernel.plan() == "tile_q=128");
  CHECK(kernel.plan_for(args_of(1, 1, 100)).plan == "tile_q=32");
  CHECK(kernel.plan_for(args_of(1, 1, 100)).calls == "kv_len up to 100");
  CHECK(kernel.plan_for(args_of(1, 1, 101)).calls == "up to 66 CTAs of work");
  CHECK(kernel.plan_for(args_of(67, 1, 101)).calls == "all other calls");
  const std::vector<KernelPlan> plans = kernel.plans();
  REQUIRE(plans.size() == 3);
  CHECK(plans[2].plan == "tile_q=128");
  CHECK(message_of<ArgumentError>([&] { kernel.plan_for({}); }).find("q") == 0);

  const Kernel single = kernel_of(CudaBuckets(load_cuda(device, binary_of(64)), "only"));
  CHECK(single.plans().size() == 1);
  CHECK(single.plan_for(args_of(1, 1, 1)).calls == "every call");
  CHECK(single.plan_for(args_of(1, 1, 1)).plan == "only");
}

TEST_CASE("the workspace is that of the call's bucket", "[runtime][launch][bucket]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  const Kernel kernel = three_plans(device);
  const auto alone = [&](int tile_q) {
    return kernel_of(CudaBuckets(load_cuda(device, binary_of(tile_q)), ""));
  };
  ForwardArgs few = args_of(1, 8192, 8192), many = args_of(2, 8192, 8192);
  CHECK(kernel.workspace_bytes(few) == alone(64).workspace_bytes(few));
  CHECK(kernel.workspace_bytes(many) == alone(128).workspace_bytes(many));
  CHECK(kernel.workspace_bytes(few) > kernel.workspace_bytes(many));
  // What is enough for the longer call is not for the other, and that is said.
  few.workspace_bytes = kernel.workspace_bytes(many);
  CHECK(message_of<ArgumentError>([&] { kernel.forward(few); }).find("Kernel::workspace_bytes(args)") !=
        std::string::npos);
}

TEST_CASE("buckets may share a program, which is unloaded once", "[runtime][launch][bucket]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  {
    std::vector<CudaBucket> all;
    all.push_back(bucket_of(device, {.ctas = {.most = 66}}, 64));
    all.push_back(all.front());
    all.back().bucket = {.kv_len = {.most = 100}};
    all.push_back(bucket_of(device, {}, 128));
    const Kernel kernel = kernel_of(CudaBuckets(std::move(all)));
    CHECK(launched(kernel, args_of(500, 64, 64)) == 64);
    CHECK(launched(kernel, args_of(1, 64, 6400)) == 64);
  }
  CHECK(fake().modules_loaded == 2);
  CHECK(fake().modules_unloaded == 2);
}

TEST_CASE("a call without keys or queries needs no bucket", "[runtime][launch][bucket]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  const Kernel kernel = three_plans(device);
  kernel.forward(args_of(2, 0, 64));
  CHECK(fake().launches == 0);
  CHECK(kernel.workspace_bytes(args_of(2, 0, 64)) == 0);
  CHECK(kernel.plan_for(args_of(2, 64, 0)).plan == "tile_q=32");
}

TEST_CASE("choosing among all buckets is a small part of a call", "[call_time][bucket]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  const auto kernel_with = [&](int buckets) {
    std::vector<CudaBucket> all;
    for (int i = 1; i < buckets; ++i)
      all.push_back(bucket_of(
          device,
          {.ctas = {.most = 1000}, .kv_len = {.most = 1000 + i}, .group_size = {.least = 8, .most = 8}}, 32));
    all.push_back(bucket_of(device, {}, 64));
    return kernel_of(CudaBuckets(std::move(all)));
  };
  const Kernel one = kernel_with(1), most = kernel_with(kMostBuckets);
  const ForwardArgs args =
      args_of(8, 200, 1000);  // of the last bucket: all bounds of the others are looked at
  REQUIRE(launched(one, args) == 64);
  REQUIRE(launched(most, args) == 64);
  double with_one = 1, with_most = 1;  // seconds of a thousand calls
  for (int turn = 0; turn < 31; ++turn) {
    const auto thousand = [&](const Kernel& kernel) {
      return fastest(
          [&] {
            for (int i = 0; i < 1000; ++i) kernel.forward(args);
          },
          1);
    };
    with_one = std::min(with_one, thousand(one));
    with_most = std::min(with_most, thousand(most));
  }
  fmt::print("a call with 1 bucket: {:.1f} ns, with {}: {:.1f} ns\n", with_one * 1e6, kMostBuckets,
             with_most * 1e6);
  CHECK(with_most <
        1.2 * with_one);  // a call takes half a microsecond: less than a tenth of one for the choice
}

TEST_CASE("a bundle carries all plans of a kernel, and loads and launches each",
          "[runtime][bundle][bucket]") {
  reset_fake();
  fake().compute_capability = 80;
  BundleContents contents = sample_bundle();
  BundleKernel& kernel = contents.kernels[1];  // causal for sm_80
  REQUIRE(kernel.arch == "sm_80");
  BundleKernel small = kernel_of(0, "sm_80", 7);
  small.binary.program[0].threads = 256;
  kernel.buckets = {{.bucket = {.ctas = {.most = 54}}, .plan = "small", .binary = small.binary},
                    {.bucket = {.ctas = {.least = 55, .most = 108},
                                .kv_len = {.least = 2049, .most = SizeRange::kMost},
                                .group_size = {.least = 2, .most = 4}},
                     .plan = "grouped",
                     .binary = kernel_of(0, "sm_80", 8).binary}};
  const std::string bytes = encode_bundle(contents);
  BundleContents read = decode_bundle(bytes, "x");
  CHECK(encode_bundle(read) == bytes);
  REQUIRE(read.kernels.size() == 4);
  REQUIRE(read.kernels[1].buckets.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    CHECK(read.kernels[1].buckets[i].bucket == kernel.buckets[i].bucket);
    CHECK(read.kernels[1].buckets[i].plan == kernel.buckets[i].plan);
    CHECK(read.kernels[1].buckets[i].binary.image == kernel.buckets[i].binary.image);
  }
  CHECK(read.kernels[0].buckets.empty());
  // A kernel with one plan is written as it was before kernels could have more.
  CHECK(encode_bundle(sample_bundle()).find("buckets") == std::string::npos);

  const CudaDevice device(fake_table(), 0);  // outlives what is loaded, which `state` keeps
  const auto state = make_bundle_state("x", std::move(read));
  CHECK(state->entries.size() == 4);
  CHECK(state->entries[1].plans.size() == 3);
  CHECK(state->entries[1].bytes == kernel.binary.image.size() + kernel.buckets[0].binary.image.size() +
                                       kernel.buckets[1].binary.image.size());
  const Kernel loaded = load_kernel(*state, "causal", 64, DType::bf16, device);
  CHECK(fake().modules_loaded == 3);
  CHECK(launched(loaded, args_of(4, 512, 512)) == 128);  // 256 threads
  CHECK(launched(loaded, args_of(55, 128, 512)) == 64);
  CHECK(loaded.plan_for(args_of(4, 512, 512)).plan == "small");
  CHECK(loaded.plan_for(args_of(55, 128, 512)).plan == "plan sm_80");
}

TEST_CASE("a bundle whose buckets are none that Facet writes is refused", "[runtime][bundle][bucket]") {
  BundleContents contents = sample_bundle();
  const auto refused = [&](std::size_t count, const Bucket& bucket) {
    BundleContents changed = sample_bundle();
    for (std::size_t i = 0; i < count; ++i)
      changed.kernels[1].buckets.push_back(
          {.bucket = bucket, .plan = "p", .binary = changed.kernels[1].binary});
    return message_of<BundleError>([&] { decode_bundle(encode_bundle(changed), "x"); });
  };
  CHECK(refused(kMostBuckets, {.ctas = {.most = 1}}) ==
        "x: manifest: kernels[1].buckets has 6 entries, it must have 1 to 5; build it again");
  CHECK(refused(1, {}) ==
        "x: manifest: kernels[1].buckets[0].calls holds every call, and so leaves none for the kernel's own "
        "plan; build it again");
  CHECK(
      refused(1, {.ctas = {.least = 5, .most = 4}}) ==
      "x: manifest: kernels[1].buckets[0].calls.ctas.most is no whole number from 5 to 9223372036854775807; "
      "build it again");
}
