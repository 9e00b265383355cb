// Which of (b, h, q_idx, kv_idx, score) each SSA value depends on, and the stage of a kernel that can compute
// it.
#pragma once

#include <unordered_map>

#include "compiler/ir/depends_on.h"

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
  /// `function` has a hook's arguments.
  explicit Dependence(const llvm::Function& function);

  /// Values added to the function later are found through their operands.
  DependsOn of(const llvm::Value& value) const;
  Stage stage(const llvm::Value& value) const { return stage_of(of(value)); }

 private:
  mutable std::unordered_map<const llvm::Value*, DependsOn> known_;
};

}  // namespace fa
