// facet._core.Kernel and compile. Python's lock is free while Facet compiles and computes.
#include "fa/kernel.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <new>

#include "fa/backward.h"
#include "fa/error.h"
#include "python/src/bind.h"
#include "python/src/captured.h"
#include "python/src/view.h"

namespace nb = nanobind;

namespace fa::python {
namespace {

/// What one call reads and writes, but the gradients.
struct Call {
  const View &q, &k, &v, &o;
  const View* lse;
  const CapturedSet& captured;
  std::optional<float> dropout;
  std::uint64_t seed;
};

float* f32_data(const View* view, const char* name) {
  if (view == nullptr) return nullptr;
  if (view->dtype != DType::f32 || !view->is_contiguous())
    throw ArgumentError(std::string(name) + " must be f32 and contiguous");
  return static_cast<float*>(view->data);
}

ForwardArgs arguments(const Call& call) {
  ForwardArgs args{
      .q = call.q.tensor("q"), .k = call.k.tensor("k"), .v = call.v.tensor("v"), .o = call.o.tensor("o")};
  args.lse = f32_data(call.lse, "lse");
  if (call.lse != nullptr && call.lse->shape != std::vector(call.q.shape.begin(), call.q.shape.end() - 1))
    throw ArgumentError("lse must have the shape [batch, heads, q_len]");
  call.captured.fill(args);
  args.dropout = call.dropout;
  args.seed = call.seed;
  return args;
}

/// Memory of the host for one call.
class Workspace {
 public:
  explicit Workspace(std::size_t bytes) : memory_(bytes == 0 ? nullptr : ::operator new(bytes, kAlignment)) {}
  void* data() const { return memory_.get(); }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Free {
    void operator()(void* memory) const { ::operator delete(memory, kAlignment); }
  };
  std::unique_ptr<void, Free> memory_;
};

/// `workspace` is a GPU's. On the host a call that needs one gets its own.
void forward(const Kernel& kernel, const View& q, const View& k, const View& v, const View& o,
             const View* lse, const CapturedSet& captured, std::optional<float> dropout, std::uint64_t seed,
             std::uintptr_t stream, std::uintptr_t workspace, std::size_t workspace_bytes) {
  ForwardArgs args = arguments({q, k, v, o, lse, captured, dropout, seed});
  args.workspace = reinterpret_cast<void*>(workspace);
  args.workspace_bytes = workspace_bytes;
  const nb::gil_scoped_release released;
  if (kernel.device() == Device::cuda) return kernel.forward(args, reinterpret_cast<Stream>(stream));
  args.workspace_bytes = kernel.workspace_bytes(args);
  const Workspace own(args.workspace_bytes);
  args.workspace = own.data();
  kernel.forward(args);
}

std::size_t workspace_bytes(const Kernel& kernel, const View& q, const View& k, const View& v, const View& o,
                            const CapturedSet& captured) {
  return kernel.workspace_bytes(arguments({q, k, v, o, nullptr, captured, std::nullopt, 0}));
}

/// The gradients' names, which outlive the arguments that refer to them, and the arguments.
struct BackwardCall {
  std::vector<std::string> names;
  BackwardArgs args;

