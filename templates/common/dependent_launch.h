// Programmatic dependent launch, where host and device must agree on it (common/dependent_launch.cuh).
#pragma once

// The compute capability from which on a pass may overlap the one before it. A macro, because the
// preprocessor asks.
#define FA_OVERLAPS_FROM 90
