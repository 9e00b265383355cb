// Numbers that several stages compute with.
#pragma once

#include <limits>

namespace fa {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kLog2e = 1.44269504088896340736;  // log2(e)
constexpr float kLog2eF32 = 1.4426950408889634f;   // as kernels have it

}  // namespace fa
