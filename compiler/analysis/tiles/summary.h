// The first half of tile classes: what each part of a mask depends on, and the summaries of those of one
// side. Internal to compiler/analysis.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/analysis/tiles/tile_class.h"

namespace llvm {
class Instruction;
class Type;
class Value;
}  // namespace llvm

namespace fa {

/// Bits of what a value depends on, of the five element arguments every hook begins with.
enum : unsigned { kScore = 1, kB = 2, kH = 4, kQ = 8, kKv = 16 };

constexpr unsigned kQIdx = 3;  // the mask's arguments: score, b, h, q_idx, kv_idx, uniforms
constexpr unsigned kKvIdx = 4;
constexpr unsigned kFirstUniform = 5;

struct ClassArgument {
  std::string name;
  llvm::Type* type;
};

/// `result` @name(i32 <leading>, <uniforms of `mask`>, <trailing>) beside `mask`, with an empty entry block.
llvm::Function* make_class_function(llvm::Function& mask, llvm::Type* result, const std::string& name,
                                    const std::vector<std::string>& leading,
                                    const std::vector<ClassArgument>& trailing);

/// What a straight-line mask's values depend on, and its summaries: maximal parts of one side only that
/// intervals see badly.
class MaskSides {
 public:
  enum class Summaries { find, none };
  /// Adds @summary.J to the mask's module.
  explicit MaskSides(llvm::Function& mask, Summaries summaries = Summaries::find);

  unsigned depends(const llvm::Value* value) const;
  /// The number of the summary whose value this is, or -1.
  int summary_of(const llvm::Value* value) const;
  const std::vector<Summary>& summaries() const { return summaries_; }

 private:
  void find_dependences();
  void find_summaries();
  bool is_summary(const llvm::Instruction& instruction, unsigned of_side) const;
  int add_summary(llvm::Instruction& root, bool of_query);

  llvm::Function& mask_;
  std::unordered_map<const llvm::Value*, unsigned> depends_;
  std::unordered_set<const llvm::Value*> opaque_;
  std::unordered_set<const llvm::Value*> leaves_side_;
  std::unordered_map<const llvm::Value*, int> roots_;
  std::vector<Summary> summaries_;
};

}  // namespace fa
