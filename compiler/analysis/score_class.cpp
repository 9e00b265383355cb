#include "compiler/analysis/score_class.h"

#include "compiler/analysis/tiles/transfer/transfer.h"
#include "compiler/ir/range/narrow.h"
#include "compiler/ir/simplify.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <llvm/Transforms/Utils/Cloning.h>
#pragma GCC diagnostic pop

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
bool is_zero_in(llvm::Function& any_class, const Rectangle& tile, int length) {
  llvm::ValueToValueMapTy map;
  llvm::Function* copy = llvm::CloneFunction(&any_class, map);
  const auto set = [](llvm::Argument& argument, int value) {
    argument.replaceAllUsesWith(llvm::ConstantInt::get(argument.getType(), static_cast<unsigned>(value)));
  };
  const int bounds[] = {tile.q_lo, tile.q_hi, tile.kv_lo, tile.kv_hi};
  for (unsigned i = 0; i < 4; ++i) set(*copy->getArg(i + 2), bounds[i]);
  for (llvm::Argument& argument : copy->args())
    if (argument.getName() == "q_len" || argument.getName() == "kv_len") set(argument, length);
  simplify(*copy);
  const bool zero = is_zero(*copy);
  copy->eraseFromParent();
  return zero;
}

/// Whether no tile that is not empty can be plain: neither a square one on the diagonal nor one far to either
/// side of it. (A distance to the diagonal that nothing bounds is the same only over a single element.)
bool is_useless(llvm::Function& score_class, llvm::Function* tile_class) {
  constexpr int kNear = 1 << 12;
  constexpr int kFar = 1 << 22;
  constexpr int kTile = 64;
  for (const int q : {kNear, kFar})
    for (const int kv : {kNear, kFar}) {
      const Rectangle tile{q, q + kTile - 1, kv, kv + kTile - 1};
      const bool empty = tile_class != nullptr && is_zero_in(*tile_class, tile, 2 * kFar);
      if (!empty && !is_zero_in(score_class, tile, 2 * kFar)) return false;
    }
  return true;
}

}  // namespace

llvm::Function* derive_score_class(HookIr& hooks, const Facts& facts, const TileClasses& classes,
                                   double scale) {
  if (facts.score_form != ScoreForm::affine || !facts.multiplier_is_one || facts.addend_is_zero)
    return nullptr;
  if (!facts.addend.has(DependsOn::q) || !facts.addend.has(DependsOn::kv)) return nullptr;
  if (facts.addend_is_linear || !can_divide_by(scale)) return nullptr;
  llvm::Function& addend = *hooks.logit_addend;
  if (addend.size() != 1) return nullptr;  // a loop
  const MaskSides sides(addend, MaskSides::Summaries::none);
  llvm::Function* function =
      make_class_function(addend, llvm::Type::getInt32Ty(addend.getContext()), "score_class",
                          {"b", "h", "q_lo", "q_hi", "kv_lo", "kv_hi"}, {});
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
  if (!is_useless(*function, classes.function)) return function;
  function->eraseFromParent();
  return nullptr;
}

}  // namespace fa
