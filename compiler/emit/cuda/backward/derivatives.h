// Prints a spec's derivatives as the `struct Derivatives` that backward kernels are instantiated with
// (templates/common/backward/derivatives.cuh is the contract).
#pragma once

#include <string>

#include "compiler/derive/derive.h"
#include "compiler/ir/hook_ir.h"

namespace fa {

struct PrintedDerivatives {
  std::string text;  // the struct and the functions that it calls, in namespace fa, after the hooks
  IrModule calls;    // of functions that were lowered for it
};

PrintedDerivatives print_derivatives(const CheckedSpec& spec, const HookIr& hooks,
                                     const Derivatives& derivatives, bool deterministic);

}  // namespace fa
