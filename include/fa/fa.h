// Facet: attention from a spec.
//
//   #include <fa/fa.h>
//
//   int main() {
//     const auto spec = fa::Spec::parse("head_dim 64\ndtype f32\nmask_mod = q_idx >= kv_idx\n");
//     const fa::Kernel kernel = fa::compile(spec, {.device = fa::Device::host});
//     std::vector<float> q(2 * 8 * 1000 * 64, 0.5f), k = q, v = q, o(q.size());
//     const auto view = [](std::vector<float>& x) { return fa::Tensor::bhsd(x.data(), fa::DType::f32, 2, 8,
//     1000, 64); }; kernel.forward({.q = view(q), .k = view(k), .v = view(v), .o = view(o)});  // any length,
//     same kernel
//   }
#pragma once

#include "fa/error.h"
#include "fa/kernel.h"
#include "fa/options.h"
#include "fa/spec.h"
