// FlashAttention, algorithm 1 (Dao et al. 2022): kv tiles outside, so that what a row has come to is read and written
// again with each. A baseline, by the fused kernel's own products, softmax, hooks and copies (docs/baselines.md): what
// copies and what multiplies are the architecture's, whose flash1.cuh includes this file last.
#pragma once

#include "common/flash1/outputs.cuh"
#include "common/flash1/tiles.cuh"
