// The elementary functions that hooks call, as host kernels compute them. Internal to compiler/emit.
#pragma once

#include <initializer_list>
#include <vector>

#include "compiler/emit/host/builder.h"

namespace fa {

/// What `from` calls, of `args`, by ExactMath or HostMath; null where it is none of compiler/ir/functions.h
/// and its like. Its code stands in place, or, where the hooks have many such calls, in a function.
llvm::Value* elementary(llvm::IRBuilder<>& ir, const HostModule& host, const llvm::CallInst& from,
                        const std::vector<llvm::Value*>& args);

/// Whether the functions of `modules`, some of which may be null, call more elementary functions than can
/// stand in place: LLVM allots the registers of straight-line code in time that grows with its square, a minute for
/// 380 of them.
bool has_many_elementary_calls(std::initializer_list<IrModule> modules);

}  // namespace fa
