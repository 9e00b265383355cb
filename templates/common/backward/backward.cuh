// The backward pass: what each row needs to know, then dK and dV by kv tiles, then dQ by q tiles (docs/backward.md). The algorithm,
// written once: what copies and what multiplies are the architecture's, whose backward.cuh includes this file last.
#pragma once

#include "backward_params.h"
#include "common/backward/exact_sum.cuh"
#include "common/backward/keys.cuh"
#include "common/backward/queries.cuh"
#include "common/backward/query_sums.cuh"
#include "common/backward/row_stats.cuh"
