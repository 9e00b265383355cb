// fa::compile on the host: the caches, a kernel's properties, and devices that do not exist.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <thread>
#include <vector>

#include "fa/fa.h"
#include "runtime/build/device_target.h"
#include "runtime/store/cache.h"
#include "runtime/store/memory_cache.h"
#include "tests/catch.h"
#include "tests/runtime/system/temporary.h"
#include "tests/skip.h"

using namespace fa;
using namespace fa::tests;

namespace {

Spec causal(const std::string& name) {
  return Spec::parse("attention " + name + "\nhead_dim 16\ndtype f32\nmask_mod = q_idx >= kv_idx\n");
}

/// The first rows of causal attention over keys of one value: each is the mean of the values so far.
void check_means(const Kernel& kernel) {
  constexpr int kLength = 5;
  std::vector<float> q(kLength * 16, 1.0f), k(kLength * 16, 0.5f), v(kLength * 16), o(kLength * 16);
  for (int row = 0; row < kLength; ++row)
    for (int d = 0; d < 16; ++d) v[static_cast<std::size_t>(row * 16 + d)] = static_cast<float>(row);
  const auto view = [](std::vector<float>& x) {
    return Tensor::bhsd(x.data(), DType::f32, 1, 1, kLength, 16);
  };
  kernel.forward({.q = view(q), .k = view(k), .v = view(v), .o = view(o)});
  for (int row = 0; row < kLength; ++row)
    CHECK(std::abs(o[static_cast<std::size_t>(row * 16 + 7)] - static_cast<float>(row) / 2) < 1e-5f);
}

}  // namespace

TEST_CASE("compile on the host: from nothing, from disk, from memory", "[runtime][compile]") {
  const TemporaryFolder folder;
  const Options options = {.device = Device::host, .num_threads = 1, .cache_dir = folder.path()};
  MemoryCache::get().clear();
  const Kernel first = compile(causal("three_ways"), options);
  CHECK(first.times().source == CompileTimes::Source::compiled);
  CHECK(first.times().build > 0);
  CHECK(first.times().total >= first.times().front_end + first.times().build + first.times().load);
  CHECK(first.device() == Device::host);
  CHECK(first.target() == "host");
  CHECK(first.plan().find("tile_q=") != std::string::npos);
  CHECK(first.spec().name() == "three_ways");
  check_means(first);

  const Kernel again = compile(causal("three_ways"), options);
  CHECK(again.times().source == CompileTimes::Source::memory);
  CHECK(again.times().build == 0);
  check_means(again);

  MemoryCache::get().clear();
  const Kernel from_disk = compile(causal("three_ways"), options);
  CHECK(from_disk.times().source == CompileTimes::Source::disk);
  CHECK(from_disk.times().build == 0);
  check_means(from_disk);
  const std::vector<CacheFile> files = DiskCache(folder.path(), 1 << 20).list();
  REQUIRE(files.size() == 1);
  CHECK(files[0].label == "three_ways f32 d16 host");

  // A damaged entry counts as a miss and is replaced.
  const std::string path = folder / (files[0].key + ".facet");
  const std::string bytes = read_file(path);
  write_file(path, bytes.substr(0, bytes.size() - 1));
  MemoryCache::get().clear();
  CHECK(compile(causal("three_ways"), options).times().source == CompileTimes::Source::compiled);
  MemoryCache::get().clear();
  CHECK(compile(causal("three_ways"), options).times().source == CompileTimes::Source::disk);
}

TEST_CASE("an entry that is whole but no object is a miss", "[runtime][compile]") {
  const TemporaryFolder folder;
  const Options options = {
      .device = Device::host, .num_threads = 1, .cache_dir = folder.path(), .memory_cache = false};
  compile(causal("no_object"), options);
  const DiskCache cache(folder.path(), 1 << 20);
  const Key key = *key_of_file(cache.list()[0].key + ".facet");
  REQUIRE(cache.put(key, {.label = "x", .payload = "not an object"}).empty());
  const Kernel kernel = compile(causal("no_object"), options);
  CHECK(kernel.times().source == CompileTimes::Source::compiled);
  check_means(kernel);
}

TEST_CASE("caches that are off are neither read nor written", "[runtime][compile]") {
  const TemporaryFolder folder;
  const Options options = {.device = Device::host,
                           .num_threads = 1,
                           .cache_dir = folder.path(),
                           .disk_cache = false,
                           .memory_cache = false};
  for (int i = 0; i < 2; ++i)
    CHECK(compile(causal("no_cache"), options).times().source == CompileTimes::Source::compiled);
  CHECK(DiskCache(folder.path(), 1 << 20).list().empty());
}

TEST_CASE("a cache that cannot be written changes nothing", "[runtime][compile]") {
  const TemporaryFolder folder;
  write_file(folder / "file", "");
  const Options options = {
      .device = Device::host, .num_threads = 1, .cache_dir = folder / "file/cache", .memory_cache = false};
  check_means(compile(causal("no_folder"), options));
}

