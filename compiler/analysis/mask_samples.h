// A mask evaluated at single elements while a spec is compiled: what is chosen by the mask's shape samples it. Good enough to
// choose by, proof of nothing.
#pragma once

#include <optional>
#include <unordered_map>

#include "compiler/ir/hook_ir.h"
#include "compiler/ir/signature.h"
#include "compiler/spec/spec.h"

namespace llvm {
class Constant;
class Instruction;
class Value;
}  // namespace llvm

namespace fa {

class MaskSamples {
 public:
  /// Of the first head of a sequence of `length` tokens, with the params' default values.
  MaskSamples(const CheckedSpec& spec, const llvm::Function& mask_mod, int length);

  int length() const { return length_; }

  /// Whether row q_idx keeps key kv_idx; nothing where the mask reads a tensor or has a loop.
  std::optional<bool> keeps(int q_idx, int kv_idx);

 private:
  void set(HookArgKind index, int value);
  llvm::Constant* value_of(llvm::Value* value) const;
  llvm::Constant* fold(const llvm::Instruction& instruction);

  const llvm::Function& mask_;
  int length_;
  std::unordered_map<const llvm::Value*, llvm::Constant*> values_;
};

}  // namespace fa
