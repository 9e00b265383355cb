// The spec that the files of tests/import are hooks of: lines 1 to 14, before the hook's own.
#pragma once

namespace fa::tests {

constexpr const char* kImportHead =
    "attention t\n"
    "head_dim 64\n"
    "param window : i32 = 9\n"
    "param gain : f32 = 0.75\n"
    "tensor doc : i32[batch, kv_len]\n"
    "tensor other : i32[kv_len]\n"
    "tensor slopes : f32[num_q_heads]\n"
    "tensor topk : i32[num_q_heads, ceil_div(q_len, 8), 4]\n"
    "tensor taps : f32[6]\n"
    "tensor bias : f32[num_q_heads, q_len, kv_len]\n"
    "tensor relative : f32[num_q_heads, 2 * window + 1]\n"
    "tensor halves : f16[num_q_heads, 16]\n"
    "tensor flags : bool[batch, kv_len]\n"
    "tensor small : i8[kv_len]\n";

}  // namespace fa::tests
