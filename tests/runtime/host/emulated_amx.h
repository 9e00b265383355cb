// Host kernels for AMX on CPUs that lack it: the six instructions that they use, in C++.
#pragma once

#include <memory>

#include "runtime/host/jit.h"

namespace fa::test {

/// A spec's kernel for a CPU with AVX-512 and AMX, made for this one: tile instructions are calls of functions
/// here (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2).
std::shared_ptr<const HostKernel> build_with_emulated_amx(const CheckedSpec& spec, int tile_q, int tile_kv);

}  // namespace fa::test
