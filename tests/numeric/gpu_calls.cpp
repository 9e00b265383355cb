// Calls on a GPU as programs make them: threads and streams at once, captured graphs, several GPUs, kernels
// that outlive their spec, tensors past 2^31 elements. Results are the same bits each time.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <thread>

#include "runtime/cuda/driver.h"
#include "runtime/store/memory_cache.h"
#include "runtime/system/dynlib.h"
#include "tests/catch.h"
#include "tests/numeric/cases.h"
#include "tests/numeric/placed.h"
#include "tests/skip.h"

using namespace fa;
using namespace fa::tools;

namespace {

/// Without and with tables, params, a tile map, a general score, dropout.
const std::vector<std::string> kSpecs = {"full",    "causal",   "sliding_window_alibi",
                                         "softcap", "document", "dropout"};

Problem problem_of(const std::string& name, int q_len = 300, int kv_len = 421) {
  ProblemInputs inputs;
  inputs.size = {.batch = 2, .num_q_heads = 4, .num_kv_heads = 2, .q_len = q_len, .kv_len = kv_len};
  inputs.dropout_seed = 7;
  return make_problem(load_spec(name).with_head_dim(64).with_dtype(DType::f16), inputs);
}

/// Seconds that the long tests take: FA_TEST_SECONDS, else 3.
double test_seconds() {
  const char* const text = std::getenv("FA_TEST_SECONDS");
  return text == nullptr ? 3 : std::atof(text);
}

/// The driver's graph functions, which Facet itself has no use for.
struct Graphs {
  decltype(&cuStreamEndCapture) end;
  CUresult (*begin)(CUstream, CUstreamCaptureMode);
  CUresult (*instantiate)(CUgraphExec*, CUgraph, unsigned long long);
  decltype(&cuGraphLaunch) launch;
  decltype(&cuGraphExecDestroy) destroy_executable;
  decltype(&cuGraphDestroy) destroy;
  DynLib lib;

  Graphs() {
    std::string error;
    lib = DynLib::open("libcuda.so.1", error);
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(lib.symbol(name));
      REQUIRE(function != nullptr);
    };
    find(begin, "cuStreamBeginCapture_v2");
    find(end, "cuStreamEndCapture");
    find(instantiate, "cuGraphInstantiateWithFlags");
    find(launch, "cuGraphLaunch");
    find(destroy_executable, "cuGraphExecDestroy");
    find(destroy, "cuGraphDestroy");
  }
};

}  // namespace

TEST_CASE("cuda: 8 threads, 8 streams, 6 specs at once give the same bits", "[numeric][gpu]") {
  if (skip_without_gpu()) return;
  constexpr int kThreads = 8, kStreams = 8;
  const CudaDevice& device = CudaDevice::get(0);
  std::deque<Placed> placed;
  std::vector<std::vector<std::byte>> expected;
  std::vector<Spec> specs;
  for (const std::string& name : kSpecs) {
    const Problem problem = problem_of(name);
    specs.push_back(problem.spec);
    placed.emplace_back(device, problem);
    const Kernel kernel = compile(problem.spec, uncached(Device::cuda));
    Placed::Call call = placed.back().call(kernel);
    call.poison(nullptr);
    kernel.forward(call.args());
    expected.push_back(call.result(nullptr));
  }
  MemoryCache::get().clear();
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(test_seconds());
  std::atomic<long> launches = 0, wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      std::vector<Kernel> kernels;  // the threads ask for them at once
      for (const Spec& spec : specs) kernels.push_back(compile(spec, {.device = Device::cuda}));
      std::deque<OwnedStream> streams;
      std::vector<Placed::Call> calls;
      for (int s = 0; s < kStreams; ++s) {
        streams.emplace_back(device);
        for (std::size_t i = 0; i < specs.size(); ++i) calls.push_back(placed[i].call(kernels[i]));
      }
      do {
        for (std::size_t at = 0; at < calls.size(); ++at) {
          const Stream stream = streams[at / specs.size()];
          calls[at].poison(stream);
          kernels[at % specs.size()].forward(calls[at].args(), stream);
          ++launches;
        }
        for (std::size_t at = 0; at < calls.size(); ++at)
          if (calls[at].result(streams[at / specs.size()]) != expected[at % specs.size()]) ++wrong;
      } while (std::chrono::steady_clock::now() < until);
    });
  }
  for (std::thread& thread : threads) thread.join();
  fmt::print("{} threads x {} streams x {} specs: {} calls in {} s, {} with other bits\n", kThreads, kStreams,
             specs.size(), launches.load(), test_seconds(), wrong.load());
  CHECK(wrong == 0);
  CHECK(launches >= kThreads * kStreams * static_cast<long>(specs.size()));
}

