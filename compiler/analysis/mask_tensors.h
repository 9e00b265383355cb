// Which captured tensors a mask reads: what of it is not known before a call.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/hook_ir.h"

namespace fa {

/// The names of the tensors that mask_mod reads, in the spec's order.
std::vector<std::string> mask_tensors(const CheckedSpec& spec, const HookIr& hooks);

}  // namespace fa
