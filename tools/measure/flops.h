// The number of floating-point operations of a forward pass, for rates.
#pragma once

#include <string>

#include "tools/problem/problem.h"

namespace fa::tools {

struct CountedFlops {
  double flops = 0;
  std::string
      what;  // which scores are counted: "every score", "the scores kept", "the scores kept, by a sample"
};

/// 2 B H Nq Nk (d + dv), the two products, times the share of scores that the mask keeps: what
/// FlashAttention's papers count for a causal mask. The mask is evaluated on every row, or on a sample of
/// rows where that would take long. `every_score`: kept or not.
CountedFlops count_flops(const Problem& problem, bool every_score = false);

}  // namespace fa::tools
