#include "runtime/call/backward_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/call/arguments.h"
#include "runtime/call/overlap.h"
#include "runtime/call/refuse.h"
#include "runtime/call/tensor_checks.h"

namespace fa {
namespace {

void check_floats(std::string_view name, const float* data) {
  if (reinterpret_cast<std::uintptr_t>(data) % alignof(float) != 0)
    refuse("{} is not aligned to {} bytes: pass the address of a float", name, alignof(float));
}

void check_tensors(const CheckedSpec& spec, Device device, const BackwardArgs& args) {
  const ForwardArgs& forward = args.forward;
  const bool has_rows = forward.q.shape[0] != 0 && forward.q.shape[2] != 0;
  if (has_rows && forward.lse == nullptr)
    refuse("lse is null: the backward pass reads it; pass memory for it to forward, and the same here");
  check_floats("d_lse", args.d_lse);
  const Named d_o{"d_o", args.d_o}, d_q{"d_q", args.d_q}, d_k{"d_k", args.d_k}, d_v{"d_v", args.d_v};
  check_shape(d_o, spec, spec.head_dim_v, "head_dim_v");
  check_shape(d_q, spec, spec.head_dim, "head_dim");
  check_shape(d_k, spec, spec.head_dim, "head_dim");
  check_shape(d_v, spec, spec.head_dim_v, "head_dim_v");
  for (std::size_t d = 0; d < 3; ++d) {
    check_same(d_o, {"o", forward.o}, d);
    check_same(d_q, {"q", forward.q}, d);
    check_same(d_k, {"k", forward.k}, d);
    check_same(d_v, {"v", forward.v}, d);
  }
  for (const Named& t : {d_o, d_q, d_k, d_v}) check_memory(t, device);
  for (const Named& t : {d_q, d_k, d_v})
    if (std::ranges::find(t.tensor.shape, 0) == t.tensor.shape.end() && !is_injective(t.tensor))
      refuse("{0}.strides make elements of {0} share memory: pass a tensor whose elements are distinct",
             t.name);
}

std::int64_t elements_of(const Captured& tensor) {
  std::int64_t elements = 1;
  for (int d = 0; d < tensor.rank; ++d) elements *= tensor.shape[static_cast<std::size_t>(d)];
  return elements;
}

/// The number of the gradient called `name`.
std::size_t number_of(const CheckedSpec& spec, std::string_view name) {
  for (std::size_t i = 0; i < spec.params.size(); ++i)
    if (spec.params[i].name == name && spec.params[i].grad) return i;
  for (std::size_t i = 0; i < spec.tensors.size(); ++i)
    if (spec.tensors[i].info.name == name && spec.tensors[i].info.grad) return kMaxParams + i;
  refuse(
      "gradient '{}' is of nothing that the spec marks grad: leave it out, or write `grad` after the "
      "param or tensor",
      name);
}

void check_all_given(const CheckedSpec& spec, const BackwardCall& call) {
  const auto check = [&](bool is_wanted, std::size_t number, std::string_view name, const char* what) {
    if (is_wanted && call.gradients[number] == nullptr)
      refuse("the gradient of {} '{}' is missing: add it to BackwardArgs::gradients, or drop `grad`", what,
             name);
  };
  for (std::size_t i = 0; i < spec.params.size(); ++i)
    check(spec.params[i].grad, i, spec.params[i].name, "param");
  for (std::size_t i = 0; i < spec.tensors.size(); ++i)
    check(spec.tensors[i].info.grad, kMaxParams + i, spec.tensors[i].info.name, "tensor");
}

/// Fills `call`'s gradients; returns the elements of each as `args` has them.
std::vector<std::int64_t> set_gradients(const CheckedSpec& spec, const BackwardArgs& args,
                                        BackwardCall& call) {
  std::vector<std::int64_t> given;
  for (const CapturedGradient& gradient : args.gradients) {
    const std::size_t number = number_of(spec, gradient.name);
    if (call.gradients[number] != nullptr)
      refuse("gradient '{}' is given twice: leave one out", gradient.name);
    if (gradient.data == nullptr)
      refuse("gradient '{}' has no data: pass the address of its first element", gradient.name);
    check_floats(fmt::format("gradient '{}'", gradient.name), gradient.data);
    call.gradients[number] = gradient.data;
    call.params.elements[number] = 1;
    for (const Captured& tensor : args.forward.tensors)
      if (number >= kMaxParams && tensor.name == gradient.name)
        call.params.elements[number] = elements_of(tensor);
    given.push_back(call.params.elements[number]);
  }
  check_all_given(spec, call);
  return given;
}

void fill_zeros(void* data, const TensorStrides& strides, int batch, int heads, int length,
                std::size_t row_bytes, std::size_t element) {
  for (int b = 0; b < batch; ++b)
    for (int h = 0; h < heads; ++h)
      for (int i = 0; i < length; ++i) {
        const auto at = static_cast<std::size_t>(b * strides.batch + h * strides.head + i * strides.row);
        std::memset(static_cast<std::byte*>(data) + at * element, 0, row_bytes);
      }
}

}  // namespace

BackwardCall prepare_backward(const CheckedSpec& spec, Device device, const BackwardArgs& args) {
  BackwardCall call;
  BackwardParams& params = call.params;
  call.has_elements = prepare(spec, device, args.forward, params.forward) == Work::kernel;
  check_tensors(spec, device, args);
  params.d_o = args.d_o.data;
  params.d_lse = args.d_lse;
  params.d_q = args.d_q.data;
  params.d_k = args.d_k.data;
  params.d_v = args.d_v.data;
  params.d_o_strides = strides_of(args.d_o);
  params.d_q_strides = strides_of(args.d_q);
  params.d_k_strides = strides_of(args.d_k);
  params.d_v_strides = strides_of(args.d_v);
  check_apart(args, set_gradients(spec, args, call));
  return call;
}

void fill_zeros(const CheckedSpec& spec, const BackwardCall& call) {
  const BackwardParams& params = call.params;
  const CallParams& size = params.forward.call;
  const auto element = static_cast<std::size_t>(dtype_bytes(spec.dtype));
  const std::size_t row = element * static_cast<std::size_t>(spec.head_dim);
  const std::size_t row_v = element * static_cast<std::size_t>(spec.head_dim_v);
  fill_zeros(params.d_q, params.d_q_strides, size.batch, size.num_q_heads, size.q_len, row, element);
  fill_zeros(params.d_k, params.d_k_strides, size.batch, size.num_kv_heads, size.kv_len, row, element);
  fill_zeros(params.d_v, params.d_v_strides, size.batch, size.num_kv_heads, size.kv_len, row_v, element);
  for (std::size_t i = 0; i < call.gradients.size(); ++i)
    if (call.gradients[i] != nullptr) std::fill_n(call.gradients[i], call.params.elements[i], 0.0f);
}

}  // namespace fa
