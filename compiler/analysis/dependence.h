// Which of (b, h, q_idx, kv_idx, score) each SSA value depends on, and the stage of a kernel that can compute
// it.
#pragma once

#include <unordered_map>

#include "compiler/analysis/facts.h"

namespace llvm {
class Function;
class Value;
}  // namespace llvm

namespace fa {

/// Where a kernel computes a value: as far out of the loops as what it depends on allows.
enum class Stage : std::uint8_t { head, row, column, element };

Stage stage_of(DependsOn depends);

class Dependence {
 public:
  /// `function` has the arguments `args`.
  Dependence(const llvm::Function& function, const std::vector<HookArg>& args);

  /// Values added to the function later are found through their operands.
  DependsOn of(const llvm::Value& value);
  Stage stage(const llvm::Value& value) { return stage_of(of(value)); }

 private:
  std::unordered_map<const llvm::Value*, std::uint8_t> bits_;
};

}  // namespace fa
