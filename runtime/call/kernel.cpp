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

void check_has_backward(const LoadedKernel& kernel) {
  if (!kernel.backward.run)
    throw ArgumentError(fmt::format("this kernel has no backward pass: {}", kernel.backward_remedy));
}

}  // namespace

std::size_t Kernel::workspace_bytes(const ForwardArgs& args) const {
  const LoadedKernel& kernel = *state_->loaded;
  if (kernel.cuda == nullptr) return 0;
  ForwardParams params{};
  if (prepare(kernel.spec.checked(), kernel.device, args, params) != Work::kernel) return 0;
  return fa::workspace_bytes(kernel.cuda->program, params.call);
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
      if (kernel.cuda != nullptr) {
        launch_empty_rows(kernel.cuda->device, params, checked.head_dim_v, element, stream);
      } else {
        fill_empty_rows(params, checked.head_dim_v, element);
      }
      return;
    case Work::kernel:
      if (kernel.check) kernel.check(args, stream);
      if (kernel.cuda != nullptr) {
        check_workspace(fa::workspace_bytes(kernel.cuda->program, params.call), args.workspace,
                        args.workspace_bytes, "Kernel::workspace_bytes(args)", "device memory");
        const std::int64_t row = std::int64_t{element} * (checked.head_dim + checked.head_dim_v);
        launch(*kernel.cuda, params, params.call.kv_len * row, args.workspace, stream);
      } else {
        kernel.host(params);
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
    if (kernel.cuda == nullptr) return fill_zeros(checked, call);
    return launch_zeros(kernel.cuda->device, checked, call, stream);
  }
  if (kernel.check) kernel.check(args.forward, stream);
  check_workspace(kernel.backward.workspace_bytes(call), args.workspace, args.workspace_bytes,
                  "Kernel::backward_workspace_bytes(args)",
                  kernel.cuda == nullptr ? "memory" : "device memory");
  kernel.backward.run(call, args.workspace, stream);
}

Device Kernel::device() const { return state_->loaded->device; }
const Spec& Kernel::spec() const { return state_->loaded->spec; }
const std::string& Kernel::target() const { return state_->loaded->target; }
const std::string& Kernel::plan() const { return state_->loaded->plan; }
const CompileTimes& Kernel::times() const { return state_->times; }

}  // namespace fa
