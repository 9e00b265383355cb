#include "tools/problem/gradients.h"

#include <algorithm>
#include <chrono>
#include <limits>

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

/// A tensor as a kernel meets it.
class Placed {
 public:
  Placed(const HostTensor& tensor, Layout layout) : layout_(layout), shape_(tensor.shape) {
    memory_ = layout == Layout::bhsd ? tensor : swapped(tensor);
  }

  Tensor view() {
    return layout_ == Layout::bhsd
               ? Tensor::bhsd(memory_.bytes.data(), memory_.dtype, shape_[0], shape_[1], shape_[2], shape_[3])
               : Tensor::bshd(memory_.bytes.data(), memory_.dtype, shape_[0], shape_[1], shape_[2],
                              shape_[3]);
  }

  HostTensor dense() const { return layout_ == Layout::bhsd ? memory_ : swapped(memory_); }

 private:
  Layout layout_;
  std::vector<std::int64_t> shape_;
  HostTensor memory_;
};

HostTensor unwritten(std::string name, DType dtype, std::vector<std::int64_t> shape) {
  HostTensor tensor(std::move(name), dtype, std::move(shape));
  std::ranges::fill(tensor.bytes, std::byte{0xff});  // all ones is a NaN in every float type
  return tensor;
}

template <class Run>
double milliseconds(const Run& run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
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
                             const OutputGradientTensors& outputs, Layout layout, int runs) {
  const auto like = [&](const char* name, const HostTensor& tensor) {
    return Placed(unwritten(name, tensor.dtype, tensor.shape), layout);
  };
  Placed q(problem.q, layout), k(problem.k, layout), v(problem.v, layout), d_o(outputs.o, layout);
  Placed o = like("o", outputs.o), d_q = like("d_q", problem.q), d_k = like("d_k", problem.k),
         d_v = like("d_v", problem.v);
  std::vector<float> lse(static_cast<std::size_t>(problem.size.batch) *
                         static_cast<std::size_t>(problem.size.num_q_heads) *
                         static_cast<std::size_t>(problem.size.q_len));
  BackwardArgs args;
  args.forward.q = q.view();
  args.forward.k = k.view();
  args.forward.v = v.view();
  args.forward.o = o.view();
  args.forward.lse = lse.data();
  args.d_o = d_o.view();
  args.d_lse = outputs.lse.empty() ? nullptr : outputs.lse.data();
  args.d_q = d_q.view();
  args.d_k = d_k.view();
  args.d_v = d_v.view();
  std::vector<HostTensor> captured;
  for (std::size_t i = 0; i < problem.params.size(); ++i) {
    const ParamInfo& info = problem.spec.params()[i];
    args.forward.params.push_back({.name = info.name, .value = problem.params[i]});
    if (info.grad) captured.push_back(unwritten(info.name, DType::f32, {}));
  }
  for (std::size_t i = 0; i < problem.tensors.size(); ++i) {
    const HostTensor& tensor = problem.tensors[i];
    Captured given{.name = tensor.name,
                   .data = tensor.bytes.data(),
                   .dtype = tensor.dtype,
                   .shape = {},
                   .rank = static_cast<int>(tensor.shape.size())};
    std::ranges::copy(tensor.shape, given.shape.begin());
    args.forward.tensors.push_back(given);
    if (problem.spec.tensors()[i].grad) captured.push_back(unwritten(tensor.name, DType::f32, tensor.shape));
  }
  for (HostTensor& gradient : captured)
    args.gradients.push_back(
        {.name = gradient.name, .data = reinterpret_cast<float*>(gradient.bytes.data())});
  if (problem.spec.has_dropout()) args.forward.dropout = problem.dropout;
  args.forward.seed = problem.dropout_seed;

  KernelGradients result;
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  args.workspace_bytes = kernel.backward_workspace_bytes(args);
  std::vector<Line> workspace((args.workspace_bytes + sizeof(Line) - 1) / sizeof(Line));
  args.workspace = workspace.data();
  for (int run = 0; run < runs; ++run) {
    result.forward_ms.push_back(milliseconds([&] { kernel.forward(args.forward); }));
    result.backward_ms.push_back(milliseconds([&] { kernel.backward(args); }));
  }
  result.workspace_bytes = args.workspace_bytes;
  result.tensors = {d_q.dense(), d_k.dense(), d_v.dense()};
  for (HostTensor& gradient : captured) result.tensors.push_back(std::move(gradient));
  return result;
}

}  // namespace fa::tools
