// Standard attention (FlashAttention, algorithm 0): S and P pass through global memory whole. A baseline, by the same
// products, hooks and copies as the fused kernels (docs/baselines.md): what copies and what multiplies are the
// architecture's, whose standard.cuh includes this file last.
#pragma once

#include "common/standard/outputs.cuh"
#include "common/standard/scores.cuh"
#include "common/standard/softmax.cuh"
