#include "runtime/call/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "compiler/spec/dtype.h"
#include "runtime/call/captured.h"
#include "runtime/call/overlap.h"

namespace fa {
namespace {

constexpr std::array<std::string_view, 4> kDimensions = {"batch", "heads", "length", "dim"};
constexpr std::int64_t kGridLimit = 65535;                 // of a grid's y and z
constexpr std::int64_t kFarthest = std::int64_t{1} << 48;  // elements; sums of three stay far below 2^63
constexpr int kAlignment = 16;                             // bytes a kernel moves at once

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
  throw ArgumentError(fmt::format(text, std::forward<Args>(args)...));
}

/// One of q, k, v, o with its name.
struct Named {
  std::string_view name;
  const Tensor& tensor;
};

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
      refuse("{}.shape[{}] ({}) is {}: it must be from 0 to {}", t.name, d, kDimensions[d], extent, kMost[d]);
  }
  if (t.tensor.shape[1] == 0) refuse("{}.shape[1] (heads) is 0: there must be at least one head", t.name);
  if (t.tensor.shape[3] != dim) {
    refuse("{}.shape[3] (dim) is {}, the kernel's {} is {}: compile the spec with_head_dim", t.name,
           t.tensor.shape[3], dim_name, dim);
  }
}

/// `a` and `b` must have the same extent in dimension `d`.
void check_same(Named a, Named b, std::size_t d) {
  if (a.tensor.shape[d] == b.tensor.shape[d]) return;
  refuse("{}.shape[{}] ({}) is {}, {}'s is {}: they must be the same", a.name, d, kDimensions[d],
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
  const int alignment = device == Device::cuda ? kAlignment : bytes;
  if (reinterpret_cast<std::uintptr_t>(t.tensor.data) % static_cast<unsigned>(alignment) != 0) {
    refuse("{}.data is not aligned to {} bytes: copy the tensor to memory that is", t.name, alignment);
  }
  for (std::size_t d = 0; d < 3; ++d) {
    if (shape[d] <= 1) continue;  // never multiplied by anything but 0
    if (strides[d] < 0)
      refuse("{}.strides[{}] ({}) is {}: copy the tensor; strides count up", t.name, d, kDimensions[d],
             strides[d]);
    if (strides[d] > kFarthest / (shape[d] - 1)) {
      refuse("{}.strides[{}] ({}) is {}: its elements lie beyond any memory", t.name, d, kDimensions[d],
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
          t.name, d, kDimensions[d], strides[d], strides[d] * bytes, alignment);
    }
  }
}

/// Whether no two elements share memory. Sorted by stride, each dimension must step over all the smaller
/// ones. This refuses some valid views, but only contrived ones.
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

void check_tensors(const CheckedSpec& spec, Device device, const ForwardArgs& args) {
  const Named q{"q", args.q}, k{"k", args.k}, v{"v", args.v}, o{"o", args.o};
  check_shape(q, spec, spec.head_dim, "head_dim");
  check_shape(k, spec, spec.head_dim, "head_dim");
  check_shape(v, spec, spec.head_dim_v, "head_dim_v");
  check_shape(o, spec, spec.head_dim_v, "head_dim_v");
  check_same(k, q, 0);
  check_same(v, k, 0);
  check_same(v, k, 1);
  check_same(v, k, 2);
  check_same(o, q, 0);
  check_same(o, q, 1);
  check_same(o, q, 2);
  if (args.q.shape[1] % args.k.shape[1] != 0) {
    refuse("q has {} heads and k has {}: the q heads must be a multiple of the kv heads", args.q.shape[1],
           args.k.shape[1]);
  }
  if (device == Device::cuda) {
    for (std::size_t d = 0; d < 2; ++d) {
      if (args.q.shape[d] > kGridLimit) {
        refuse("q.shape[{}] ({}) is {}: on a GPU it is at most {}; split the call", d, kDimensions[d],
               args.q.shape[d], kGridLimit);
      }
    }
  }
  for (const Named& t : {q, k, v, o}) check_memory(t, device);
  if (args.q.shape[0] != 0 && args.q.shape[2] != 0 && !is_injective(args.o))
    refuse("o.strides make elements of o share memory: pass a tensor whose elements are distinct");
  if (reinterpret_cast<std::uintptr_t>(args.lse) % alignof(float) != 0)
    refuse("lse is not aligned to {} bytes: pass the address of a float", alignof(float));
}

TensorStrides strides_of(const Tensor& t) {
  // Kernels compute addresses in rows that they never read. The stride of a single row may be anything.
  const auto stride = [&](std::size_t d) -> long long { return t.shape[d] <= 1 ? 0 : t.strides[d]; };
  return {.batch = stride(0), .head = stride(1), .row = stride(2)};
}

void set_dropout(const CheckedSpec& spec, const ForwardArgs& args, CallParams& params) {
  params.drop_threshold = 0;
  params.keep_scale = 1;
  params.seed = args.seed;
  if (!spec.has_dropout) {
    if (args.dropout.value_or(0.0f) != 0.0f)
      refuse("dropout is {}, but the spec has none: add a line `dropout {}` to it", *args.dropout,
             *args.dropout);
    return;
  }
  const double probability = args.dropout ? double{*args.dropout} : spec.dropout;
  if (!(probability >= 0 && probability <= 1))
    refuse("dropout is {}: a probability is from 0 to 1", probability);
  constexpr double kOne = 65536;
  params.drop_threshold = static_cast<unsigned>(std::lround(probability * kOne));
  const double kept = kOne - params.drop_threshold;
  params.keep_scale = kept == 0 ? 0.0f : static_cast<float>(kOne / kept);
}

}  // namespace

Work prepare(const CheckedSpec& spec, Device device, const ForwardArgs& args, ForwardParams& params) {
  check_tensors(spec, device, args);
  CallParams& call = params.call;
  params.q = args.q.data;
  params.k = args.k.data;
  params.v = args.v.data;
  params.o = args.o.data;
  params.lse = args.lse;
  params.q_strides = strides_of(args.q);
  params.k_strides = strides_of(args.k);
  params.v_strides = strides_of(args.v);
  params.o_strides = strides_of(args.o);
  call.batch = static_cast<int>(args.q.shape[0]);
  call.num_q_heads = static_cast<int>(args.q.shape[1]);
  call.num_kv_heads = static_cast<int>(args.k.shape[1]);
  call.group_size = call.num_q_heads / call.num_kv_heads;
  call.q_len = static_cast<int>(args.q.shape[2]);
  call.kv_len = static_cast<int>(args.k.shape[2]);
  call.scale = static_cast<float>(spec.scale);
  call.scale_log2 = static_cast<float>(spec.scale * std::numbers::log2e);
  set_dropout(spec, args, call);
  set_captured(spec, args, call);
  if (call.batch == 0 || call.q_len == 0) return Work::nothing;
  check_apart(args);
  return call.kv_len == 0 ? Work::empty_rows : Work::kernel;
}

}  // namespace fa
