#include "runtime/tune/made_up_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "compiler/spec/spec.h"
#include "runtime/call/extent.h"

namespace fa {
namespace {

constexpr double kMostOfOne = 0.3;     // seconds of one plan's runs: the budget is looked at between plans
constexpr double kLeastRun = 1e-3;     // seconds: shorter runs are repeated, since events tell microseconds
constexpr double kMostLaunches = 100;  // in a run
constexpr std::size_t kPattern = 1 << 20;  // bytes that are made up at a time
constexpr int kShortest = 512;

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool is_float(DType dtype) { return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16; }

/// Floats from 0.5 to 1, zeros of all other types.
std::vector<std::byte> made_up(DType dtype, std::size_t bytes) {
  std::vector<std::byte> numbers(bytes);
  if (!is_float(dtype)) return numbers;
  // The upper 16 bits of each: sign 0, an exponent, and bits that vary.
  const std::uint16_t base = dtype == DType::f16 ? 0x3800 : 0x3f00;
  const auto step = static_cast<std::size_t>(dtype_bytes(dtype));
  for (std::size_t i = 0; (i + 1) * step <= bytes; ++i) {
    const auto bits = static_cast<std::uint16_t>(base + (i * 2654435761U >> 12U) % 0x7f);
    std::memcpy(numbers.data() + i * step + (step - sizeof bits), &bits, sizeof bits);
  }
  return numbers;
}

std::vector<Scalar> default_params(const CheckedSpec& spec) {
  std::vector<Scalar> params;
  for (const ParamInfo& param : spec.params) params.push_back(param.default_value);
  return params;
}

/// The shapes of the spec's tensors at `size`, in the spec's order. Their data is missing. Throws ArgumentError where an extent
/// is negative.
std::vector<Captured> captured_at(const CheckedSpec& spec, const ProblemSize& size) {
  const CallExtents extents{.batch = size.batch,
                            .num_q_heads = size.num_q_heads,
                            .num_kv_heads = size.num_kv_heads,
                            .group_size = size.num_q_heads / size.num_kv_heads,
                            .q_len = size.q_len,
                            .kv_len = size.kv_len,
                            .head_dim = spec.head_dim};
  const std::vector<Scalar> params = default_params(spec);
  std::vector<Captured> all;
  for (const CheckedTensor& tensor : spec.tensors) {
    Captured captured{.name = tensor.info.name, .dtype = tensor.info.dtype};
    for (const ExprPtr& extent : tensor.extents) {
      const std::int32_t of_call = evaluate_extent(*extent, extents, params);
      if (of_call < 0)
        throw ArgumentError(fmt::format("the tensor {} has an extent of {} where q_len is {}, kv_len {}",
                                        tensor.info.name, of_call, size.q_len, size.kv_len));
      captured.shape[static_cast<std::size_t>(captured.rank++)] = of_call;
    }
    all.push_back(captured);
  }
  return all;
}

std::int64_t elements_of(const Captured& tensor) {
  std::int64_t elements = 1;
  for (int i = 0; i < tensor.rank; ++i) elements *= tensor.shape[static_cast<std::size_t>(i)];
  return elements;
}

std::int64_t rows(int batch, int heads, int length) { return std::int64_t{batch} * heads * length; }

std::int64_t bytes_of(const Spec& spec, const ProblemSize& size) {
  const std::int64_t q_rows = rows(size.batch, size.num_q_heads, size.q_len);
  const std::int64_t kv_rows = rows(size.batch, size.num_kv_heads, size.kv_len);
  std::int64_t bytes = (q_rows + kv_rows) * (spec.head_dim() + spec.head_dim_v()) * dtype_bytes(spec.dtype());
  for (const Captured& tensor : captured_at(spec.checked(), size))
    bytes += elements_of(tensor) * dtype_bytes(tensor.dtype);
  return bytes;
}

}  // namespace

std::optional<ProblemSize> size_that_fits(const Spec& spec, ProblemSize size, std::int64_t most_bytes) {
  while (bytes_of(spec, size) > most_bytes) {
    if (std::min(size.q_len, size.kv_len) <= kShortest) return {};
    size.q_len /= 2;
    size.kv_len /= 2;
  }
  return size;
}

MadeUpCall::MadeUpCall(const Spec& spec, const ProblemSize& size, const CudaDevice* device)
    : device_(device), stream_(device != nullptr ? std::make_unique<OwnedStream>(*device) : nullptr) {
  const auto tensor = [&](int heads, int length, int dim) {
    const auto elements = static_cast<std::size_t>(rows(size.batch, heads, length) * dim);
    return Tensor::bhsd(fill(elements, spec.dtype()), spec.dtype(), size.batch, heads, length, dim);
  };
  args_.q = tensor(size.num_q_heads, size.q_len, spec.head_dim());
  args_.k = tensor(size.num_kv_heads, size.kv_len, spec.head_dim());
  args_.v = tensor(size.num_kv_heads, size.kv_len, spec.head_dim_v());
  args_.o = tensor(size.num_q_heads, size.q_len, spec.head_dim_v());
  args_.tensors = captured_at(spec.checked(), size);
  for (Captured& captured : args_.tensors)
    captured.data = fill(static_cast<std::size_t>(elements_of(captured)), captured.dtype);
}

void* MadeUpCall::allocate(std::size_t bytes) {
  if (device_ != nullptr) return on_device_.emplace_back(*device_, bytes).data();
  return on_host_.emplace_back(bytes).data();
}

void* MadeUpCall::fill(std::size_t elements, DType dtype) {
  const std::size_t bytes = elements * static_cast<std::size_t>(dtype_bytes(dtype));
  void* const data = allocate(bytes);
  const std::vector<std::byte> pattern = made_up(dtype, std::min(bytes, kPattern));
  for (std::size_t at = 0; at < bytes; at += pattern.size()) {
    const std::size_t part = std::min(pattern.size(), bytes - at);
    if (device_ != nullptr)
      on_device_.back().upload(pattern.data(), part, at, *stream_);
    else
      std::memcpy(on_host_.back().data() + at, pattern.data(), part);
  }
  return data;
}

void MadeUpCall::give_workspace(const Kernel& kernel) {
  const std::size_t needed = kernel.workspace_bytes(args_);
  if (needed <= args_.workspace_bytes) return;
  args_.workspace = allocate(needed);
  args_.workspace_bytes = needed;
}

std::vector<double> MadeUpCall::time(const Kernel& kernel, int launches) {
  std::vector<double> all;
  if (device_ != nullptr) {
    all = time_on_device(*device_, launches, [&](int) { kernel.forward(args_, *stream_); }, *stream_);
    for (double& each : all) each *= 1e-3;
    return all;
  }
  for (int launch = 0; launch < launches; ++launch) {
    const auto start = Clock::now();
    kernel.forward(args_);
    all.push_back(seconds_since(start));
  }
  return all;
}

std::optional<double> MadeUpCall::seconds(const Kernel& kernel, int runs) {
  give_workspace(kernel);
  // The first launch finds caches, clocks and threads as another kernel left them.
  const double first = std::max(1e-7, time(kernel, 1).front());
  const int launches =
      device_ == nullptr ? 1 : static_cast<int>(std::clamp(std::ceil(kLeastRun / first), 1.0, kMostLaunches));
  std::vector<double> all;
  const auto start = Clock::now();
  for (int run = 0; run < runs; ++run) {
    std::ranges::copy(time(kernel, launches), std::back_inserter(all));
    if (seconds_since(start) > kMostOfOne) break;
  }
  // What disturbs the host only ever makes it slower; a GPU's first launches are its fastest, until its clock goes down.
  const auto counts =
      device_ != nullptr ? all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2) : all.begin();
  std::ranges::nth_element(all, counts);
  return std::max(*counts, 1e-9);
}

}  // namespace fa
