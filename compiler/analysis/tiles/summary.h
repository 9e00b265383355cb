// The first half of tile classes: what each part of a mask depends on, and the summaries of those of one
// side. Internal to compiler/analysis.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/analysis/dependence.h"
#include "compiler/analysis/tiles/class_signature.h"
#include "compiler/analysis/tiles/tile_class.h"

namespace llvm {
class Instruction;
class Type;
class Value;
}  // namespace llvm

namespace fa {

struct ClassArgument {
  std::string name;
  llvm::Type* type;
};

/// `result` @name(i32 <leading>, <uniforms of `mask`>, <trailing>) beside `mask`, with an empty entry block
/// (class_signature.h has its arguments).
llvm::Function* make_class_function(llvm::Function& mask, llvm::Type* result, const std::string& name,
                                    std::span<const char* const> leading,
                                    const std::vector<ClassArgument>& trailing);

/// What a straight-line mask's values depend on, and its summaries: maximal parts of one side only that
/// intervals see badly.
class MaskSides {
 public:
  enum class Summaries { find, none };
  /// Adds @summary.J to the mask's module.
  explicit MaskSides(llvm::Function& mask, Summaries summaries = Summaries::find);

  DependsOn depends(const llvm::Value* value) const { return dependence_.of(*value); }
  /// The number of the summary whose value this is, or -1.
  int summary_of(const llvm::Value* value) const;
  const std::vector<Summary>& summaries() const { return summaries_; }

 private:
  void find_opaque();
  void find_summaries();
  bool is_summary(const llvm::Instruction& instruction, unsigned of_side) const;
  int add_summary(llvm::Instruction& root, bool of_query);

  llvm::Function& mask_;
  Dependence dependence_;
  std::unordered_set<const llvm::Value*> opaque_;
  std::unordered_set<const llvm::Value*> leaves_side_;
  std::unordered_map<const llvm::Value*, int> roots_;
  std::vector<Summary> summaries_;
};

}  // namespace fa