TEST_CASE("threads that ask for one kernel at once build it once", "[runtime][compile]") {
  const TemporaryFolder folder;
  const Options options = {.device = Device::host, .num_threads = 1, .cache_dir = folder.path()};
  std::atomic<int> compiled = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const Kernel kernel = compile(causal("at_once"), options);
      if (kernel.times().source == CompileTimes::Source::compiled) ++compiled;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(compiled == 1);
}

TEST_CASE("the memory cache tries again after a failure", "[runtime][compile]") {
  MemoryCache cache;
  const Key key = {.high = 1, .low = 2};
  CHECK_THROWS_AS(cache.find_or_make(key, []() -> MemoryCache::Loaded { throw BuildError("no", ""); }),
                  BuildError);
  CHECK(cache.find(key) == nullptr);
  const Spec spec = causal("again");
  const auto made = std::make_shared<LoadedKernel>(LoadedKernel{
      .spec = spec, .device = Device::host, .target = "", .plan = "", .cuda = nullptr, .host = {}});
  CHECK(cache.find_or_make(key, [&] { return made; }) == made);
  CHECK(cache.find_or_make(key, []() -> MemoryCache::Loaded { throw BuildError("no", ""); }) == made);
}

TEST_CASE("what was asked for is the memory key", "[runtime][compile]") {
  const Spec spec = causal("key");
  const Key key = memory_key(spec, Device::host, 0, 1, "", "");
  CHECK(key == memory_key(causal("key"), Device::host, 0, 1, "", ""));
  CHECK_FALSE(key == memory_key(causal("other"), Device::host, 0, 1, "", ""));
  CHECK_FALSE(key == memory_key(spec.with_head_dim(32), Device::host, 0, 1, "", ""));
  CHECK_FALSE(key == memory_key(spec, Device::cuda, 0, 1, "", ""));
  CHECK_FALSE(key == memory_key(spec, Device::host, 1, 1, "", ""));
  CHECK_FALSE(key == memory_key(spec, Device::host, 0, 2, "", ""));
  CHECK_FALSE(key == memory_key(spec, Device::host, 0, 1, "tile_q=64", ""));
  CHECK_FALSE(key == memory_key(spec, Device::host, 0, 1, "", "t4"));
}

TEST_CASE("a GPU that is not there is an error, and automatic means the host", "[runtime][compile]") {
  const std::string& problem = why_no_cuda(0);
  if (problem.empty()) {
    tests::skip("what is said without a GPU: there is one");
    return;
  }
  CHECK_THROWS_AS(compile(causal("no_gpu"), {.device = Device::cuda}), Error);
  CHECK(compile(causal("no_gpu"), {.disk_cache = false}).device() == Device::host);
}

TEST_CASE("baselines compile for the host, and are kept apart from fused kernels",
          "[runtime][compile][baseline]") {
  const TemporaryFolder folder;
  const Spec spec = causal("host_baseline");
  const auto with = [&](Impl impl, const std::string& plan = {}) {
    return compile(spec, {.device = Device::host,
                          .plan = plan,
                          .impl = impl,
                          .cache_dir = folder.path(),
                          .memory_cache = false});
  };
  for (const Impl impl : {Impl::facet, Impl::standard, Impl::flash1}) {
    CHECK(with(impl).times().source == CompileTimes::Source::compiled);
    CHECK(with(impl).times().source == CompileTimes::Source::disk);
  }
  CHECK(with(Impl::standard).plan().starts_with("host standard tile_q="));
  CHECK(with(Impl::flash1, "tile_q=32 tile_kv=48").plan() == "host kv_outer tile_q=32 tile_kv=48");
  CHECK(message_of<ArgumentError>([&] {
          with(Impl::standard, "tile_q=32 tile_kv=48");
        }).find("tile_kv=48 is not a multiple of 32") != std::string::npos);
  CHECK(message_of<ArgumentError>([&] { with(Impl::standard, "q_outer tile_q=64"); }) ==
        "plan: it is either standard or q_outer: leave out one (Options::impl and --impl name one, too)");

  std::vector<float> q(4 * spec.head_dim(), 0.5f), o(q.size());
  const auto view = [&](std::vector<float>& x) {
    return Tensor::bhsd(x.data(), DType::f32, 1, 1, 4, spec.head_dim());
  };
  ForwardArgs args{.q = view(q), .k = view(q), .v = view(q), .o = view(o)};
  CHECK(with(Impl::facet).workspace_bytes(args) == 0);
  for (const Impl impl : {Impl::standard, Impl::flash1}) {
    const Kernel kernel = with(impl);
    const std::size_t bytes = kernel.workspace_bytes(args);
    REQUIRE(bytes > 0);
    args.workspace = nullptr;
    CHECK(message_of<ArgumentError>([&] { kernel.forward(args); }) ==
          fmt::format(
              "workspace has 0 bytes, this call needs {}: pass memory of Kernel::workspace_bytes(args) bytes",
              bytes));
    std::vector<std::max_align_t> memory(bytes / sizeof(std::max_align_t) + 1);
    args.workspace = memory.data();
    args.workspace_bytes = bytes - 1;
    CHECK(message_of<ArgumentError>([&] {
            kernel.forward(args);
          }).find(fmt::format("workspace has {} bytes", bytes - 1)) == 0);
    args.workspace_bytes = bytes;
    std::ranges::fill(o, 0.0f);
    kernel.forward(args);
    for (const float value : o) CHECK(std::abs(value - 0.5f) < 1e-6f);
  }
  // No key, and no query: nothing to keep.
  ForwardArgs empty = args;
  empty.k = empty.v = Tensor::bhsd(q.data(), DType::f32, 1, 1, 0, spec.head_dim());
  CHECK(with(Impl::standard).workspace_bytes(empty) == 0);
  empty.workspace = nullptr, empty.workspace_bytes = 0;
  with(Impl::standard).forward(empty);
  CHECK(o == std::vector<float>(o.size(), 0.0f));
}

