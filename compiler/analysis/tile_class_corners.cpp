// What takes so few values over a tile that its corners show them all: a table of blocks, or bits of two
// block numbers, where a tile touches at most two blocks on either side. Then the mask at the tile's corners
// is the mask of the tile.
#include "compiler/analysis/tile_class_transfer.h"

namespace fa {
namespace {

constexpr std::size_t kMostValues = 48;  // what is evaluated at a corner

}  // namespace

/// One-sided parts of `value`, as large as they go.
void Transfer::find_leaves(llvm::Value* value, Leaves& leaves, std::set<llvm::Value*>& seen) {
  if (llvm::isa<llvm::Constant>(value) || is_uniform(value) || !seen.insert(value).second) return;
  if (seen.size() > kMostValues) leaves.usable = false;
  if (!leaves.usable) return;
  const unsigned side = depends(value) & (kQ | kKv);
  const bool i32 = value->getType()->isIntegerTy(32);
  if (side != (kQ | kKv) && (i32 || value->getType()->isIntegerTy(1))) {
    // An index itself takes as many values as there are rows.
    const bool is_index = i32 && (integer(value, tile()).q != 0 || integer(value, tile()).kv != 0);
    leaves.usable = leaves.usable && !is_index;
    (side == kQ ? leaves.rows : leaves.columns).insert(value);
    return;
  }
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr) {
    leaves.usable = false;
    return;
  }
  for (llvm::Value* operand : instruction->operand_values()) find_leaves(operand, leaves, seen);
}

llvm::Value* Transfer::at_corner(llvm::Value* value, bool last_row, bool last_column) {
  if ((depends(value) & kQ) == 0) last_row = false;
  if ((depends(value) & kKv) == 0) last_column = false;
  if (!last_row && !last_column) return corner(value);
  if (value == mask_.getArg(3)) return argument("q_hi");
  if (value == mask_.getArg(4)) return argument("kv_hi");
  const auto key = std::make_tuple(static_cast<const llvm::Value*>(value), last_row, last_column);
  if (const auto found = corners_.find(key); found != corners_.end()) return found->second;
  auto* instruction = llvm::cast<llvm::Instruction>(value);
  std::vector<llvm::Value*> operands;
  for (llvm::Value* operand : instruction->operand_values())
    operands.push_back(llvm::isa<llvm::Function>(operand) ? operand
                                                          : at_corner(operand, last_row, last_column));
  llvm::Instruction* copy = instruction->clone();
  for (unsigned i = 0; i < operands.size(); ++i) copy->setOperand(i, operands[i]);
  tile().builder().Insert(copy);
  return corners_[key] = copy;
}

llvm::Value* Transfer::ends_show_all(llvm::Value* leaf, bool of_rows) {
  llvm::IRBuilder<>& builder = tile().builder();
  llvm::Value* const differ =
      builder.CreateICmpNE(at_corner(leaf, false, false), at_corner(leaf, of_rows, !of_rows));
  if (leaf->getType()->isIntegerTy(1)) return builder.CreateOr(is_point(leaf), differ);
  // Between two neighbouring numbers there is nothing else to take.
  const Range range = tile().range(integer(leaf, tile()));
  llvm::Value* const spread = builder.CreateNSWSub(range.hi, range.lo);
  return builder.CreateOr(builder.CreateICmpEQ(spread, tile().i64(0)),
                          builder.CreateAnd(builder.CreateICmpEQ(spread, tile().i64(1)), differ));
}

template <class Evaluate>
AbstractBool Transfer::by_corners(const AbstractBool& otherwise, const std::vector<llvm::Value*>& values,
                                  Evaluate evaluate) {
  Leaves leaves;
  std::set<llvm::Value*> seen;
  for (llvm::Value* value : values) find_leaves(value, leaves, seen);
  // Two values of one side may change at different rows: their ends are not all their pairs.
  if (!leaves.usable || leaves.rows.size() > 1 || leaves.columns.size() > 1) return otherwise;
  llvm::IRBuilder<>& builder = tile().builder();
  llvm::Value* shown = builder.getTrue();
  for (llvm::Value* leaf : leaves.rows) shown = builder.CreateAnd(shown, ends_show_all(leaf, true));
  for (llvm::Value* leaf : leaves.columns) shown = builder.CreateAnd(shown, ends_show_all(leaf, false));
  AbstractBool at_corners{builder.getFalse(), builder.getFalse()};
  for (int i = 0; i < 4; ++i) {
    const bool last_row = (i & 1) != 0;
    const bool last_column = (i & 2) != 0;
    if ((last_row && leaves.rows.empty()) || (last_column && leaves.columns.empty())) continue;
    at_corners = tile().either(at_corners, tile().known(evaluate(last_row, last_column)));
  }
  return {builder.CreateSelect(shown, at_corners.may_be_true, otherwise.may_be_true),
          builder.CreateSelect(shown, at_corners.may_be_false, otherwise.may_be_false)};
}

AbstractBool Transfer::at_ends(llvm::Value* condition) {
  return tile().either(tile().known(at_corner(condition, false, false)),
                       tile().known(at_corner(condition, false, true)));
}

AbstractBool Transfer::condition_by_corners(llvm::Instruction& condition) {
  const AbstractBool by_points = tile().exact_where(operands_are_points(condition), corner(&condition));
  // A condition of one side is a leaf itself: to ask whether its ends show all would be to ask this again.
  if ((depends(&condition) & (kQ | kKv)) != (kQ | kKv)) return by_points;
  return by_corners(by_points, {&condition}, [&](bool last_row, bool last_column) {
    return at_corner(&condition, last_row, last_column);
  });
}

AbstractBool Transfer::compare_by_corners(const Literal& literal, const AbstractBool& otherwise) {
  std::set<const llvm::Value*> seen;
  if (!has_fallback(literal.a, seen) && !has_fallback(literal.b, seen)) return otherwise;
  return by_corners(otherwise, {literal.a, literal.b}, [&](bool last_row, bool last_column) {
    return tile().builder().CreateICmp(literal.predicate, at_corner(literal.a, last_row, last_column),
                                       at_corner(literal.b, last_row, last_column));
  });
}

/// Whether intervals failed on something that `value` is made of.
bool Transfer::has_fallback(const llvm::Value* value, std::set<const llvm::Value*>& seen) const {
  if ((depends(value) & (kQ | kKv)) != (kQ | kKv) || !seen.insert(value).second) return false;
  if (fallbacks_.contains(value)) return true;
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr) return false;
  for (const llvm::Value* operand : instruction->operand_values())
    if (has_fallback(operand, seen)) return true;
  return false;
}

}  // namespace fa
