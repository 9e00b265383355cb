// Forward attention for sm_75: m16n8k8 products of f16 (FFMA for f32), tiles through registers. The algorithm
// is common/forward.cuh; this file says what it is made of here.
#pragma once

#include "sm75/mma.cuh"
#include "sm75/placement.cuh"
#include "sm75/tile.cuh"
// after the architecture's own
#include "common/ffma.cuh"
#include "common/forward.cuh"
