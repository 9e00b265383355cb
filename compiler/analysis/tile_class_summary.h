// The first half of tile classes: what each part of a mask depends on, and the summaries of those of one
// side. Internal to compiler/analysis.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/analysis/tile_class.h"

namespace llvm {
class Instruction;
class Value;
}  // namespace llvm

namespace fa {

/// Bits of what a value depends on, of the five element arguments every hook begins with.
enum : unsigned { kScore = 1, kB = 2, kH = 4, kQ = 8, kKv = 16 };

constexpr unsigned kFirstUniform = 5;  // score, b, h, q_idx, kv_idx

/// i32 @name(i32 <leading>, <uniforms of `mask`>, i32 <trailing>) beside `mask`, with an empty entry block.
llvm::Function* make_class_function(llvm::Function& mask, const std::string& name,
                                    const std::vector<std::string>& leading,
                                    const std::vector<std::string>& trailing);

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
  /// n where the mask depends on q_idx through floor(q_idx / n) alone, for an n that a tile's rows touch at
  /// most two of, and would need summaries of that; then the tile's first and last row show all. Else 0.
  int rows_a_block() const { return rows_a_block_; }
  /// The n where the mask depends on kv_idx through floor(kv_idx / n) alone; 1 where there is none.
  int columns_a_block() const { return alike(kKvIdx); }

 private:
  void find_dependences();
  static constexpr unsigned kQIdx = 3;  // the mask's arguments
  static constexpr unsigned kKvIdx = 4;
  int alike(unsigned index) const;
  void find_rows_a_block();
  void find_summaries();
  int add_summary(llvm::Instruction& root, bool of_query);

  llvm::Function& mask_;
  std::unordered_map<const llvm::Value*, unsigned> depends_;
  std::unordered_map<const llvm::Value*, bool> opaque_;
  std::unordered_map<const llvm::Value*, int> roots_;
  std::vector<Summary> summaries_;
  int rows_a_block_ = 0;
};

}  // namespace fa
