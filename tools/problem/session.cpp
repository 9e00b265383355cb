// Places a problem's tensors in a device's memory and runs kernels on them.
#include "tools/problem/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "tools/console/interrupt.h"

namespace fa::tools {

namespace {

/// [batch, a, b, dim] -> [batch, b, a, dim]: from either layout to the other.
std::vector<std::byte> swap_middle(const std::vector<std::byte>& from, const std::vector<std::int64_t>& shape,
                                   int element_bytes) {
  std::vector<std::byte> to(from.size());
  const auto row = static_cast<std::size_t>(shape[3] * element_bytes);
  std::size_t at = 0;
  for (std::int64_t batch = 0; batch < shape[0]; ++batch) {
    for (std::int64_t a = 0; a < shape[1]; ++a) {
      for (std::int64_t b = 0; b < shape[2]; ++b, at += row) {
        const std::int64_t index = (batch * shape[2] + b) * shape[1] + a;
        std::memcpy(to.data() + static_cast<std::size_t>(index) * row, from.data() + at, row);
      }
    }
  }
  return to;
}

Tensor view(void* data, const HostTensor& tensor, Layout layout) {
  const auto& shape = tensor.shape;
  return layout == Layout::bhsd ? Tensor::bhsd(data, tensor.dtype, shape[0], shape[1], shape[2], shape[3])
                                : Tensor::bshd(data, tensor.dtype, shape[0], shape[1], shape[2], shape[3]);
}

Captured captured(const void* data, const HostTensor& tensor) {
  Captured result{.name = tensor.name, .data = data, .dtype = tensor.dtype, .shape = {}, .rank = 0};
  result.rank = static_cast<int>(tensor.shape.size());
  std::ranges::copy(tensor.shape, result.shape.begin());
  return result;
}

}  // namespace

int copies_beyond_cache(std::int64_t bytes, std::int64_t cache_bytes) {
  return static_cast<int>(
      std::clamp<std::int64_t>(2 * cache_bytes / std::max<std::int64_t>(bytes, 1) + 1, 1, 64));
}

Session::Session(const Problem& problem, Device device, int cuda_device, Layout layout, int copies)
    : problem_(problem),
      layout_(layout),
      memory_(device == Device::cuda ? cuda_memory(cuda_device) : host_memory()) {
  std::vector<Captured> tensors;
  for (const auto& tensor : problem.tensors) {
    void* const data = memory_->allocate(tensor.bytes.size());
    memory_->upload(data, tensor.bytes.data(), tensor.bytes.size());
    tensors.push_back(captured(data, tensor));
  }
  std::vector<NamedScalar> params;
  for (std::size_t i = 0; i < problem.params.size(); ++i) {
    params.push_back({.name = problem.spec.params()[i].name, .value = problem.params[i]});
  }

  const std::int64_t before = bytes_allocated();
  const std::int64_t rows = std::int64_t{problem.size.batch} * problem.size.num_q_heads * problem.size.q_len;
  for (int copy = 0; copy < copies; ++copy) {
    const std::int64_t o_bytes = rows * problem.spec.head_dim_v() * dtype_bytes(problem.spec.dtype());
    const HostTensor o_like = [&] {  // shape and type only
      HostTensor tensor;
      tensor.dtype = problem.spec.dtype();
      tensor.shape = {problem.size.batch, problem.size.num_q_heads, problem.size.q_len,
                      problem.spec.head_dim_v()};
      return tensor;
    }();
    ForwardArgs args;
    args.q = view(place(problem.q), problem.q, layout);
    args.k = view(place(problem.k), problem.k, layout);
    args.v = view(place(problem.v), problem.v, layout);
    args.o = view(memory_->allocate(static_cast<std::size_t>(o_bytes)), o_like, layout);
    args.lse = static_cast<float*>(memory_->allocate(static_cast<std::size_t>(rows) * sizeof(float)));
    args.tensors = tensors;
    args.params = params;
    if (problem.spec.has_dropout()) args.dropout = problem.dropout;
    args.seed = problem.dropout_seed;
    copies_.push_back(std::move(args));
  }
  bytes_per_copy_ = (bytes_allocated() - before) / copies;
}

void Session::give_workspace(ForwardArgs& args, std::size_t bytes) {
  constexpr std::size_t kLarge = std::size_t{1} << 28;  // no cache holds it, so that one serves all copies
  const auto refuse = [bytes](std::string_view why, int code) {
    throw DeviceError(
        fmt::format(
            "the call's workspace of {} bytes: {}; shorter sequences, fewer heads and fewer batch entries "
            "take less, fused kernels (--impl facet) next to nothing",
            bytes, why),
        code);
  };
  try {
    if (bytes < kLarge) {
      args.workspace = memory_->allocate(bytes);
      args.workspace_bytes = bytes;
      return;
    }
    if (bytes > large_workspace_bytes_) {
      large_workspace_ = memory_->allocate(bytes);
      large_workspace_bytes_ = bytes;
    }
    args.workspace = large_workspace_;
    args.workspace_bytes = large_workspace_bytes_;
  } catch (const DeviceError& error) {
    refuse(error.what(), error.code());
  } catch (const std::bad_alloc&) {
    refuse("there is not so much memory", 0);
  }
}

void* Session::place(const HostTensor& tensor) {
  void* const data = memory_->allocate(tensor.bytes.size());
  if (layout_ == Layout::bhsd) {
    memory_->upload(data, tensor.bytes.data(), tensor.bytes.size());
  } else {
    const auto swapped = swap_middle(tensor.bytes, tensor.shape, dtype_bytes(tensor.dtype));
    memory_->upload(data, swapped.data(), swapped.size());
  }
  return data;
}

void Session::launch(const Kernel& kernel, int copy, Stream stream) {
  ForwardArgs& args = copies_[static_cast<std::size_t>(copy)];
  const std::size_t needed = kernel.workspace_bytes(args);
  if (needed > args.workspace_bytes) give_workspace(args, needed);
  kernel.forward(args, stream);
}

std::vector<double> Session::time(const Kernel& kernel, int runs) {
  return memory_->time(runs, [&](int run) {
    stop_if_interrupted();
    launch(kernel, run % static_cast<int>(copies_.size()));
  });
}

Outputs Session::outputs() {
  memory_->synchronize();
  const auto& shape = copies_[0].o.shape;
  Outputs outputs{.o = HostTensor("o", problem_.spec.dtype(), {shape.begin(), shape.end()}), .lse = {}};
  memory_->download(outputs.o.bytes.data(), copies_[0].o.data, outputs.o.bytes.size());
  if (layout_ == Layout::bshd) {
    outputs.o.bytes =
        swap_middle(outputs.o.bytes, {shape[0], shape[2], shape[1], shape[3]}, dtype_bytes(outputs.o.dtype));
  }
  outputs.lse.resize(static_cast<std::size_t>(shape[0] * shape[1] * shape[2]));
  memory_->download(outputs.lse.data(), copies_[0].lse, outputs.lse.size() * sizeof(float));
  return outputs;
}

void Session::poison_outputs() {
  const auto& shape = copies_[0].o.shape;
  const auto rows = static_cast<std::size_t>(shape[0] * shape[1] * shape[2]);
  const std::vector<std::byte> poison(
      rows * static_cast<std::size_t>(std::max<std::int64_t>(shape[3], 1)) * 4,
      std::byte{0xff});  // all ones is a NaN in every float type
  const auto o_bytes = rows * static_cast<std::size_t>(shape[3] * dtype_bytes(copies_[0].o.dtype));
  for (auto& copy : copies_) {
    memory_->upload(copy.o.data, poison.data(), o_bytes);
    memory_->upload(copy.lse, poison.data(), rows * sizeof(float));
  }
}

}  // namespace fa::tools
