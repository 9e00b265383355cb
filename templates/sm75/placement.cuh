// How work is placed on sm_75: a CTA does one item, and its warps are alike.
#pragma once

#include "common/warps_alike.cuh"

namespace fa {

using WorkItem = BlockItem;

}  // namespace fa
