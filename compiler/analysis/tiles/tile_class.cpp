// Mask -> summaries (summary) -> abstract interpretation (transfer/) -> @tile_class ->
// what the search of its tiles has to know (tile_map).
#include "compiler/analysis/tiles/tile_class.h"

#include <fmt/format.h>

#include "compiler/analysis/code_size.h"
#include "compiler/analysis/tiles/alike.h"
#include "compiler/analysis/tiles/constant.h"
#include "compiler/analysis/tiles/tile_map.h"
#include "compiler/analysis/tiles/transfer/transfer.h"
#include "compiler/ir/range/narrow.h"
#include "compiler/ir/simplify.h"

namespace fa {
namespace {

// Instructions of a class: beyond them NVRTC takes longer than a kernel itself.
constexpr int kMostCode = 1500;

llvm::Function* declare_class(llvm::Function& mask, const std::vector<Summary>& summaries) {
  llvm::Type* const i32 = llvm::Type::getInt32Ty(mask.getContext());
  std::vector<ClassArgument> trailing;
  for (std::size_t j = 0; j < summaries.size(); ++j) {
    llvm::Type* const type = summaries[j].function->getReturnType();
    trailing.push_back({fmt::format("s{}_lo", j), type});
    trailing.push_back({fmt::format("s{}_hi", j), type});
  }
  return make_class_function(mask, i32, "tile_class", kClassArgNames, trailing);
}

/// Writes @tile_class of a straight-line mask.
class Bounds {
 public:
  Bounds(llvm::Function& mask, const MaskSides& sides, TileClasses& classes)
      : mask_(mask),
        function_(*declare_class(mask, sides.summaries())),
        builder_(&function_.getEntryBlock()),
        transfer_(mask, sides, function_, builder_) {
    llvm::Value* const result =
        llvm::cast<llvm::ReturnInst>(mask_.getEntryBlock().getTerminator())->getReturnValue();
    may_keep_ = transfer_.may(result, true);
    may_drop_ = transfer_.may(result, false);
    classes.function = &function_;
    classes.summaries = sides.summaries();
    classes.imprecise = transfer_.imprecise();
  }

  /// The value where `lines` are alike, else 0.
  llvm::Value* where_alike(const AlikeLines& lines, int value) {
    llvm::Value* alike = builder_.getInt1(lines.is_known);
    for (llvm::Value* condition : lines.conditions)
      alike = builder_.CreateAnd(alike, transfer_.is_point(condition));
    return builder_.CreateSelect(alike, builder_.getInt32(static_cast<unsigned>(value)),
                                 builder_.getInt32(0));
  }

  void add_to_partial(llvm::Value* flags) { partial_ = builder_.CreateOr(partial_, flags); }

  /// Whether it can be used; else it is too long.
  bool finish() {
    llvm::Value* const of_kept = builder_.CreateSelect(may_drop_, partial_, builder_.getInt32(2));
    builder_.CreateRet(builder_.CreateSelect(may_keep_, of_kept, builder_.getInt32(0)));
    if (transfer_.is_too_long()) return false;
    simplify(function_);
    narrow_integers(function_);
    simplify(function_);
    return code_size(function_, false) <= kMostCode;
  }

 private:
  llvm::Function& mask_;
  llvm::Function& function_;
  llvm::IRBuilder<> builder_;
  Transfer transfer_;
  llvm::Value* may_keep_;
  llvm::Value* may_drop_;
  llvm::Value* partial_ = builder_.getInt32(1);
};

/// @tile_class and the summaries, and what the search has to know; nothing where they would be too long.
std::optional<TileClasses> derive_bounds(const HookIr& hooks) {
  const std::shared_ptr<llvm::Module> module = make_module("tile_classes", hooks.module);
  llvm::Function& mask = *copy_function(*hooks.mask_mod, *module, "mask_mod");
  TileClasses classes{.module = module, .summaries = {}, .map = {}, .imprecise = {}};
  const MaskSides sides(mask);
  Bounds bounds(mask, sides, classes);
  if (!classes.summaries.empty() || !classes.imprecise.empty()) {
    const AlikeLines rows = find_alike_lines(mask, HookArgKind::q_idx, &sides);
    const AlikeLines columns = find_alike_lines(mask, HookArgKind::kv_idx, &sides);
    classes.map = describe_tile_map(mask, rows, columns);
    bounds.add_to_partial(bounds.where_alike(rows, TileMap::kRowsAlike));
    bounds.add_to_partial(bounds.where_alike(columns, TileMap::kColumnsAlike));
  }
  if (!bounds.finish()) return {};
  if (constant_class(classes)) classes.map.reset();
  mask.eraseFromParent();  // the summaries and the class are what is left of it
  return classes;
}

}  // namespace

TileClasses derive_tile_classes(const HookIr& hooks) {
  if (hooks.mask_mod == nullptr) return {};
  const llvm::Function& mask = *hooks.mask_mod;
  const bool has_loop = mask.size() != 1;
  if (!has_loop)
    if (std::optional<TileClasses> classes = derive_bounds(hooks)) return std::move(*classes);
  TileClasses classes;
  classes.imprecise.push_back(has_loop ? "a reduction of more than 32 steps"
                                       : "more operations than bounds are asked of");
  classes.map = describe_tile_map(mask, find_alike_lines(mask, HookArgKind::q_idx, nullptr),
                                  find_alike_lines(mask, HookArgKind::kv_idx, nullptr));
  return classes;
}

}  // namespace fa
