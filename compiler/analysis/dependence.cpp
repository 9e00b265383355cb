// Dependence by data flow: the union over operands, to a fixed point where loops carry values. Control flow
// adds nothing: the only branches count to a constant.
#include "compiler/ir/llvm.h"
// after llvm.h
#include "compiler/analysis/dependence.h"
#include "compiler/ir/signature.h"

namespace fa {

Stage stage_of(DependsOn depends) {
  if (depends.is_of_element()) return Stage::element;
  if (depends.has(DependsOn::kv)) return Stage::column;
  return depends.has(DependsOn::q) ? Stage::row : Stage::head;
}

Dependence::Dependence(const llvm::Function& function) {
  for (const auto& [kind, bit] : {std::pair{HookArgKind::score, DependsOn::score},
                                  {HookArgKind::b, DependsOn::b},
                                  {HookArgKind::h, DependsOn::h},
                                  {HookArgKind::q_idx, DependsOn::q},
                                  {HookArgKind::kv_idx, DependsOn::kv}})
    known_[hook_argument(function, kind)] = {static_cast<std::uint8_t>(bit)};
  for (bool changed = true; changed;) {
    changed = false;
    for (const llvm::BasicBlock& block : function)
      for (const llvm::Instruction& instruction : block) {
        DependsOn now;
        for (const llvm::Value* operand : instruction.operand_values())
          if (auto found = known_.find(operand); found != known_.end()) now |= found->second;
        DependsOn& known = known_[&instruction];
        changed |= std::exchange(known, now) != now;
      }
  }
}

DependsOn Dependence::of(const llvm::Value& value) const {
  if (auto found = known_.find(&value); found != known_.end()) return found->second;
  DependsOn depends;
  if (const auto* instruction = llvm::dyn_cast<llvm::Instruction>(&value)) {
    for (const llvm::Value* operand : instruction->operand_values()) depends |= of(*operand);
    known_[&value] = depends;
  }
  return depends;
}

}  // namespace fa
