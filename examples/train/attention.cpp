#include "examples/train/attention.h"

namespace train {
namespace {

// One of the three matrices that lie beside each other in each token's row: Facet takes any strides.
fa::Tensor part_of(const Floats& qkv, const Shape& shape, std::size_t part) {
  const auto width = static_cast<std::int64_t>(shape.width());
  return {.data = const_cast<float*>(qkv.data()) + part * shape.width(),
          .dtype = fa::DType::f32,
          .shape = {shape.batch, shape.heads, shape.length, shape.head_dim},
          .strides = {shape.length * 3 * width, shape.head_dim, 3 * width, 1}};
}

fa::Tensor output(const Floats& o, const Shape& shape) {
  return fa::Tensor::bshd(const_cast<float*>(o.data()), fa::DType::f32, shape.batch, shape.heads,
                          shape.length, shape.head_dim);
}

fa::Kernel compile(const std::string& spec) {
  return fa::compile(fa::Spec::parse(spec), {.device = fa::Device::host, .num_threads = 1, .backward = true});
}

}  // namespace

Attention::Attention(const std::string& spec, const Shape& shape, std::size_t columns)
    : shape_(shape), kernel_(compile(spec)), captured_(0) {
  if (kernel_.spec().tensors().empty()) return;
  captured_name_ = kernel_.spec().tensors().front().name;
  captured_ = Parameter(static_cast<std::size_t>(shape.heads) * columns);
}

fa::ForwardArgs Attention::arguments(const Saved& saved) const {
  fa::ForwardArgs args{.q = part_of(saved.qkv, shape_, 0),
                       .k = part_of(saved.qkv, shape_, 1),
                       .v = part_of(saved.qkv, shape_, 2),
                       .o = output(saved.o, shape_),
                       .lse = const_cast<float*>(saved.lse.data())};
  if (!captured_name_.empty())
    args.tensors = {
        {.name = captured_name_,
         .data = captured_.value.data(),
         .dtype = fa::DType::f32,
         .shape = {shape_.heads, static_cast<std::int64_t>(captured_.value.size()) / shape_.heads},
         .rank = 2}};
  return args;
}

void Attention::forward(Saved& saved) const {
  saved.o.resize(shape_.tokens() * shape_.width());
  saved.lse.resize(shape_.tokens() * static_cast<std::size_t>(shape_.heads));
  kernel_.forward(arguments(saved));
}

Floats Attention::backward(const Saved& saved, Floats& d_o) {
  Floats d_qkv(saved.qkv.size()), d_captured(captured_.value.size());
  fa::BackwardArgs args{.forward = arguments(saved),
                        .d_o = output(d_o, shape_),
                        .d_q = part_of(d_qkv, shape_, 0),
                        .d_k = part_of(d_qkv, shape_, 1),
                        .d_v = part_of(d_qkv, shape_, 2)};
  if (!captured_name_.empty()) args.gradients = {{.name = captured_name_, .data = d_captured.data()}};
  args.workspace_bytes = kernel_.backward_workspace_bytes(args);
  workspace_.resize((args.workspace_bytes + sizeof(float) - 1) / sizeof(float));
  args.workspace = workspace_.data();
  kernel_.backward(args);
  for (std::size_t i = 0; i < d_captured.size(); ++i) captured_.gradient[i] += d_captured[i];
  return d_qkv;
}

}  // namespace train
