#include "runtime/cuda/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "compiler/program/grid.h"
#include "compiler/program/workspace.h"
#include "compiler/spec/dtype.h"
#include "runtime/cuda/by_head.h"
#include "runtime/cuda/driver.h"
#include "runtime/cuda/turns.h"

namespace fa {
namespace {

constexpr unsigned kMinusInfinity = 0xff800000u;  // its bits as a float

/// `params`: the pass's arguments.
template <class Params>
void enqueue(const CudaKernel& kernel, std::size_t number, const Params& params, const Blocks& blocks,
             Stream stream) {
  const Pass& pass = kernel.program[number];
  void* arguments[] = {const_cast<Params*>(&params)};  // the driver copies it before it returns
  const DriverTable& table = kernel.device.table();
  CUlaunchAttribute overlap = {};
  overlap.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  overlap.value.programmaticStreamSerializationAllowed = 1;
  const CUlaunchConfig config = {.gridDimX = static_cast<unsigned>(blocks.x),
                                 .gridDimY = static_cast<unsigned>(blocks.y),
                                 .gridDimZ = static_cast<unsigned>(blocks.z),
                                 .blockDimX = static_cast<unsigned>(pass.threads),
                                 .blockDimY = 1,
                                 .blockDimZ = 1,
                                 .sharedMemBytes = static_cast<unsigned>(pass.shared_memory),
                                 .hStream = static_cast<CUstream>(stream),
                                 .attrs = &overlap,
                                 .numAttrs = overlaps_on(pass, kernel.device.info()) ? 1U : 0U};
  const CUresult result = table.launch_kernel(&config, kernel.functions[number], arguments, nullptr);
  if (result != CUDA_SUCCESS) check_driver(table, result, fmt::format("launching {}", pass.entry));
}

/// Rows of a tensor.
struct Rows {
  void* data;
  TensorStrides strides;
  int batch, heads, length;
};

void zero_rows(const CudaDevice& device, const Rows& rows, int row_bytes, int element, Stream stream) {
  if (rows.length == 0) return;
  const DriverTable& table = device.table();
  const auto width = static_cast<std::size_t>(row_bytes);
  const std::size_t pitch = rows.length == 1 ? width : static_cast<std::size_t>(rows.strides.row * element);
  for (int b = 0; b < rows.batch; ++b)
    for (int h = 0; h < rows.heads; ++h) {
      const std::int64_t offset = (b * rows.strides.batch + h * rows.strides.head) * element;
      const CUdeviceptr first = reinterpret_cast<CUdeviceptr>(rows.data) + static_cast<CUdeviceptr>(offset);
      check_driver(table,
                   table.memset_d2d8_async(first, pitch, 0, width, static_cast<std::size_t>(rows.length),
                                           static_cast<CUstream>(stream)),
                   "zeroing the output");
    }
}

void zero_captured(const CudaDevice& device, const BackwardCall& call, Stream stream) {
  for (std::size_t i = 0; i < call.gradients.size(); ++i) {
    if (call.gradients[i] == nullptr || call.params.elements[i] == 0) continue;
    check_driver(device.table(),
                 device.table().memset_d32_async(reinterpret_cast<CUdeviceptr>(call.gradients[i]), 0,
                                                 static_cast<std::size_t>(call.params.elements[i]),
                                                 static_cast<CUstream>(stream)),
                 "zeroing a captured gradient");
  }
}

/// The exact sums of captured gradients begin as zeros, too.
void zero_exact_sums(const CudaDevice& device, const BackwardParams& params, Stream stream) {
  for (int i = 0; i < kMaxGradients; ++i) {
    if (params.exact_sums[i] == nullptr || params.elements[i] == 0) continue;
    check_driver(device.table(),
                 device.table().memset_d32_async(
                     reinterpret_cast<CUdeviceptr>(params.exact_sums[i]), 0,
                     static_cast<std::size_t>(params.elements[i]) * (sizeof(ExactSum) / sizeof(int)),
                     static_cast<CUstream>(stream)),
                 "zeroing the sums of a captured gradient");
  }
}

void zero_head_counts(const CudaDevice& device, const BackwardParams& params, Stream stream) {
  check_driver(
      device.table(),
      device.table().memset_d32_async(reinterpret_cast<CUdeviceptr>(params.head_counts), 0,
                                      static_cast<std::size_t>(head_counts_size(params.forward.call)),
                                      static_cast<CUstream>(stream)),
      "zeroing the counts of a backward pass");
}

std::int64_t rows(const ForwardParams& params) {
  return std::int64_t{params.call.batch} * params.call.num_q_heads * params.call.q_len;
}

}  // namespace

void launch(const CudaKernel& kernel, ForwardParams params, std::int64_t kv_bytes, void* workspace,
            Stream stream) {
  const CudaDevice::Current current(kernel.device);
  const DeviceInfo& gpu = kernel.device.info();
  if (is_baseline(kernel.program)) {
    BaselineParams baseline{};
    baseline.forward = params;
    place_workspace(kernel.program, workspace, baseline);
    for (std::size_t number = 0; number < kernel.program.size(); ++number) {
      number_blocks(kernel.program[number], kv_bytes, gpu, baseline.forward);
      enqueue(kernel, number, baseline, blocks_of(kernel.program[number], baseline.forward), stream);
    }
    return;
  }
  place_workspace(kernel.program, workspace, params);
  for (std::size_t number = 0; number < kernel.program.size(); ++number) {
    number_blocks(kernel.program[number], kv_bytes, gpu, params);
    enqueue(kernel, number, params, blocks_of(kernel.program[number], params), stream);
  }
}

void launch_backward(const CudaKernel& kernel, const BackwardCall& call, std::int64_t kv_bytes,
                     void* workspace, Stream stream) {
  const CudaDevice::Current current(kernel.device);
  zero_captured(kernel.device, call, stream);
  BackwardParams params = call.params;
  std::ranges::copy(call.gradients, params.gradients);
  place_workspace(kernel.program, workspace, 0, params);
  zero_exact_sums(kernel.device, params, stream);
  const DeviceInfo& gpu = kernel.device.info();
  const int blocks_of_stats = blocks_of_stats_by_head(kernel.program, params.forward.call, kv_bytes, gpu);
  if (blocks_of_stats != 0) zero_head_counts(kernel.device, params, stream);
  for (std::size_t number = 0; number < kernel.program.size(); ++number) {
    const Pass& pass = kernel.program[number];
    place_workspace(kernel.program, workspace, number, params);
    if (blocks_of_stats == 0) params.head_counts = nullptr;
    number_blocks(pass, kv_bytes, gpu, params.forward);
    Blocks blocks = blocks_of(pass, params.forward);
    if (pass.grid == Grid::row_stats && blocks_of_stats != 0) blocks.x = blocks_of_stats;
    enqueue(kernel, number, params, blocks, stream);
  }
}

void launch_zeros(const CudaDevice& device, const CheckedSpec& spec, const BackwardCall& call,
                  Stream stream) {
  const CudaDevice::Current current(device);
  const BackwardParams& params = call.params;
  const CallParams& size = params.forward.call;
  const int element = dtype_bytes(spec.dtype);
  const auto zero = [&](void* data, const TensorStrides& strides, int heads, int length, int dim) {
    zero_rows(device,
              {.data = data, .strides = strides, .batch = size.batch, .heads = heads, .length = length},
              dim * element, element, stream);
  };
  zero(params.d_q, params.d_q_strides, size.num_q_heads, size.q_len, spec.head_dim);
  zero(params.d_k, params.d_k_strides, size.num_kv_heads, size.kv_len, spec.head_dim);
  zero(params.d_v, params.d_v_strides, size.num_kv_heads, size.kv_len, spec.head_dim_v);
  zero_captured(device, call, stream);
}

void launch_empty_rows(const CudaDevice& device, const ForwardParams& params, int head_dim_v, int element,
                       Stream stream) {
  const DriverTable& table = device.table();
  const CudaDevice::Current current(device);
  const auto to = static_cast<CUstream>(stream);
  zero_rows(device,
            {.data = params.o,
             .strides = params.o_strides,
             .batch = params.call.batch,
             .heads = params.call.num_q_heads,
             .length = params.call.q_len},
            head_dim_v * element, element, stream);
  if (params.lse == nullptr) return;
  check_driver(table,
               table.memset_d32_async(reinterpret_cast<CUdeviceptr>(params.lse), kMinusInfinity,
                                      static_cast<std::size_t>(rows(params)), to),
               "filling lse");
}

void fill_empty_rows(const ForwardParams& params, int head_dim_v, int element) {
  char* const out = static_cast<char*>(params.o);
  const auto width = static_cast<std::size_t>(head_dim_v) * static_cast<std::size_t>(element);
  for (int b = 0; b < params.call.batch; ++b)
    for (int h = 0; h < params.call.num_q_heads; ++h)
      for (int row = 0; row < params.call.q_len; ++row) {
        const std::int64_t at =
            b * params.o_strides.batch + h * params.o_strides.head + row * params.o_strides.row;
        std::memset(out + at * element, 0, width);
      }
  if (params.lse != nullptr) std::fill_n(params.lse, rows(params), -std::numeric_limits<float>::infinity());
}

}  // namespace fa
