#include "runtime/cuda/backward_pass.h"

#include "compiler/program/workspace.h"
#include "compiler/spec/dtype.h"
#include "runtime/cuda/launch.h"

namespace fa {

BackwardPass backward_on_gpu(std::shared_ptr<const CudaKernel> code, const CheckedSpec& spec) {
  const std::int64_t row = std::int64_t{dtype_bytes(spec.dtype)} * (spec.head_dim + spec.head_dim_v);
  return {.workspace_bytes =
              [code](const BackwardCall& call) { return workspace_bytes(code->program, call.params); },
          .run =
              [code, row](const BackwardCall& call, void* workspace, Stream stream) {
                launch_backward(*code, call, call.params.forward.call.kv_len * row, workspace, stream);
              }};
}

}  // namespace fa
