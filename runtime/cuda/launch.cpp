#include "runtime/cuda/launch.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/cuda/driver.h"

namespace fa {
namespace {

constexpr unsigned kMinusInfinity = 0xff800000u;  // its bits as a float

// CUDA 12.3: from there on graphs hold an overlap that was captured.
constexpr int kCapturesOverlap = 12030;

struct Grid {
  int x, y, z;
  int threads;
  int shared_memory;
};

/// `overlaps`: whether it may start before the kernel that was enqueued last has ended, and waits for that
/// itself.
void enqueue(const CudaKernel& kernel, CUfunction function, Grid grid, const ForwardParams& params,
             Stream stream, bool overlaps) {
  void* arguments[] = {const_cast<ForwardParams*>(&params)};  // the driver copies it before it returns
  const DriverTable& table = kernel.device.table();
  CUlaunchAttribute overlap = {};
  overlap.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  overlap.value.programmaticStreamSerializationAllowed = 1;
  const CUlaunchConfig config = {.gridDimX = static_cast<unsigned>(grid.x),
                                 .gridDimY = static_cast<unsigned>(grid.y),
                                 .gridDimZ = static_cast<unsigned>(grid.z),
                                 .blockDimX = static_cast<unsigned>(grid.threads),
                                 .blockDimY = 1,
                                 .blockDimZ = 1,
                                 .sharedMemBytes = static_cast<unsigned>(grid.shared_memory),
                                 .hStream = static_cast<CUstream>(stream),
                                 .attrs = &overlap,
                                 .numAttrs = overlaps ? 1U : 0U};
  const CUresult result = table.launch_kernel(&config, function, arguments, nullptr);
  if (result != CUDA_SUCCESS) {
    check_driver(
        table, result,
        function == kernel.function ? "launching the forward kernel" : "launching the tile map's kernel");
  }
}

/// Up to four heads take turns at a q tile, as long as their K and V fit the L2 cache together: more heads
/// shorten the end of a launch (a causal mask at 16384 rows: 6% of the ideal time with one, 0.2% with four
/// and with 16), but what tiles of one head read in common would fall out of it.
int head_shift(const ForwardParams& params, std::int64_t kv_bytes, std::int64_t l2_bytes) {
  const auto fits = [&](int heads) {
    const int kv_heads = (heads + params.group_size - 1) / params.group_size;
    return params.num_q_heads % heads == 0 && kv_heads * kv_bytes <= l2_bytes;
  };
  return fits(4) ? 2 : fits(2) ? 1 : 0;
}

std::int64_t rows(const ForwardParams& params) {
  return std::int64_t{params.batch} * params.num_q_heads * params.q_len;
}

}  // namespace

std::size_t workspace_bytes(const CudaKernel& kernel, const ForwardParams& params) {
  const Launch& launch = kernel.launch;
  if (!launch.tile_map) return 0;
  return static_cast<std::size_t>(map_size(*launch.tile_map, params, launch.tile_q, launch.tile_kv)) *
         sizeof(int);
}

void launch_forward(const CudaKernel& kernel, const ForwardParams& params, std::int64_t kv_bytes,
                    Stream stream) {
  const CudaDevice::Current current(kernel.device);
  const Launch& launch = kernel.launch;
  if (kernel.tile_map_function != nullptr) {
    const TileMapShape shape = *launch.tile_map;
    enqueue(kernel, kernel.tile_map_function,
            {.x = kBytesAWord * map_words(params, launch.tile_kv) *
                  map_shares(shape, params, launch.tile_q, launch.tile_kv),
             .y = shape.of_head ? params.num_q_heads : 1,
             .z = shape.of_batch ? params.batch : 1,
             .threads = launch.tile_map_threads,
             .shared_memory = 0},
            params, stream, false);
  }
  ForwardParams ordered = params;
  ordered.head_shift = head_shift(params, kv_bytes, kernel.device.info().l2_bytes);
  enqueue(kernel, kernel.function,
          {.x = count_tiles(params.q_len, launch.tile_q) << ordered.head_shift,
           .y = params.num_q_heads >> ordered.head_shift,
           .z = params.batch,
           .threads = launch.threads,
           .shared_memory = launch.shared_memory},
          ordered, stream,
          launch.overlaps_tile_map && kernel.device.info().driver_version >= kCapturesOverlap);
}

void launch_empty_rows(const CudaDevice& device, const ForwardParams& params, int head_dim_v, int element,
                       Stream stream) {
  const DriverTable& table = device.table();
  const CudaDevice::Current current(device);
  const auto to = static_cast<CUstream>(stream);
  const auto width = static_cast<std::size_t>(head_dim_v) * static_cast<std::size_t>(element);
  const std::size_t pitch =
      params.q_len == 1 ? width : static_cast<std::size_t>(params.o_strides.row * element);
  for (int b = 0; b < params.batch; ++b) {
    for (int h = 0; h < params.num_q_heads; ++h) {
      const std::int64_t offset = (b * params.o_strides.batch + h * params.o_strides.head) * element;
      const CUdeviceptr first = reinterpret_cast<CUdeviceptr>(params.o) + static_cast<CUdeviceptr>(offset);
      check_driver(
          table, table.memset_d2d8_async(first, pitch, 0, width, static_cast<std::size_t>(params.q_len), to),
          "zeroing the output");
    }
  }
  if (params.lse == nullptr) return;
  check_driver(table,
               table.memset_d32_async(reinterpret_cast<CUdeviceptr>(params.lse), kMinusInfinity,
                                      static_cast<std::size_t>(rows(params)), to),
               "filling lse");
}

void fill_empty_rows(const ForwardParams& params, int head_dim_v, int element) {
  char* const out = static_cast<char*>(params.o);
  const auto width = static_cast<std::size_t>(head_dim_v) * static_cast<std::size_t>(element);
  for (int b = 0; b < params.batch; ++b)
    for (int h = 0; h < params.num_q_heads; ++h)
      for (int row = 0; row < params.q_len; ++row) {
        const std::int64_t at =
            b * params.o_strides.batch + h * params.o_strides.head + row * params.o_strides.row;
        std::memset(out + at * element, 0, width);
      }
  if (params.lse != nullptr) std::fill_n(params.lse, rows(params), -std::numeric_limits<float>::infinity());
}

}  // namespace fa
