// FlashAttention, algorithm 1, for sm_75: made of the same parts as the fused kernel (forward.cuh), but for the placement.
#pragma once

#include "common/flash1/placement.cuh"
#include "sm75/mma.cuh"
#include "sm75/tile.cuh"
// after the architecture's own
#include "common/ffma.cuh"
#include "common/flash1/flash1.cuh"