TEST_CASE("cuda: a kernel loaded in the middle of a capture is captured and replayed", "[numeric][gpu]") {
  if (skip_without_gpu()) return;
  const Graphs graphs;
  const CudaDevice& device = CudaDevice::get(0);
  const CudaDevice::Current current(device);
  for (const CUstreamCaptureMode mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
    for (const std::string& name : kSpecs) {
      INFO(name << ", capture mode " << static_cast<int>(mode));
      const Problem problem = problem_of(name);
      const Placed placed(device, problem);
      const Kernel before = compile(problem.spec, {.device = Device::cuda});
      Placed::Call call = placed.call(before);
      call.poison(nullptr);
      before.forward(call.args());
      const std::vector<std::byte> expected = call.result(nullptr);

      const OwnedStream stream(device);
      const auto raw = static_cast<CUstream>(Stream(stream));
      call.poison(stream);
      stream.synchronize();
      REQUIRE(graphs.begin(raw, mode) == CUDA_SUCCESS);
      const Kernel loaded_now = compile(problem.spec, {.device = Device::cuda, .memory_cache = false});
      loaded_now.forward(call.args(), stream);
      CUgraph graph = nullptr;
      REQUIRE(graphs.end(raw, &graph) == CUDA_SUCCESS);
      CUgraphExec executable = nullptr;
      REQUIRE(graphs.instantiate(&executable, graph, 0) == CUDA_SUCCESS);
      for (int replay = 0; replay < 3; ++replay) {
        call.poison(stream);
        REQUIRE(graphs.launch(executable, raw) == CUDA_SUCCESS);
        CHECK(call.result(stream) == expected);
      }
      graphs.destroy_executable(executable);
      graphs.destroy(graph);
    }
  }
}

TEST_CASE("cuda: every GPU of the process computes the same", "[numeric][gpu]") {
  if (skip_without_gpu()) return;
  const int devices = device_count();
  if (devices < 2) {
    tests::skip("one GPU only");
    return;
  }
  for (const std::string& name : kSpecs) {
    INFO(name);
    const Problem problem = problem_of(name);
    std::deque<Placed> placed;
    std::vector<Kernel> kernels;
    std::vector<Placed::Call> calls;
    for (int ordinal = 0; ordinal < devices; ++ordinal) {
      placed.emplace_back(CudaDevice::get(ordinal), problem);
      kernels.push_back(compile(problem.spec, {.device = Device::cuda, .cuda_device = ordinal}));
      calls.push_back(placed.back().call(kernels.back()));
      calls.back().poison(nullptr);
    }
    // Last first, while the caller has yet another device current.
    const CudaDevice::Current current(CudaDevice::get(0));
    for (std::size_t i = kernels.size(); i-- > 0;) kernels[i].forward(calls[i].args());
    const std::vector<std::byte> first = calls[0].result(nullptr);
    for (std::size_t i = 1; i < calls.size(); ++i) {
      if (placed[i].device().info().name == placed[0].device().info().name)
        CHECK(calls[i].result(nullptr) == first);
    }
  }
}

