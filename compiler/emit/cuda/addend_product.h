// Addends that are a constant times a term that each element finds: tiles may add them to raw scores by one instruction.
// Internal to compiler/emit.
#pragma once

#include <string_view>

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

/// Whether the sum of two numbers of a table's type is `factor` to 2^-18 of it. bf16 has the range of f32; f16
/// ends at 65504, and below 2^-3 the second number would lie where it has few digits.
bool is_two_numbers_of(std::string_view type, double factor);

/// Of what `of_element` computes.
AddendProduct product_of(const llvm::Value& addend, const StageBody& of_element);

}  // namespace fa
