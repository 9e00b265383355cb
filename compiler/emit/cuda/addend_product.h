// Addends that are a constant times a term that each element finds: tiles may add them to raw scores by one instruction.
// Internal to compiler/emit.
#pragma once

#include "compiler/emit/cuda/hook_stages.h"

namespace llvm {
class ConstantFP;
}  // namespace llvm

namespace fa {

/// An addend that is a constant times something that each element finds; null members: another addend.
struct AddendProduct {
  const llvm::ConstantFP* factor = nullptr;
  const llvm::Value* term = nullptr;
};

/// Of what `of_element` computes.
AddendProduct product_of(const llvm::Value& addend, const StageBody& of_element);

}  // namespace fa
