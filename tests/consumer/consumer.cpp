// One query attends to two equal keys: the output is the mean of their values.
#include <fa/fa.h>

int main() {
  const auto spec = fa::Spec::parse("attention mean\nhead_dim 8\ndtype f32\n");
  const auto kernel = fa::compile(spec, {.device = fa::Device::host});
  float q[8] = {1}, k[16] = {}, v[16] = {2, 0, 0, 0, 0, 0, 0, 0, 4}, o[8] = {};
  const auto view = [](float* data, int length) {
    return fa::Tensor::bhsd(data, fa::DType::f32, 1, 1, length, 8);
  };
  kernel.forward({.q = view(q, 1), .k = view(k, 2), .v = view(v, 2), .o = view(o, 1)});
  return o[0] == 3.0f ? 0 : 1;
}
