// The cost model of the host: how long its kernels take under a legal plan, by what one core does for a query and a key.
#pragma once

#include <functional>

#include "compiler/schedule/plan.h"
#include "compiler/target/host_cpu.h"

namespace fa {

/// Cycles of a core for each pair of a query and a key that the mask keeps.
struct HostCost {
  double products = 0;  // Q K^T and P V, by FMAs and their loads or by AMX's tiles
  double softmax = 0;
  double mask = 0;    // of tiles at its edges
  double output = 0;  // the sums of O, read and written once for each softmax
  double copies =
      0;  // K and V brought into the order, or the type, in which they are multiplied, once for each q tile
  double misses = 0;  // operands, or scores, that the L1 cache does not hold
  double total = 0;   // times what tiles at the mask's edges and rows past a tile's end add
};

/// Of all tiles of a plan, how many the mask leaves: 0 to 1.
using TilesLeft = std::function<double(const Plan& plan)>;

/// `plan` must be legal.
HostCost predict_on_host(const Plan& plan, const CheckedSpec& spec, const Facts& facts, const HostCpu& cpu,
                         const TilesLeft& tiles_left);

}  // namespace fa
