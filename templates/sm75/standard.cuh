// Standard attention for sm_75: made of the same parts as the fused kernel (forward.cuh).
#pragma once

#include "sm75/mma.cuh"
#include "sm75/placement.cuh"
#include "sm75/tile.cuh"
// after the architecture's own
#include "common/ffma.cuh"
#include "common/standard/standard.cuh"
