// Facet: attention from a spec.
//
//   #include <fa/fa.h>
//   #include <vector>
//
//   int main() {
//     auto spec = fa::Spec::parse("attention causal\nhead_dim 64\ndtype f32\nmask_mod = q_idx >= kv_idx");
//     const fa::Kernel kernel = fa::compile(spec, {.device = fa::Device::host});
//     std::vector<float> q(2 * 8 * 100 * 64, 0.5f), k = q, v = q, o(q.size());  // any lengths, one kernel
//     const auto view = [](auto& x) { return fa::Tensor::bhsd(x.data(), fa::DType::f32, 2, 8, 100, 64); };
//     kernel.forward({.q = view(q), .k = view(k), .v = view(v), .o = view(o)});
//     return o[0] == 0.5f ? 0 : 1;
//   }
#pragma once

#include "fa/backward.h"
#include "fa/error.h"
#include "fa/kernel.h"
#include "fa/options.h"
#include "fa/spec.h"
