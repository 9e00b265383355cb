// Host kernels for bf16 on CPUs that lack the instructions which multiply it: in their place stand functions of
// the same meaning (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/host/jit.h"

namespace fa::test {

/// Emits a kernel for a CPU.
using EmitFor = std::function<HostIr(const HostCpu&)>;

/// The object of a kernel for a CPU with AVX-512 and AMX, made for this one, any of x86-64: AMX's six tile instructions are
/// C++ functions.
std::string object_with_emulated_amx(const EmitFor& emit);

/// The object of a kernel for a CPU with AVX512_BF16, made for this one, whichever it is: vdpbf16ps is a function in
/// LLVM's IR.
std::string object_with_emulated_pairs(const EmitFor& emit);

/// A way to multiply bf16, and the objects of kernels that do.
struct EmulatedWay {
  const char* name;
  std::string (*object)(const EmitFor& emit);
};
/// Those that this CPU can emulate; says which not.
std::vector<EmulatedWay> emulated_ways();

/// Compiles the IR's text.
std::string object_of(const std::string& text);

}  // namespace fa::test