TEST_CASE("cuda: a kernel's copy outlives spec, original and caches", "[numeric][gpu]") {
  if (skip_without_gpu()) return;
  const CudaDevice& device = CudaDevice::get(0);
  std::vector<Kernel> copies;
  const Problem problem = problem_of("sliding_window_alibi");
  {
    const Spec spec = Spec::parse(problem.spec.text());
    const Kernel kernel = compile(spec, {.device = Device::cuda, .disk_cache = false});
    copies.assign(1000, kernel);
  }
  MemoryCache::get().clear();
  copies.resize(1, copies.front());
  const Placed placed(device, problem);
  Placed::Call call = placed.call(copies.front());
  const Kernel fresh = compile(problem.spec, uncached(Device::cuda));
  fresh.forward(call.args());
  const std::vector<std::byte> expected = call.result(nullptr);
  std::thread([&] {
    call.poison(nullptr);
    copies.front().forward(call.args());
  }).join();
  CHECK(call.result(nullptr) == expected);
}

TEST_CASE("cuda: rows and heads may lie past 2^31 and 2^32 elements", "[numeric][gpu]") {
  if (skip_without_gpu()) return;
  const CudaDevice& device = CudaDevice::get(0);
  constexpr std::int64_t kDim = 64, kHeads = 2, kElements = (std::int64_t{1} << 32) + (1 << 21);
  constexpr std::size_t kBytes = 2;
  if (device_memory(device).free < kElements * 2 + (std::int64_t{1} << 30)) {
    tests::skip("less than 10 GB of the GPU's memory are free");
    return;
  }
  DeviceBuffer memory(device, static_cast<std::size_t>(kElements) * kBytes);
  // q, k, v and o lie side by side in every row, so that all four reach the end of the memory.
  struct Far {
    std::string what;
    std::int64_t rows, row_stride, head_stride;
  };
  for (const Far& far :
       {Far{"rows", 2049, std::int64_t{1} << 21, 512}, Far{"heads", 130, 1024, std::int64_t{1} << 32}}) {
    for (const std::string& name : {std::string("causal"), std::string("document")}) {
      INFO(far.what << " far apart, " << name);
      ProblemInputs inputs;
      const auto length = static_cast<int>(far.rows);
      inputs.size = {
          .batch = 1, .num_q_heads = kHeads, .num_kv_heads = kHeads, .q_len = length, .kv_len = length};
      const Problem problem =
          make_problem(load_spec(name).with_head_dim(kDim).with_dtype(DType::bf16), inputs);
      const Placed placed(device, problem);
      const Kernel kernel = compile(problem.spec, {.device = Device::cuda});
      Placed::Call call = placed.call(kernel);
      kernel.forward(call.args());
      const std::vector<std::byte> expected = call.result(nullptr);

      ForwardArgs args = call.args();
      const auto offset = [&](int which, std::int64_t h, std::int64_t row) {
        return h * far.head_stride + row * far.row_stride + which * kDim;
      };
      Tensor* const views[] = {&args.q, &args.k, &args.v, &args.o};
      const HostTensor* const sources[] = {&problem.q, &problem.k, &problem.v};
      for (int which = 0; which < 4; ++which) {
        views[which]->data = static_cast<std::byte*>(memory.data()) + offset(which, 0, 0) * 2;
        views[which]->strides = {0, far.head_stride, far.row_stride, 1};
        if (which == 3) continue;
        for (std::int64_t h = 0; h < kHeads; ++h)
          for (std::int64_t row = 0; row < far.rows; ++row)
            memory.upload(sources[which]->bytes.data() + (h * far.rows + row) * kDim * 2, kDim * kBytes,
                          static_cast<std::size_t>(offset(which, h, row)) * kBytes);
      }
      call.poison(nullptr);  // lse, and an o that nothing writes
      kernel.forward(args);
      std::vector<std::byte> o(static_cast<std::size_t>(kHeads * far.rows * kDim) * kBytes);
      for (std::int64_t h = 0; h < kHeads; ++h)
        for (std::int64_t row = 0; row < far.rows; ++row)
          memory.download(o.data() + (h * far.rows + row) * kDim * 2, kDim * kBytes,
                          static_cast<std::size_t>(offset(3, h, row)) * kBytes);
      CHECK(std::equal(o.begin(), o.end(), expected.begin()));
      const std::vector<std::byte> after = call.result(nullptr);
      CHECK(std::equal(after.begin() + static_cast<std::ptrdiff_t>(o.size()), after.end(),
                       expected.begin() + static_cast<std::ptrdiff_t>(o.size())));
    }
  }
}
