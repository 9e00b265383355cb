// The passes of the two baselines, emitted into a module. Included by .cpp files after compiler/ir/llvm.h.
#pragma once

#include <string>

#include "compiler/emit/host/baseline/baseline.h"
#include "compiler/emit/host/outline.h"
#include "compiler/emit/host/step/step.h"

namespace fa {

/// The arguments of a HostPass.
template <class T>
struct PassArgs {
  T params, workspace, kept, b, h, first_q;
};

/// How many passes were emitted, and of how many of them, the first, an item is a head.
struct EmittedPasses {
  unsigned all, by_head;
};

EmittedPasses emit_standard(const HostModule& host);
EmittedPasses emit_flash1(const HostModule& host);

inline llvm::Function* pass_entry(const HostModule& host, int number) {
  return entry<PassArgs>(host, (kHostPassSymbol + std::to_string(number)).c_str());
}

/// A baseline's mask, if it has one, and dropout; its products take all of each tile.
StepParts emit_step_parts(const HostModule& host);
bool has_mask(const HostModule& host);

/// Calls body(first_kv, i32) for each kv tile.
void each_kv_tile(const HostModule& host, HostBuilder& build, llvm::Value* params,
                  const std::function<void(llvm::Value*)>& body);

}  // namespace fa
