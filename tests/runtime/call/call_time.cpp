// What a call costs the host, beside what a compile costs, in one run: ratios hold on a slow or busy machine, too, and break
// where a call begins to look files up, to compile or to wait. docs/performance.md has the times themselves.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "fa/fa.h"
#include "runtime/call/kernel_state.h"
#include "tests/catch.h"
#include "tests/runtime/cuda/fake_driver.h"
#include "tests/runtime/system/temporary.h"

using namespace fa;
using namespace fa::tests;

namespace {

/// Median nanoseconds of a call, in batches that take much longer than reading the clock.
template <class Call>
double nanoseconds(Call call, int calls = 1000) {
  constexpr int kBatches = 101;
  std::vector<double> times;
  for (int batch = 0; batch < kBatches; ++batch) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    const std::chrono::duration<double, std::nano> passed = std::chrono::steady_clock::now() - start;
    times.push_back(passed.count() / calls);
  }
  std::nth_element(times.begin(), times.begin() + kBatches / 2, times.end());
  return times[kBatches / 2];
}

constexpr const char* kSpec =
    "attention a\nhead_dim 128\ndtype bf16\nparam window : i32 = 1024\n"
    "tensor slopes : f32[num_q_heads]\ntensor layout : i8[num_q_heads, ceil_div(q_len, 128), "
    "ceil_div(kv_len, 128)]\n"
    "score_mod = score + slopes[h] * (kv_idx - q_idx)\n"
    "mask_mod = q_idx - kv_idx < window and layout[h, q_idx / 128, kv_idx / 128] != 0\ndropout 0.1\n";

}  // namespace

TEST_CASE("forward, up to the driver, takes a small part of the time that reading its spec takes",
          "[call_time]") {
  reset_fake();
  const CudaDevice device(fake_table(), 0);
  const Binary binary = {.image = "cubin",
                         .program = {{.entry = "facet_forward",
                                      .grid = Grid::q_tiles,
                                      .tile_q = 128,
                                      .tile_kv = 64,
                                      .threads = 128,
                                      .shared_memory = 98304}}};
  const Kernel kernel(std::make_shared<const KernelState>(
      KernelState{.loaded = std::make_shared<LoadedKernel>(LoadedKernel{.spec = Spec::parse(kSpec),
                                                                        .device = Device::cuda,
                                                                        .target = "h200",
                                                                        .plan = "",
                                                                        .cuda = load_cuda(device, binary),
                                                                        .host = {}}),
                  .times = {}}));
  void* const at = reinterpret_cast<void*>(0x10000);
  const Tensor q = Tensor::bhsd(at, DType::bf16, 4, 32, 4096, 128);
  const Tensor k = Tensor::bshd(at, DType::bf16, 4, 8, 4096, 128);
  Tensor o = q;
  o.data = reinterpret_cast<void*>(0x100000000);
  ForwardArgs args = {.q = q, .k = k, .v = k, .o = o};
  args.params = {{.name = "window", .value = 512}};
  args.tensors = {{.name = "layout", .data = at, .dtype = DType::i8, .shape = {32, 32, 32}, .rank = 3},
                  {.name = "slopes", .data = at, .dtype = DType::f32, .shape = {32}, .rank = 1}};
  const double beforehand = nanoseconds([&] { kernel.forward(args); });
  const double for_each = nanoseconds([&] {
    kernel.forward({.q = q, .k = k, .v = k, .o = o, .tensors = args.tensors, .params = args.params});
  });
  fmt::print(
      "forward: {:.0f} ns with arguments made beforehand, {:.0f} ns with arguments made for the call\n",
      beforehand, for_each);
  const double parse = nanoseconds([&] { Spec::parse(kSpec); }, 10);
  fmt::print("parsing its spec: {:.0f} ns\n", parse);
  CHECK(beforehand < parse / 4);
  CHECK(for_each < parse / 4);
  CHECK(fake().launches > 0);
}

TEST_CASE("a kernel comes from disk faster than from the compiler, and from memory faster than from disk",
          "[call_time]") {
  const TemporaryFolder folder;
  const Spec spec = Spec::parse("attention timed\nhead_dim 64\ndtype f32\nmask_mod = q_idx >= kv_idx\n");
  const Options options = {.device = Device::host, .cache_dir = folder.path()};
  const auto total = [](const char* what, const Kernel& kernel) {
    const CompileTimes& t = kernel.times();
    fmt::print("{}: {:.3f} ms (front end {:.3f}, build {:.3f}, load {:.3f})\n", what, t.total, t.front_end,
               t.build, t.load);
    return t.total;
  };
  const double built = total("built", compile(spec, options));
  Options disk = options;
  disk.memory_cache = false;
  double from_disk = total("disk", compile(spec, disk));
  for (int i = 0; i < 4; ++i) from_disk = std::min(from_disk, total("disk", compile(spec, disk)));
  CHECK(from_disk < built / 4);
  const double from_memory = nanoseconds([&] { compile(spec, options); });
  fmt::print("memory: {:.0f} ns\n", from_memory);
  CHECK(from_memory < from_disk * 1e6 / 20);
}
