// The second half of tile classes: what each value of a mask may be over a tile, by transfer functions that
// write LLVM IR. Internal to compiler/analysis.
//
//   tile_class_transfer.cpp   what a value is: an argument, a summary, a point, or interpreted
//   tile_class_integer.cpp    transfer functions of i32 instructions
//   tile_class_boolean.cpp    transfer functions of i1 instructions
#pragma once

#include "compiler/ir/llvm.h"
// after llvm.h
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/analysis/domain.h"
#include "compiler/analysis/tile_class_summary.h"

namespace fa {

class Transfer {
 public:
  /// Writes into `tile_class` by `builder`.
  Transfer(llvm::Function& mask, const MaskSides& sides, llvm::Function& tile_class,
           llvm::IRBuilder<>& builder);

  /// Interprets one instruction; those before it have been.
  void visit(llvm::Instruction& instruction);
  AbstractInt integer(llvm::Value* value);
  AbstractBool boolean(llvm::Value* value);
  /// Whether `value` is the same over the whole tile, as an i1.
  llvm::Value* is_point(llvm::Value* value);
  const std::vector<std::string>& imprecise() const { return imprecise_; }

 private:
  unsigned depends(const llvm::Value* value) const { return sides_.depends(value); }
  llvm::Value* argument(llvm::StringRef name) const;
  llvm::Value* operands_are_points(llvm::Instruction& instruction);
  void note_imprecise(const llvm::Instruction& instruction);

  /// Exact where every operand is the same over the tile; else anything.
  AbstractInt fallback(llvm::Instruction& instruction, std::int64_t min = kI32Min,
                       std::int64_t max = kI32Max);
  AbstractInt transfer_integer(llvm::Instruction& instruction);
  AbstractInt transfer_division(llvm::Instruction& instruction);
  AbstractInt transfer_and(llvm::Instruction& instruction, bool has_constant, std::int64_t c);
  AbstractInt fallback_bits(llvm::Instruction& instruction);
  AbstractInt transfer_select(llvm::SelectInst& select);
  AbstractInt transfer_call(llvm::CallInst& call);

  AbstractBool fallback_boolean(llvm::Instruction& instruction);
  /// `a == b or a > b` is `a >= b`: apart, neither half is ever proved to hold all over a tile that both
  /// together cover.
  std::optional<AbstractBool> merge_compares(llvm::Instruction& instruction);
  AbstractBool transfer_boolean(llvm::Instruction& instruction);
  AbstractBool compare(llvm::Instruction& instruction, llvm::CmpInst::Predicate predicate, llvm::Value* first,
                       llvm::Value* second);
  /// x <u y. A negative number is larger than every other, so 0 <= x < y where y is not negative.
  AbstractBool unsigned_less(llvm::Instruction& instruction, const AbstractInt& x, const AbstractInt& y);

  llvm::Function& mask_;
  const MaskSides& sides_;
  llvm::Function& class_;
  Domain domain_;
  /// The mask at the tile's first element: where all that goes into a value is the same over the tile, this
  /// is it.
  std::unordered_map<const llvm::Value*, llvm::Value*> corner_;
  std::unordered_map<const llvm::Value*, AbstractInt> integers_;
  std::unordered_map<const llvm::Value*, AbstractBool> booleans_;
  std::vector<std::string> imprecise_;
};

}  // namespace fa
