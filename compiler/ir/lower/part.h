// Lowers expressions that are no hooks of the spec but made of a hook's parts, such as derivatives.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "compiler/ir/hook_ir.h"
#include "compiler/ir/range/bounds.h"

namespace fa {

/// Functions of one stage, in a module of that stage. An index that is not proved to be in range is moved
/// into it, as in the hooks, whose value says so (HookIr::clamped).
class PartLowering {
 public:
  /// `hooks` are those of `spec`, the module gets `name`. Both must outlive this object.
  PartLowering(const CheckedSpec& spec, const HookIr& hooks, const std::string& name);

  /// @NAME with the arguments of all hooks, then an i32 for each of `loops`: the ids of reductions whose
  /// iterations the caller runs, outermost first. An index stays below its reduction's range. The function
  /// returns what `expr` is: float, i32 or i1. No node of `expr` may be freed before this object.
  const llvm::Function* lower(const std::string& name, const Expr& expr, std::span<const int> loops = {});

  /// What is known of the spec's expressions and of those lowered so far.
  Bounds& bounds() { return bounds_; }
  IrModule module() const { return module_; }

 private:
  const CheckedSpec& spec_;
  const HookSignature& args_;
  Bounds bounds_;
  std::shared_ptr<llvm::Module> module_;
};

}  // namespace fa
