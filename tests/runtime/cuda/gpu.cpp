// On a real GPU: compile, launch, agreement with the host, streams, graphs, device memory. Skips where there
// is none.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "fa/fa.h"
#include "runtime/build/device_target.h"
#include "runtime/cuda/device_memory.h"
#include "runtime/cuda/driver.h"
#include "runtime/store/memory_cache.h"
#include "runtime/system/dynlib.h"
#include "tests/catch.h"
#include "tests/runtime/system/temporary.h"
#include "tests/skip.h"

using namespace fa;
using namespace fa::tests;

namespace {

std::uint16_t to_bf16(float x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float from_bf16(std::uint16_t x) {
  const std::uint32_t bits = static_cast<std::uint32_t>(x) << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

constexpr int kHeads = 3, kQLen = 131, kKvLen = 257, kDim = 64;

/// q, k, v on both sides, and outputs.
struct Problem {
  explicit Problem(const CudaDevice& on) : device(on) {
    unsigned state = 1;
    const auto fill = [&](std::vector<std::uint16_t>& x, int rows) {
      x.resize(static_cast<std::size_t>(rows * kDim));
      for (std::uint16_t& value : x) {
        state = state * 1664525u + 1013904223u;
        value = to_bf16(static_cast<float>(state >> 8) * 0x1p-23f - 1.0f);
      }
    };
    fill(q, kHeads * kQLen);
    fill(k, kHeads * kKvLen);
    fill(v, kHeads * kKvLen);
    o.resize(q.size());
    lse.resize(kHeads * kQLen);
    for (std::vector<std::uint16_t>* x : {&q, &k, &v, &o}) {
      buffers.emplace_back(device, x->size() * 2);
      buffers.back().upload(x->data(), x->size() * 2);
    }
    buffers.emplace_back(device, lse.size() * 4);
  }

  static Tensor view(void* data, int length) {
    return Tensor::bhsd(data, DType::bf16, 1, kHeads, length, kDim);
  }

  ForwardArgs on_host() {
    return {.q = view(q.data(), kQLen),
            .k = view(k.data(), kKvLen),
            .v = view(v.data(), kKvLen),
            .o = view(o.data(), kQLen),
            .lse = lse.data()};
  }
  ForwardArgs on_device() {
    return {.q = view(buffers[0].data(), kQLen),
            .k = view(buffers[1].data(), kKvLen),
            .v = view(buffers[2].data(), kKvLen),
            .o = view(buffers[3].data(), kQLen),
            .lse = static_cast<float*>(buffers[4].data())};
  }

  /// The largest differences of o and lse from the host's, after the device's are downloaded.
  void check_against_host(Stream stream) {
    std::vector<std::uint16_t> device_o(o.size());
    std::vector<float> device_lse(lse.size());
    buffers[3].download(device_o.data(), device_o.size() * 2, 0, stream);
    buffers[4].download(device_lse.data(), device_lse.size() * 4, 0, stream);
    float o_error = 0, lse_error = 0;
    for (std::size_t i = 0; i < o.size(); ++i)
      o_error = std::max(o_error, std::abs(from_bf16(device_o[i]) - from_bf16(o[i])));
    for (std::size_t i = 0; i < lse.size(); ++i)
      lse_error = std::max(lse_error, std::abs(device_lse[i] - lse[i]));
    CHECK(o_error < 0.01f);
    CHECK(lse_error < 0.001f);
  }

  void poison(Stream stream) {
    buffers[3].fill(0xff, stream);
    buffers[4].fill(0xff, stream);
  }

  const CudaDevice& device;
  std::vector<std::uint16_t> q, k, v, o;
  std::vector<float> lse;
  std::vector<DeviceBuffer> buffers;
};

Spec causal() {
  return Spec::parse(
      "attention gpu_causal\nhead_dim 64\ndtype bf16\nmask_mod = q_idx + kv_len - q_len >= kv_idx\n");
}

}  // namespace

TEST_CASE("the GPU and the host agree, from every cache and on any stream", "[runtime][gpu]") {
  if (skip_without_gpu()) return;
  const TemporaryFolder folder;
  const CudaDevice& device = CudaDevice::get(0);
  Problem problem(device);
  compile(causal(), {.device = Device::host, .cache_dir = folder.path()}).forward(problem.on_host());

  const Options options = {.device = Device::cuda, .cache_dir = folder.path()};
  const OwnedStream stream(device);
  using From = CompileTimes::Source;
  for (const From from : {From::compiled, From::disk, From::memory}) {
    if (from != From::memory) MemoryCache::get().clear();
    const Kernel kernel = compile(causal(), options);
    CHECK(kernel.times().source == from);
    CHECK(kernel.device() == Device::cuda);
    for (const Stream on : {Stream(nullptr), Stream(stream)}) {
      problem.poison(on);
      kernel.forward(problem.on_device(), on);
      problem.check_against_host(on);
    }
  }
  CHECK(compile(causal(), {.cache_dir = folder.path()}).device() == Device::cuda);
}

TEST_CASE("no keys leave zeros and -inf on the GPU", "[runtime][gpu]") {
  if (skip_without_gpu()) return;
  const CudaDevice& device = CudaDevice::get(0);
  Problem problem(device);
  const Kernel kernel = compile(causal(), {.device = Device::cuda});
  problem.poison(nullptr);
  ForwardArgs args = problem.on_device();
  args.k.shape[2] = args.v.shape[2] = 0;
  kernel.forward(args);
  std::vector<std::uint16_t> o(problem.o.size());
  std::vector<float> lse(problem.lse.size());
  problem.buffers[3].download(o.data(), o.size() * 2);
  problem.buffers[4].download(lse.data(), lse.size() * 4);
  CHECK(std::count(o.begin(), o.end(), 0) == static_cast<std::ptrdiff_t>(o.size()));
  CHECK(std::count(lse.begin(), lse.end(), -INFINITY) == static_cast<std::ptrdiff_t>(lse.size()));
}

TEST_CASE("a forward is captured in a graph and replayed", "[runtime][gpu]") {
  if (skip_without_gpu()) return;
  std::string error;
  const DynLib lib = DynLib::open("libcuda.so.1", error);
  REQUIRE(lib);
  const auto begin =
      reinterpret_cast<CUresult (*)(CUstream, CUstreamCaptureMode)>(lib.symbol("cuStreamBeginCapture_v2"));
  const auto end = reinterpret_cast<decltype(&cuStreamEndCapture)>(lib.symbol("cuStreamEndCapture"));
  const auto instantiate = reinterpret_cast<CUresult (*)(CUgraphExec*, CUgraph, unsigned long long)>(
      lib.symbol("cuGraphInstantiateWithFlags"));
  const auto launch = reinterpret_cast<decltype(&cuGraphLaunch)>(lib.symbol("cuGraphLaunch"));

  const CudaDevice& device = CudaDevice::get(0);
  const CudaDevice::Current current(device);
  Problem problem(device);
  compile(causal(), {.device = Device::host}).forward(problem.on_host());
  // The kernel is fresh, so that whatever the driver loads lazily would be loaded in the capture.
  const Kernel kernel = compile(causal(), {.device = Device::cuda, .memory_cache = false});
  const OwnedStream stream(device);
  const auto raw = static_cast<CUstream>(Stream(stream));
  REQUIRE(begin(raw, CU_STREAM_CAPTURE_MODE_GLOBAL) == CUDA_SUCCESS);
  kernel.forward(problem.on_device(), stream);
  CUgraph graph = nullptr;
  REQUIRE(end(raw, &graph) == CUDA_SUCCESS);
  CUgraphExec executable = nullptr;
  REQUIRE(instantiate(&executable, graph, 0) == CUDA_SUCCESS);
  for (int replay = 0; replay < 2; ++replay) {
    problem.poison(stream);
    REQUIRE(launch(executable, raw) == CUDA_SUCCESS);
    problem.check_against_host(stream);
  }
}

TEST_CASE("a missing device is refused with a remedy", "[runtime][gpu]") {
  if (skip_without_gpu()) return;
  CHECK(message_of<DeviceError>([] {
          compile(causal(), {.device = Device::cuda, .cuda_device = 99});
        }).find("there is no CUDA device 99") == 0);
}

TEST_CASE("time on the device is measured", "[runtime][gpu]") {
  if (skip_without_gpu()) return;
  const CudaDevice& device = CudaDevice::get(0);
  Problem problem(device);
  const Kernel kernel = compile(causal(), {.device = Device::cuda});
  const std::vector<double> times =
      time_on_device(device, 5, [&](int) { kernel.forward(problem.on_device()); });
  REQUIRE(times.size() == 5);
  for (const double time : times) CHECK(time > 0);
  CHECK(device_memory(device).total > device_memory(device).free);
  CHECK(buffer_use(device).now > 0);
  device.synchronize();
}
