// Host kernels for bf16 on CPUs that lack the instructions which multiply it: in their place stand functions of
// the same meaning (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2).
#pragma once

#include <memory>
#include <string>

#include "runtime/host/jit.h"

namespace fa::test {

/// A spec's kernel for a CPU with AVX-512 and AMX, made for this one, which needs AVX-512: AMX's six tile
/// instructions are C++ functions.
std::shared_ptr<const HostKernel> build_with_emulated_amx(const CheckedSpec& spec, int tile_q, int tile_kv);

/// A spec's kernel for a CPU with AVX512_BF16, made for this one, whichever it is: vdpbf16ps is a function in
/// LLVM's IR.
std::shared_ptr<const HostKernel> build_with_emulated_pairs(const CheckedSpec& spec, int tile_q, int tile_kv);

/// Compiles the IR's text and loads it.
std::shared_ptr<const HostKernel> load_ir(const std::string& text);

}  // namespace fa::test
