// fa::Kernel and fa::Tensor: the public face of a loaded kernel.
#include "fa/kernel.h"

#include <fmt/format.h>

#include "compiler/program/workspace.h"
#include "runtime/call/arguments.h"
#include "runtime/call/backward_arguments.h"
#include "runtime/call/kernel_state.h"
#include "runtime/cuda/launch.h"

namespace fa {

Tensor Tensor::bhsd(void* data, DType dtype, std::int64_t batch, std::int64_t heads, std::int64_t length,
                    std::int64_t dim) {
  return {.data = data,
          .dtype = dtype,
          .shape = {batch, heads, length, dim},
          .strides = {heads * length * dim, length * dim, dim, 1}};
}

Tensor Tensor::bshd(void* data, DType dtype, std::int64_t batch, std::int64_t heads, std::int64_t length,
                    std::int64_t dim) {
  return {.data = data,
          .dtype = dtype,
          .shape = {batch, heads, length, dim},
          .strides = {length * heads * dim, dim, heads * dim, 1}};
}

namespace {

constexpr std::string_view kForwardWorkspace = "Kernel::workspace_bytes(args)";

void check_workspace(std::size_t needed, const void* workspace, std::size_t bytes, std::string_view function,
                     std::string_view memory) {
  if (needed == 0) return;
  if (workspace == nullptr || bytes < needed) {
    throw ArgumentError(fmt::format("workspace has {} bytes, this call needs {}: pass {} of {} bytes",
                                    workspace == nullptr ? 0 : bytes, needed, memory, function));
  }
  if (reinterpret_cast<std::uintptr_t>(workspace) % 16 != 0)
    throw ArgumentError("workspace is not aligned to 16 bytes: pass an address that is");
}

KernelPlan plan_of_bucket(const CudaBuckets& of, const CudaBucket& bucket) {
  return {.calls = describe_bucket(bucket.bucket, of.all().size()), .plan = bucket.plan};
}

void check_has_backward(const LoadedKernel& kernel) {
  if (!kernel.backward.run)
    throw ArgumentError(fmt::format("this kernel has no backward pass: {}", kernel.backward_remedy));
}

}  // namespace

std::size_t Kernel::workspace_bytes(const ForwardArgs& args) const {
  const LoadedKernel& kernel = *state_->loaded;
  if (kernel.cuda.empty() && !kernel.host.workspace_needed) return 0;
  ForwardParams params{};
  if (prepare(kernel.spec.checked(), kernel.device, args, params) != Work::kernel) return 0;
  if (kernel.cuda.empty()) return kernel.host.workspace_bytes(params.call);
  return fa::workspace_bytes(kernel.cuda.of(params.call).code->program, params.call);
}

void Kernel::forward(const ForwardArgs& args, Stream stream) const {
  const LoadedKernel& kernel = *state_->loaded;
  const CheckedSpec& checked = kernel.spec.checked();
  ForwardParams params{};
  const Work work = prepare(checked, kernel.device, args, params);
  const int element = dtype_bytes(checked.dtype);
  switch (work) {
    case Work::nothing:
      return;
    case Work::empty_rows:
      if (!kernel.cuda.empty()) {
        launch_empty_rows(kernel.cuda.device(), params, checked.head_dim_v, element, stream);
      } else {
        fill_empty_rows(params, checked.head_dim_v, element);
      }
      return;
    case Work::kernel:
      if (kernel.check) kernel.check(args, stream);
      if (!kernel.cuda.empty()) {
        const CudaKernel& code = *kernel.cuda.of(params.call).code;
        check_workspace(fa::workspace_bytes(code.program, params.call), args.workspace, args.workspace_bytes,
                        kForwardWorkspace, "device memory");
        const std::int64_t row = std::int64_t{element} * (checked.head_dim + checked.head_dim_v);
        launch(code, params, params.call.kv_len * row, args.workspace, stream);
      } else {
        check_workspace(kernel.host.workspace_bytes(params.call), args.workspace, args.workspace_bytes,
                        kForwardWorkspace, "memory");
        kernel.host.run(params, args.workspace);
      }
      return;
  }
}

std::size_t Kernel::backward_workspace_bytes(const BackwardArgs& args) const {
  const LoadedKernel& kernel = *state_->loaded;
  check_has_backward(kernel);
  const BackwardCall call = prepare_backward(kernel.spec.checked(), kernel.device, args);
  return call.has_elements ? kernel.backward.workspace_bytes(call) : 0;
}

void Kernel::backward(const BackwardArgs& args, Stream stream) const {
  const LoadedKernel& kernel = *state_->loaded;
  check_has_backward(kernel);
  const CheckedSpec& checked = kernel.spec.checked();
  const BackwardCall call = prepare_backward(checked, kernel.device, args);
  if (!call.has_elements) {
    if (kernel.cuda.empty()) return fill_zeros(checked, call);
    return launch_zeros(kernel.cuda.device(), checked, call, stream);
  }
  if (kernel.check) kernel.check(args.forward, stream);
  check_workspace(kernel.backward.workspace_bytes(call), args.workspace, args.workspace_bytes,
                  "Kernel::backward_workspace_bytes(args)", kernel.cuda.empty() ? "memory" : "device memory");
  kernel.backward.run(call, args.workspace, stream);
}

Device Kernel::device() const { return state_->loaded->device; }
const Spec& Kernel::spec() const { return state_->loaded->spec; }
const std::string& Kernel::target() const { return state_->loaded->target; }
const std::string& Kernel::plan() const { return state_->loaded->plan; }

KernelPlan Kernel::plan_for(const ForwardArgs& args) const {
  const LoadedKernel& kernel = *state_->loaded;
  ForwardParams params{};
  prepare(kernel.spec.checked(), kernel.device, args, params);
  if (kernel.cuda.empty()) return {.calls = Bucket{}.print(), .plan = kernel.plan};
  return plan_of_bucket(kernel.cuda, kernel.cuda.of(params.call));
}

std::vector<KernelPlan> Kernel::plans() const {
  const LoadedKernel& kernel = *state_->loaded;
  if (kernel.cuda.empty()) return {{.calls = Bucket{}.print(), .plan = kernel.plan}};
  std::vector<KernelPlan> plans;
  for (const CudaBucket& bucket : kernel.cuda.all()) plans.push_back(plan_of_bucket(kernel.cuda, bucket));
  return plans;
}

const CompileTimes& Kernel::times() const { return state_->times; }

}  // namespace fa
