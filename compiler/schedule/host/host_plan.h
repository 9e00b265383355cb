// The plan that the host's kernels get where nobody has tuned and no mask suits other tiles: a table by what the CPU is.
#pragma once

#include <string_view>

#include "compiler/schedule/plan.h"
#include "compiler/target/host_cpu.h"

namespace fa {

struct HostDefault {
  std::string_view cpu;  // LLVM's name for it; empty: any
  int lanes;             // floats a vector has, at least
  HostProduct product;
  Plan plan;
  std::string_view why;
};

/// The target's CPU, or one of which nothing is known.
const HostCpu& host_cpu_of(const Target& target);

/// The first line of the table that fits.
const HostDefault& host_default(DType dtype, const HostCpu& cpu);

}  // namespace fa
