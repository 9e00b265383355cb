// fa::Kernel and fa::Tensor: the public face of a loaded kernel.
#include "fa/kernel.h"

#include "runtime/arguments.h"
#include "runtime/kernel_state.h"
#include "runtime/launch.h"

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
      if (kernel.cuda != nullptr) {
        launch_forward(*kernel.cuda, params, stream);
      } else {
        run_host(*kernel.host, params, kernel.num_threads);
      }
      return;
  }
}

Device Kernel::device() const { return state_->loaded->device; }
const Spec& Kernel::spec() const { return state_->loaded->spec; }
const std::string& Kernel::target() const { return state_->loaded->target; }
const std::string& Kernel::plan() const { return state_->loaded->plan; }
const CompileTimes& Kernel::times() const { return state_->times; }

}  // namespace fa
