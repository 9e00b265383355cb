// What filling tile maps costs on an NVIDIA GPU, as a stream sees it: for each spec the same forward passes
// in three CUDA graphs, with their passes that fill the map, with those passes but nothing overlapped, and
// without them (the maps are there). Prints a JSON object a line. ncu, which bench/tile_map_cost.py asks, runs
// kernels one by one and does not see what overlaps.
//   tile_map_cost LENGTH SPEC.fa...
#include <cuda.h>
#include <dlfcn.h>
#include <fa/fa.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/problem/problem.h"
#include "tools/problem/session.h"

namespace {

using namespace fa;

constexpr int kPasses = 20;  // forward passes of a graph
constexpr int kRounds = 60;

void check(CUresult result, const char* doing) {
  if (result != CUDA_SUCCESS)
    throw DeviceError(std::string(doing) + ": CUresult " + std::to_string(result), result);
}

/// A function of the driver, by the name that its library exports.
template <class Function>
Function* driver_function(const char* name) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  void* const symbol = library == nullptr ? nullptr : dlsym(library, name);
  if (symbol == nullptr) throw DeviceError(std::string("no ") + name + " in libcuda.so.1", 0);
  return reinterpret_cast<Function*>(symbol);
}
#define DRIVER(function, symbol) driver_function<decltype(function)>(symbol)

enum class Kept { all, all_in_turn, forward_alone };

/// The captured kernels, one after the other.
CUgraphExec chain(CUgraph captured, Kept kept) {
  const auto get_nodes = DRIVER(cuGraphGetNodes, "cuGraphGetNodes");
  std::size_t count = 0;
  check(get_nodes(captured, nullptr, &count), "counting nodes");
  std::vector<CUgraphNode> nodes(count);
  check(get_nodes(captured, nodes.data(), &count), "listing nodes");
  CUgraph graph = captured;
  if (kept != Kept::all) {
    check(DRIVER(cuGraphCreate, "cuGraphCreate")(&graph, 0), "making a graph");
    CUgraphNode last = nullptr;
    for (CUgraphNode node : nodes) {
      CUDA_KERNEL_NODE_PARAMS params = {};
      check(DRIVER(cuGraphKernelNodeGetParams, "cuGraphKernelNodeGetParams_v2")(node, &params),
            "reading a node");
      const char* name = nullptr;
      check(DRIVER(cuFuncGetName, "cuFuncGetName")(&name, params.func), "reading a kernel's name");
      if (kept == Kept::forward_alone && std::string(name) == "facet_tile_map") continue;
      CUgraphNode added = nullptr;
      check(DRIVER(cuGraphAddKernelNode, "cuGraphAddKernelNode_v2")(&added, graph, &last,
                                                                    last == nullptr ? 0 : 1, &params),
            "adding a node");
      last = added;
    }
  }
  CUgraphExec executable = nullptr;
  check(DRIVER(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags")(&executable, graph, 0),
        "instantiating a graph");
  return executable;
}

/// Microseconds of one pass of the graph.
double time_once(CUgraphExec graph, CUstream stream, const std::vector<CUevent>& events) {
  const auto record = DRIVER(cuEventRecord, "cuEventRecord");
  check(record(events[0], stream), "recording an event");
  check(DRIVER(cuGraphLaunch, "cuGraphLaunch")(graph, stream), "launching a graph");
  check(record(events[1], stream), "recording an event");
  check(DRIVER(cuEventSynchronize, "cuEventSynchronize")(events[1]), "waiting");
  float milliseconds = 0;
  check(DRIVER(cuEventElapsedTime, "cuEventElapsedTime")(&milliseconds, events[0], events[1]), "timing");
  return 1000.0 * milliseconds / kPasses;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

nlohmann::json measure(const std::string& file, int length) {
  std::ifstream in(file);
  if (!in) throw ArgumentError(file + " cannot be read");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const Spec spec = Spec::parse(text, file).with_head_dim(128).with_dtype(DType::bf16);
  tools::ProblemInputs inputs;
  inputs.size = {.batch = 2, .num_q_heads = 16, .num_kv_heads = 16, .q_len = length, .kv_len = length};
  const tools::Problem problem = tools::make_problem(spec, inputs);
  const Kernel kernel = compile(spec, {.device = Device::cuda});
  tools::Session session(problem, Device::cuda);
  session.launch(kernel);
  session.synchronize();

  CUcontext context = nullptr;
  check(DRIVER(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain")(&context, 0), "finding the context");
  check(DRIVER(cuCtxSetCurrent, "cuCtxSetCurrent")(context), "entering the context");
  CUstream stream = nullptr;
  check(DRIVER(cuStreamCreate, "cuStreamCreate")(&stream, CU_STREAM_NON_BLOCKING), "making a stream");
  check(DRIVER(cuStreamBeginCapture, "cuStreamBeginCapture_v2")(stream, CU_STREAM_CAPTURE_MODE_RELAXED),
        "capturing");
  for (int i = 0; i < kPasses; ++i) session.launch(kernel, 0, stream);
  CUgraph captured = nullptr;
  check(DRIVER(cuStreamEndCapture, "cuStreamEndCapture")(stream, &captured), "capturing");
  const CUgraphExec graphs[] = {chain(captured, Kept::all), chain(captured, Kept::all_in_turn),
                                chain(captured, Kept::forward_alone)};
  std::vector<CUevent> events(2);
  for (CUevent& event : events)
    check(DRIVER(cuEventCreate, "cuEventCreate")(&event, CU_EVENT_DEFAULT), "making an event");
  std::vector<double> times[3];
  for (int round = -2; round < kRounds; ++round)
    for (int i = 0; i < 3; ++i) {
      const double time = time_once(graphs[i], stream, events);
      if (round >= 0) times[i].push_back(time);
    }
  std::vector<double> added;  // within a round, as the clock drifts
  for (std::size_t round = 0; round < times[0].size(); ++round)
    added.push_back(times[0][round] - times[2][round]);
  return {{"mask", spec.name()},
          {"forward_us", median(times[2])},
          {"with_map_us", median(times[0])},
          {"in_turn_us", median(times[1])},
          {"added_us", median(added)}};
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3 || std::atoi(argv[1]) <= 0) {
    std::fprintf(stderr, "usage: tile_map_cost LENGTH SPEC.fa...\n");
    return 2;
  }
  for (int i = 2; i < argc; ++i) std::printf("%s\n", measure(argv[i], std::atoi(argv[1])).dump().c_str());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "tile_map_cost: %s\n", error.what());
  return 1;
}