  BackwardCall(const Call& call, const View& d_o, const View* d_lse, const View& d_q, const View& d_k,
               const View& d_v, const nb::dict& gradients)
      : args{.forward = arguments(call),
             .d_o = d_o.tensor("d_o"),
             .d_lse = f32_data(d_lse, "d_lse"),
             .d_q = d_q.tensor("d_q"),
             .d_k = d_k.tensor("d_k"),
             .d_v = d_v.tensor("d_v")} {
    names.reserve(gradients.size());
    for (const auto& [key, value] : gradients) {
      names.push_back(nb::cast<std::string>(key));
      args.gradients.push_back(
          {.name = names.back(), .data = f32_data(&nb::cast<const View&>(value), names.back().c_str())});
    }
  }
};

/// `new_workspace(bytes)` returns an address where the kernel runs; it is asked on a GPU alone.
void backward(const Kernel& kernel, const View& q, const View& k, const View& v, const View& o,
              const View& lse, const CapturedSet& captured, std::optional<float> dropout, std::uint64_t seed,
              const View& d_o, const View* d_lse, const View& d_q, const View& d_k, const View& d_v,
              const nb::dict& gradients, std::uintptr_t stream, const nb::object& new_workspace) {
  BackwardCall call({q, k, v, o, &lse, captured, dropout, seed}, d_o, d_lse, d_q, d_k, d_v, gradients);
  BackwardArgs& args = call.args;
  args.workspace_bytes = kernel.backward_workspace_bytes(args);
  if (kernel.device() == Device::cuda) {
    if (args.workspace_bytes > 0)
      args.workspace = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(new_workspace(args.workspace_bytes)));
    const nb::gil_scoped_release released;
    return kernel.backward(args, reinterpret_cast<Stream>(stream));
  }
  const nb::gil_scoped_release released;
  const Workspace workspace(args.workspace_bytes);
  args.workspace = workspace.data();
  kernel.backward(args);
}

Device device_named(const std::string& name) {
  if (name == "auto") return Device::automatic;
  if (name == "cpu" || name == "host") return Device::host;
  if (name == "cuda") return Device::cuda;
  throw ArgumentError("there is no device '" + name + "'; there are auto, cpu and cuda");
}

Tune tune_named(const std::string& name) {
  if (name == "never") return Tune::never;
  if (name == "cached") return Tune::cached;
  if (name == "once") return Tune::once;
  throw ArgumentError("tune is '" + name + "'; it may be never, cached or once");
}

Impl impl_named(const std::string& name) {
  if (name == "facet") return Impl::facet;
  if (name == "standard") return Impl::standard;
  if (name == "flash1") return Impl::flash1;
  throw ArgumentError("impl is '" + name + "'; it may be facet, standard or flash1");
}

Kernel compile_spec(const Spec& spec, const std::string& device, int cuda_device, int num_threads,
                    bool backward, bool deterministic, const std::string& impl, const std::string& plan,
                    const std::string& backward_plan, const std::string& target, bool checked,
                    const std::string& tune, double tune_seconds, const std::string& cache_dir,
                    bool disk_cache, bool memory_cache) {
  const Options options{.device = device_named(device),
                        .cuda_device = cuda_device,
                        .num_threads = num_threads,
                        .plan = plan,
                        .impl = impl_named(impl),
                        .cache_dir = cache_dir,
                        .disk_cache = disk_cache,
                        .memory_cache = memory_cache,
                        .checked = checked,
                        .backward = backward,
                        .backward_plan = backward_plan,
                        .deterministic = deterministic,
                        .target = target,
                        .tune = tune_named(tune),
                        .tune_seconds = tune_seconds};
  const nb::gil_scoped_release released;
  return compile(spec, options);
}

/// (calls, plan) of each.
nb::list plans(const Kernel& kernel) {
  nb::list all;
  for (const KernelPlan& plan : kernel.plans()) all.append(nb::make_tuple(plan.calls, plan.plan));
  return all;
}

nb::dict times(const Kernel& kernel) {
  constexpr const char* kSources[] = {"compiled", "disk", "memory"};
  const CompileTimes& t = kernel.times();
  nb::dict all;
  all["front_end"] = t.front_end;
  all["build"] = t.build;
  all["driver"] = t.driver;
  all["load"] = t.load;
  all["tune"] = t.tune;
  all["total"] = t.total;
  all["source"] = kSources[static_cast<int>(t.source)];
  all["miss"] = t.miss;
  all["not_kept"] = t.not_kept;
  all["tuned"] = t.tuned;
  return all;
}

}  // namespace

void bind_kernel(nb::module_& module) {
  nb::class_<Kernel>(module, "Kernel")
      .def("forward", &forward, nb::arg("q"), nb::arg("k"), nb::arg("v"), nb::arg("o"), nb::arg("lse").none(),
           nb::arg("captured"), nb::arg("dropout").none(), nb::arg("seed"), nb::arg("stream") = 0,
           nb::arg("workspace") = 0, nb::arg("workspace_bytes") = 0)
      .def("workspace_bytes", &workspace_bytes, nb::arg("q"), nb::arg("k"), nb::arg("v"), nb::arg("o"),
           nb::arg("captured"))
      .def("backward", &backward, nb::arg("q"), nb::arg("k"), nb::arg("v"), nb::arg("o"), nb::arg("lse"),
           nb::arg("captured"), nb::arg("dropout").none(), nb::arg("seed"), nb::arg("d_o"),
           nb::arg("d_lse").none(), nb::arg("d_q"), nb::arg("d_k"), nb::arg("d_v"), nb::arg("gradients"),
           nb::arg("stream") = 0, nb::arg("new_workspace") = nb::none())
      .def_prop_ro("device",
                   [](const Kernel& kernel) { return kernel.device() == Device::host ? "cpu" : "cuda"; })
      .def_prop_ro("spec", &Kernel::spec, nb::rv_policy::copy)
      .def_prop_ro("target", &Kernel::target)
      .def_prop_ro("plan", &Kernel::plan)
      .def_prop_ro("plans", &plans)
      .def_prop_ro("times", &times);
  module.def("compile", &compile_spec, nb::arg("spec"), nb::kw_only(), nb::arg("device"),
             nb::arg("cuda_device"), nb::arg("num_threads"), nb::arg("backward"), nb::arg("deterministic"),
             nb::arg("impl"), nb::arg("plan"), nb::arg("backward_plan"), nb::arg("target"),
             nb::arg("checked"), nb::arg("tune"), nb::arg("tune_seconds"), nb::arg("cache_dir"),
             nb::arg("disk_cache"), nb::arg("memory_cache"));
}

}  // namespace fa::python
