#include "runtime/call/tensor_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "compiler/spec/dtype.h"
#include "runtime/call/refuse.h"

namespace fa {
namespace {

constexpr std::int64_t kFarthest = std::int64_t{1} << 48;  // elements; sums of three stay far below 2^63
constexpr int kBytesAtOnce = 16;                           // of a kernel

}  // namespace

void check_shape(Named t, const CheckedSpec& spec, int dim, std::string_view dim_name) {
  if (!is_dtype(t.tensor.dtype)) refuse("{}.dtype: {}", t.name, no_dtype(t.tensor.dtype));
  if (t.tensor.dtype != spec.dtype) {
    refuse("{} has dtype {}, the kernel takes {}: convert it, or compile the spec with_dtype({})", t.name,
           dtype_name(t.tensor.dtype), dtype_name(spec.dtype), dtype_name(t.tensor.dtype));
  }
  constexpr std::array<std::int64_t, 4> kMost = {std::numeric_limits<int>::max(),
                                                 std::numeric_limits<int>::max(), kMaxLength,
                                                 std::numeric_limits<int>::max()};
  for (std::size_t d = 0; d < 4; ++d) {
    const std::int64_t extent = t.tensor.shape[d];
    if (extent < 0 || extent > kMost[d])
      refuse("{}.shape[{}] ({}) is {}: it must be from 0 to {}", t.name, d, kDimensionNames[d], extent,
             kMost[d]);
  }
  if (t.tensor.shape[1] == 0) refuse("{}.shape[1] (heads) is 0: there must be at least one head", t.name);
  if (t.tensor.shape[3] != dim) {
    refuse("{}.shape[3] (dim) is {}, the kernel's {} is {}: compile the spec with_head_dim", t.name,
           t.tensor.shape[3], dim_name, dim);
  }
}

void check_same(Named a, Named b, std::size_t d) {
  if (a.tensor.shape[d] == b.tensor.shape[d]) return;
  refuse("{}.shape[{}] ({}) is {}, {}'s is {}: they must be the same", a.name, d, kDimensionNames[d],
         a.tensor.shape[d], b.name, b.tensor.shape[d]);
}

void check_memory(Named t, Device device) {
  const auto& [shape, strides] = std::tie(t.tensor.shape, t.tensor.strides);
  if (shape[0] == 0 || shape[2] == 0) return;  // no element, no address
  if (t.tensor.data == nullptr) refuse("{}.data is null: pass the address of its first element", t.name);
  if (strides[3] != 1)
    refuse("{}.strides[3] (dim) is {}: it must be 1; copy the tensor so that rows are contiguous", t.name,
           strides[3]);
  const int bytes = dtype_bytes(t.tensor.dtype);
  const int alignment = device == Device::cuda ? kBytesAtOnce : bytes;
  if (reinterpret_cast<std::uintptr_t>(t.tensor.data) % static_cast<unsigned>(alignment) != 0) {
    refuse("{}.data is not aligned to {} bytes: copy the tensor to memory that is", t.name, alignment);
  }
  for (std::size_t d = 0; d < 3; ++d) {
    if (shape[d] <= 1) continue;  // never multiplied by anything but 0
    if (strides[d] < 0)
      refuse("{}.strides[{}] ({}) is {}: copy the tensor; strides count up", t.name, d, kDimensionNames[d],
             strides[d]);
    if (strides[d] > kFarthest / (shape[d] - 1)) {
      refuse("{}.strides[{}] ({}) is {}: its elements lie beyond any memory", t.name, d, kDimensionNames[d],
             strides[d]);
    }
    if (device == Device::cuda && d == 2 && strides[d] > std::numeric_limits<int>::max()) {
      refuse(
          "{}.strides[2] (length) is {}: CUDA kernels take row strides below 2^31 elements; copy the tensor",
          t.name, strides[d]);
    }
    if (strides[d] * bytes % alignment != 0) {
      refuse(
          "{}.strides[{}] ({}) is {} elements, {} bytes: it must be a multiple of {} bytes; pad the rows or "
          "copy "
          "the tensor",
          t.name, d, kDimensionNames[d], strides[d], strides[d] * bytes, alignment);
    }
  }
}

bool is_injective(const Tensor& t) {
  std::array<std::size_t, 4> order = {0, 1, 2, 3};
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return t.strides[a] < t.strides[b]; });
  std::int64_t reach = 0;  // of the dimensions seen so far: the largest offset
  for (const std::size_t d : order) {
    if (t.shape[d] <= 1) continue;
    if (t.strides[d] <= reach) return false;
    reach += (t.shape[d] - 1) * t.strides[d];
  }
  return true;
}

TensorStrides strides_of(const Tensor& t) {
  // Kernels compute addresses in rows that they never read. The stride of a single row may be anything.
  const auto stride = [&](std::size_t d) -> long long { return t.shape[d] <= 1 ? 0 : t.strides[d]; };
  return {.batch = stride(0), .head = stride(1), .row = stride(2)};
}

}  // namespace fa
