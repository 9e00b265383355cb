#include "compiler/ir/llvm.h"
// after llvm.h
#include <algorithm>

#include "compiler/emit/cuda/addend_product.h"

namespace fa {

AddendProduct product_of(const llvm::Value& addend, const StageBody& of_element) {
  const auto* product = llvm::dyn_cast<llvm::BinaryOperator>(&addend);
  if (product == nullptr || product->getOpcode() != llvm::Instruction::FMul) return {};
  const unsigned at = llvm::isa<llvm::ConstantFP>(product->getOperand(0)) ? 0 : 1;  // c * x and x * c
  const auto* factor = llvm::dyn_cast<llvm::ConstantFP>(product->getOperand(at));
  const bool is_of_element =
      std::any_of(of_element.items.begin(), of_element.items.end(),
                  [&](const Region::Item* item) { return item->instruction == product; });
  if (factor == nullptr || !is_of_element) return {};
  return AddendProduct{.factor = factor, .term = product->getOperand(1 - at)};
}

}  // namespace fa
