#include "tools/problem/gradients.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "fa/backward.h"

namespace fa::tools {
namespace {

/// [batch, a, b, dim] -> [batch, b, a, dim]: from either layout to the other.
HostTensor swapped(const HostTensor& from) {
  HostTensor to(from.name, from.dtype, {from.shape[0], from.shape[2], from.shape[1], from.shape[3]});
  const auto row = static_cast<std::ptrdiff_t>(from.shape[3] * dtype_bytes(from.dtype));
  std::ptrdiff_t at = 0;
  for (std::int64_t batch = 0; batch < from.shape[0]; ++batch)
    for (std::int64_t a = 0; a < from.shape[1]; ++a)
      for (std::int64_t b = 0; b < from.shape[2]; ++b, at += row)
        std::copy_n(from.bytes.begin() + at, row,
                    to.bytes.begin() + ((batch * from.shape[2] + b) * from.shape[1] + a) * row);
  return to;
}

/// A tensor as a kernel meets it, in a device's memory.
class Placed {
 public:
  Placed(Memory& memory, const HostTensor& tensor, Layout layout)
      : memory_(memory), layout_(layout), like_(tensor.name, tensor.dtype, tensor.shape) {
    const HostTensor laid_out = layout == Layout::bhsd ? tensor : swapped(tensor);
    data_ = memory.allocate(laid_out.bytes.size());
    memory.upload(data_, laid_out.bytes.data(), laid_out.bytes.size());
  }

  Tensor view() const {
    const std::vector<std::int64_t>& shape = like_.shape;
    return layout_ == Layout::bhsd ? Tensor::bhsd(data_, like_.dtype, shape[0], shape[1], shape[2], shape[3])
                                   : Tensor::bshd(data_, like_.dtype, shape[0], shape[1], shape[2], shape[3]);
  }
  void* data() const { return data_; }

  HostTensor dense() const {
    HostTensor tensor = like_;
    if (layout_ == Layout::bshd) std::swap(tensor.shape[1], tensor.shape[2]);
    memory_.download(tensor.bytes.data(), data_, tensor.bytes.size());
    return layout_ == Layout::bhsd ? tensor : swapped(tensor);
  }

 private:
  Memory& memory_;
  Layout layout_;
  HostTensor like_;  // its bytes are not used
  void* data_ = nullptr;
};

HostTensor unwritten(std::string name, DType dtype, std::vector<std::int64_t> shape) {
  HostTensor tensor(std::move(name), dtype, std::move(shape));
  std::ranges::fill(tensor.bytes, std::byte{0xff});  // all ones is a NaN in every float type
  return tensor;
}

}  // namespace

OutputGradientTensors random_output_gradients(const Problem& problem, std::uint64_t seed, bool with_lse) {
  const ProblemSize& size = problem.size;
  OutputGradientTensors result{
      .o = HostTensor("d_o", problem.spec.dtype(),
                      {size.batch, size.num_q_heads, size.q_len, problem.spec.head_dim_v()}),
      .lse = {}};
  fill_random(result.o, seed);
  if (!with_lse) return result;
  HostTensor lse("d_lse", DType::f32, {size.batch, size.num_q_heads, size.q_len});
  fill_random(lse, seed + 1);
  result.lse.resize(static_cast<std::size_t>(lse.elements()));
  lse.widen(0, lse.elements(), result.lse.data());
  return result;
}

KernelGradients run_backward(const Kernel& kernel, const Problem& problem,
                             const OutputGradientTensors& outputs, Layout layout, int runs, int cuda_device) {
  const std::unique_ptr<Memory> memory =
      kernel.device() == Device::cuda ? cuda_memory(cuda_device) : host_memory();
  const auto place = [&](const HostTensor& tensor) { return Placed(*memory, tensor, layout); };
  const auto like = [&](const char* name, const HostTensor& tensor) {
    return place(unwritten(name, tensor.dtype, tensor.shape));
  };
  const auto place_bytes = [&](const void* from, std::size_t bytes) {
    void* const data = memory->allocate(bytes);
    memory->upload(data, from, bytes);
    return data;
  };
  const Placed q = place(problem.q), k = place(problem.k), v = place(problem.v), d_o = place(outputs.o);
  const Placed o = like("o", outputs.o), d_q = like("d_q", problem.q), d_k = like("d_k", problem.k),
               d_v = like("d_v", problem.v);
  const std::size_t rows = static_cast<std::size_t>(problem.size.batch) *
                           static_cast<std::size_t>(problem.size.num_q_heads) *
                           static_cast<std::size_t>(problem.size.q_len);
  BackwardArgs args;
  args.forward.q = q.view();
  args.forward.k = k.view();
  args.forward.v = v.view();
  args.forward.o = o.view();
  args.forward.lse = static_cast<float*>(memory->allocate(rows * sizeof(float)));
  args.d_o = d_o.view();
  if (!outputs.lse.empty())
    args.d_lse =
        static_cast<const float*>(place_bytes(outputs.lse.data(), outputs.lse.size() * sizeof(float)));
  args.d_q = d_q.view();
  args.d_k = d_k.view();
  args.d_v = d_v.view();
  std::vector<Placed> captured;  // their gradients
  const auto capture = [&](const std::string& name, std::vector<std::int64_t> shape) {
    captured.emplace_back(*memory, unwritten(name, DType::f32, std::move(shape)), Layout::bhsd);
    args.gradients.push_back({.name = name, .data = static_cast<float*>(captured.back().data())});
  };
  for (std::size_t i = 0; i < problem.params.size(); ++i) {
    const ParamInfo& info = problem.spec.params()[i];
    args.forward.params.push_back({.name = info.name, .value = problem.params[i]});
    if (info.grad) capture(info.name, {});
  }
  for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
    const HostTensor& tensor = problem.tensors[i];
    Captured given{.name = tensor.name,
                   .data = place_bytes(tensor.bytes.data(), tensor.bytes.size()),
                   .dtype = tensor.dtype,
                   .shape = {},
                   .rank = static_cast<int>(tensor.shape.size())};
    std::ranges::copy(tensor.shape, given.shape.begin());
    args.forward.tensors.push_back(given);
    if (problem.spec.tensors()[i].grad) capture(tensor.name, tensor.shape);
  }
  if (problem.spec.has_dropout()) args.forward.dropout = problem.dropout;
  args.forward.seed = problem.dropout_seed;

  args.forward.workspace_bytes = kernel.workspace_bytes(args.forward);
  args.forward.workspace = memory->allocate(args.forward.workspace_bytes);
  KernelGradients result;
  result.forward_ms = memory->time(runs, [&](int) { kernel.forward(args.forward); });
  args.workspace_bytes = kernel.backward_workspace_bytes(args);
  args.workspace = memory->allocate(args.workspace_bytes);
  result.backward_ms = memory->time(runs, [&](int) { kernel.backward(args); });
  result.workspace_bytes = args.workspace_bytes;
  result.allocated_bytes = memory->allocated_bytes();
  memory->synchronize();
  for (const Placed* gradient : {&d_q, &d_k, &d_v}) result.tensors.push_back(gradient->dense());
  for (const Placed& gradient : captured) result.tensors.push_back(gradient.dense());
  return result;
}

}  // namespace fa::tools
