// Calls of a spec's derived functions, one value at a time, in the code of a host kernel. Internal to
// compiler/emit.
#pragma once

#include <vector>

#include "compiler/emit/host/builder.h"

namespace fa {

/// The launch's values for a derived function's <uniforms>.
void add_uniforms(const HostModule& host, HostBuilder& build, llvm::Value* params,
                  std::vector<llvm::Value*>& to);

/// Puts the body of the called function, which HostModule::own has made, in the call's place and removes the
/// function. Elementary functions get the code they have in vectors: a class that rounds otherwise might
/// contradict the mask.
void inline_call(const HostModule& host, HostBuilder& build, llvm::CallInst* call);

}  // namespace fa
