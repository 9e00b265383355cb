// Dependence by data flow: the union over operands, to a fixed point where loops carry values. Control flow
// adds nothing: the only branches count to a constant.
#include "compiler/ir/llvm.h"
// after llvm.h
#include "compiler/analysis/dependence.h"

namespace fa {

Stage stage_of(DependsOn depends) {
  const bool row = depends.has(DependsOn::q);
  const bool column = depends.has(DependsOn::kv);
  if (depends.has(DependsOn::score) || (row && column)) return Stage::element;
  if (column) return Stage::column;
  return row ? Stage::row : Stage::head;
}

Dependence::Dependence(const llvm::Function& function, const std::vector<HookArg>& args) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    std::uint8_t bits = 0;
    switch (args[i].kind) {
      case HookArgKind::score:
        bits = DependsOn::score;
        break;
      case HookArgKind::b:
        bits = DependsOn::b;
        break;
      case HookArgKind::h:
        bits = DependsOn::h;
        break;
      case HookArgKind::q_idx:
        bits = DependsOn::q;
        break;
      case HookArgKind::kv_idx:
        bits = DependsOn::kv;
        break;
      default:
        break;
    }
    bits_[function.getArg(static_cast<unsigned>(i))] = bits;
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (const llvm::BasicBlock& block : function)
      for (const llvm::Instruction& instruction : block) {
        std::uint8_t bits = 0;
        for (const llvm::Value* operand : instruction.operand_values())
          if (auto found = bits_.find(operand); found != bits_.end()) bits |= found->second;
        std::uint8_t& known = bits_[&instruction];
        changed |= std::exchange(known, bits) != bits;
      }
  }
}

DependsOn Dependence::of(const llvm::Value& value) {
  if (auto found = bits_.find(&value); found != bits_.end()) return {found->second};
  std::uint8_t bits = 0;
  if (const auto* instruction = llvm::dyn_cast<llvm::Instruction>(&value)) {
    for (const llvm::Value* operand : instruction->operand_values()) bits |= of(*operand).bits;
    bits_[&value] = bits;
  }
  return {bits};
}

}  // namespace fa
