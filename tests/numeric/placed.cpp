#include "tests/numeric/placed.h"

#include <algorithm>

namespace fa::tools {
namespace {

Tensor view(void* data, const HostTensor& t) {
  return Tensor::bhsd(data, t.dtype, t.shape[0], t.shape[1], t.shape[2], t.shape[3]);
}

}  // namespace

void* Placed::place(const HostTensor& tensor) {
  buffers_.emplace_back(device_, std::max<std::size_t>(tensor.bytes.size(), 1));
  buffers_.back().upload(tensor.bytes.data(), tensor.bytes.size());
  return buffers_.back().data();
}

Placed::Placed(const CudaDevice& device, const Problem& problem) : device_(device) {
  args_.q = view(place(problem.q), problem.q);
  args_.k = view(place(problem.k), problem.k);
  args_.v = view(place(problem.v), problem.v);
  const ProblemSize& size = problem.size;
  args_.o = Tensor::bhsd(nullptr, problem.spec.dtype(), size.batch, size.num_q_heads, size.q_len,
                         problem.spec.head_dim_v());
  names_.reserve(problem.tensors.size());
  for (const HostTensor& tensor : problem.tensors) {
    Captured captured{.name = names_.emplace_back(tensor.name),
                      .data = place(tensor),
                      .dtype = tensor.dtype,
                      .shape = {},
                      .rank = static_cast<int>(tensor.shape.size())};
    std::ranges::copy(tensor.shape, captured.shape.begin());
    args_.tensors.push_back(captured);
  }
  for (std::size_t i = 0; i < problem.params.size(); ++i)
    args_.params.push_back({.name = problem.spec.params()[i].name, .value = problem.params[i]});
  if (problem.spec.has_dropout()) args_.dropout = problem.dropout;
  args_.seed = problem.dropout_seed;
}

Placed::Call::Call(const Placed& placed, const Kernel& kernel) : args_(placed.args_) {
  const auto& shape = args_.o.shape;
  const auto rows = static_cast<std::size_t>(shape[0] * shape[1] * shape[2]);
  o_ = DeviceBuffer(placed.device_, rows * static_cast<std::size_t>(shape[3] * dtype_bytes(args_.o.dtype)));
  lse_ = DeviceBuffer(placed.device_, rows * sizeof(float));
  args_.o.data = o_.data();
  args_.lse = static_cast<float*>(lse_.data());
  workspace_ = DeviceBuffer(placed.device_, kernel.workspace_bytes(args_));
  args_.workspace = workspace_.data();
  args_.workspace_bytes = workspace_.bytes();
}

void Placed::Call::poison(Stream stream) {
  for (DeviceBuffer* buffer : {&o_, &lse_, &workspace_}) buffer->fill(0xff, stream);
}

std::vector<std::byte> Placed::Call::result(Stream stream) const {
  std::vector<std::byte> bytes(o_.bytes() + lse_.bytes());
  o_.download(bytes.data(), o_.bytes(), 0, stream);
  lse_.download(bytes.data() + o_.bytes(), lse_.bytes(), 0, stream);
  return bytes;
}

}  // namespace fa::tools
