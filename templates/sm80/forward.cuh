// Forward attention for sm_80 and later: m16n8k16 products (for f32 3xTF32 or FFMA), tiles by cp.async. The
// algorithm is common/forward.cuh; this file says what it is made of here.
#pragma once

#include "sm80/mma.cuh"
#include "sm80/placement.cuh"
#include "sm80/tf32x3.cuh"
#include "sm80/tile.cuh"
// after the architecture's own
#include "common/ffma.cuh"
#include "common/forward.cuh"
