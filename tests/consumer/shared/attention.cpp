// A library that a program loads: compiles a kernel and runs it by libfacet.so, and catches its errors by
// type.
#include <fa/fa.h>

#include <cstdio>

namespace {

bool is(bool holds, const char* what) {
  if (!holds) std::fprintf(stderr, "attention: %s\n", what);
  return holds;
}

bool refuses_a_spec() {
  try {
    fa::Spec::parse("attention odd\nhead_dim 7\n");
  } catch (const fa::SpecError& error) {
    return error.diagnostics().size() == 1 && error.diagnostics()[0].place.line == 2;
  }
  return false;
}

bool refuses_a_call(const fa::Kernel& kernel) {
  try {
    kernel.forward({});
  } catch (const fa::ArgumentError&) {
    return true;
  }
  return false;
}

}  // namespace

/// One query and two equal keys, the second of which a mask with a logarithm in it drops or keeps. Returns
/// whether the results are right.
extern "C" __attribute__((visibility("default"))) bool attention_is_right() {
  const auto spec = fa::Spec::parse(
      "attention some\nhead_dim 8\ndtype f32\nparam kept : i32 = 2\nscore_mod = tanh(score) + log(2.0)\n"
      "mask_mod = log2(f32(kv_idx + 1)) < kept\n");
  const auto kernel = fa::compile(spec, {.device = fa::Device::host, .disk_cache = false});
  float q[8] = {1}, k[16] = {}, v[16] = {2, 0, 0, 0, 0, 0, 0, 0, 4}, o[8] = {};
  const auto view = [](float* data, int length) {
    return fa::Tensor::bhsd(data, fa::DType::f32, 1, 1, length, 8);
  };
  const auto run = [&](int kept) {
    kernel.forward({.q = view(q, 1),
                    .k = view(k, 2),
                    .v = view(v, 2),
                    .o = view(o, 1),
                    .params = {{.name = "kept", .value = kept}}});
    return o[0];
  };
  return is(run(2) == 3.0f, "two keys are not averaged") && is(run(1) == 2.0f, "a key is not dropped") &&
         is(refuses_a_spec(), "no SpecError for a head_dim of 7") &&
         is(refuses_a_call(kernel), "no ArgumentError for an empty call");
}