TEST_CASE("compile refuses a baseline's backward pass", "[runtime][compile][baseline]") {
  // Whether or not there is a GPU, and however the baseline is named.
  for (const Device device : {Device::host, Device::cuda})
    for (const bool by_plan : {false, true}) {
      Options backward = {.device = device, .disk_cache = false, .backward = true};
      if (by_plan) {
        backward.plan = "standard";
      } else {
        backward.impl = Impl::standard;
      }
      CHECK(message_of<ArgumentError>([&] { compile(causal("no_baseline"), backward); }) ==
            "standard attention has no backward pass: take Facet's (Impl::facet, --impl facet), or leave out "
            "the "
            "backward pass (Options::backward, --backward)");
    }
}

TEST_CASE("GPUs are described by the nearest literal and their own limits", "[runtime][compile]") {
  const DeviceInfo h200 = {.ordinal = 100,
                           .name = "NVIDIA H200",
                           .compute_capability = 90,
                           .num_sms = 132,
                           .max_smem_per_block = 232448,
                           .memory_bytes = std::int64_t{141} * 1000000000};
  CHECK(target_of(h200).name == "h200");
  CHECK(target_of(h200).nvrtc_arch == "sm_90");
  CHECK(target_of(h200).runs(Family::sm80));
  DeviceInfo slice = h200;
  slice.ordinal = 101;
  slice.num_sms = 16;
  CHECK(target_of(slice).num_sms == 16);
  const DeviceInfo newer = {.ordinal = 102,
                            .name = "NVIDIA GeForce RTX 5090",
                            .compute_capability = 120,
                            .num_sms = 170,
                            .max_smem_per_block = 101376};
  CHECK(target_of(newer).name == "sm_120");
  CHECK(target_of(newer).nvrtc_arch == "sm_120");
  CHECK(target_of(newer).max_smem_per_block == 101376);
  const DeviceInfo turing = {.ordinal = 103, .name = "Tesla T4", .compute_capability = 75, .num_sms = 40};
  CHECK(target_of(turing).name == "t4");
  CHECK(target_of(turing).runs(Family::sm75));
  const DeviceInfo volta = {.ordinal = 104, .name = "Tesla V100", .compute_capability = 70};
  CHECK(message_of<DeviceError>([&] { target_of(volta); }) ==
        "Tesla V100 has compute capability 7.0, and there are kernels from 7.5 on: use the host (--device "
        "host)");
}

TEST_CASE("a GPU runs the kernels of an older one where they are asked for", "[runtime][compile]") {
  const DeviceInfo h200 = {.ordinal = 105,
                           .name = "NVIDIA H200",
                           .compute_capability = 90,
                           .num_sms = 132,
                           .max_smem_per_block = 232448,
                           .memory_bytes = std::int64_t{141} * 1000000000};
  CHECK(&target_named("", h200) == &target_of(h200));
  CHECK(target_named("t4", h200).runs(Family::sm75));
  CHECK(target_named("t4", h200).nvrtc_arch == "compute_75");
  CHECK(target_named("rtx4090", h200).nvrtc_arch == "compute_89");
  CHECK(target_named("h100", h200).nvrtc_arch == "sm_90");
  const DeviceInfo a10 = {.ordinal = 106, .name = "NVIDIA A10", .compute_capability = 86, .num_sms = 72};
  CHECK(message_of<DeviceError>([&] { target_named("h200", a10); }) ==
        "target 'h200' has compute capability 9.0, more than NVIDIA A10's 8.6: name an older one");
  CHECK(message_of<Error>([&] { target_named("host", h200); }) ==
        "target 'host' is no GPU: to run on the host, ask for its device (--device host)");
}
