#include "compiler/analysis/score_class.h"

#include "compiler/analysis/tiles/transfer/transfer.h"
#include "compiler/ir/range/narrow.h"
#include "compiler/ir/simplify.h"

namespace fa {
namespace {

bool is_zero(const llvm::Function& function) {
  const auto* end = llvm::dyn_cast<llvm::ReturnInst>(function.back().getTerminator());
  const auto* value = end == nullptr ? nullptr : llvm::dyn_cast<llvm::ConstantInt>(end->getReturnValue());
  return value != nullptr && value->isZero();
}

struct Rectangle {
  int q_lo, q_hi, kv_lo, kv_hi;
};

/// Whether a class, of score or mask, is known to be 0 in one tile of as many queries as keys, whatever the
/// other uniforms.
bool is_zero_in(const llvm::Function& any_class, const Rectangle& tile, int length, llvm::Module& scratch) {
  llvm::Function* copy = copy_function(any_class, scratch, "asked");
  const auto set = [](llvm::Argument* argument, int value) {
    argument->replaceAllUsesWith(llvm::ConstantInt::get(argument->getType(), static_cast<unsigned>(value)));
  };
  set(class_argument(*copy, ClassArg::q_lo), tile.q_lo);
  set(class_argument(*copy, ClassArg::q_hi), tile.q_hi);
  set(class_argument(*copy, ClassArg::kv_lo), tile.kv_lo);
  set(class_argument(*copy, ClassArg::kv_hi), tile.kv_hi);
  for (const HookArgKind kind : {HookArgKind::q_len, HookArgKind::kv_len})
    set(class_uniform(*copy, kind), length);
  simplify(*copy);
  const bool zero = is_zero(*copy);
  copy->eraseFromParent();
  return zero;
}

/// Whether no tile that is not empty can be plain: neither a square one on the diagonal nor one far to either
/// side of it. (A distance to the diagonal that nothing bounds is the same only over a single element.)
bool is_useless(const llvm::Function& score_class, const llvm::Function* tile_class, llvm::Module& scratch) {
  constexpr int kNear = 1 << 12;
  constexpr int kFar = 1 << 22;
  constexpr int kTile = 64;
  for (const int q : {kNear, kFar})
    for (const int kv : {kNear, kFar}) {
      const Rectangle tile{q, q + kTile - 1, kv, kv + kTile - 1};
      const bool empty = tile_class != nullptr && is_zero_in(*tile_class, tile, 2 * kFar, scratch);
      if (!empty && !is_zero_in(score_class, tile, 2 * kFar, scratch)) return false;
    }
  return true;
}

}  // namespace

ScoreClass derive_score_class(const Facts& facts, const TileClasses& classes, double scale) {
  if (facts.score_form != ScoreForm::affine || !facts.multiplier_is_one || facts.addend_is_zero) return {};
  if (!facts.addend.has_all(DependsOn::q | DependsOn::kv)) return {};
  if (facts.addend_is_linear || !can_divide_by(scale)) return {};
  if (facts.logits.addend->size() != 1) return {};  // a loop
  const std::shared_ptr<llvm::Module> module = make_module("score_class", facts.logits.module);
  llvm::Function& addend = *copy_function(*facts.logits.addend, *module, "addend");
  const MaskSides sides(addend, MaskSides::Summaries::none);
  llvm::Function* function = make_class_function(addend, llvm::Type::getInt32Ty(addend.getContext()),
                                                 "score_class", kClassArgNames, {});
  llvm::IRBuilder<> builder(&function->getEntryBlock());
  llvm::FastMathFlags as_in_hooks;  // what it asks of score_mod's values, it asks as the kernel does
  as_in_hooks.setAllowContract();
  builder.setFastMathFlags(as_in_hooks);
  Transfer transfer(addend, sides, *function, builder);
  const auto* end = llvm::cast<llvm::ReturnInst>(addend.getEntryBlock().getTerminator());
  builder.CreateRet(builder.CreateZExt(transfer.is_point(end->getReturnValue()), builder.getInt32Ty()));
  simplify(*function);
  narrow_integers(*function);
  simplify(*function);
  addend.eraseFromParent();
  if (is_useless(*function, classes.function, *module)) return {};
  return {.module = module, .function = function};
}

}  // namespace fa
