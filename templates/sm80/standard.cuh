// Standard attention for sm_80 and later: made of the same parts as the fused kernel (forward.cuh).
#pragma once

#include "sm80/mma.cuh"
#include "sm80/placement.cuh"
#include "sm80/tf32x3.cuh"
#include "sm80/tile.cuh"
// after the architecture's own
#include "common/ffma.cuh"
#include "common/standard/standard.cuh"
