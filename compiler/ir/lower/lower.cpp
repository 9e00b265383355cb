// CheckedSpec -> HookIr: one function per hook, with what callers promise as attributes of its arguments.
//
// Floating point has no fast-math flags but one: `contract` in score_mod, so that a product feeding a sum may
// become an FMA, as CUDA and every framework's kernels do. Values that decide something (decisions.h) do not
// have it, and so nothing in mask_mod has: their bits must not depend on which machine fuses what.
#include "compiler/ir/llvm.h"
// after llvm.h
#include <algorithm>
#include <span>
#include <string>
#include <tuple>

#include "compiler/ir/decisions.h"
#include "compiler/ir/hook_ir.h"
#include "compiler/ir/import/import.h"
#include "compiler/ir/lower/expr.h"
#include "compiler/ir/lower/part.h"
#include "compiler/ir/range/bounds.h"
#include "compiler/ir/simplify.h"

namespace fa {
namespace {

llvm::Type* type_of(llvm::LLVMContext& context, Type type) {
  if (type == Type::boolean) return llvm::Type::getInt1Ty(context);
  return type == Type::f32 ? llvm::Type::getFloatTy(context) : llvm::Type::getInt32Ty(context);
}

llvm::Type* argument_type(llvm::LLVMContext& context, const HookArg& arg) {
  if (arg.kind == HookArgKind::tensor) return llvm::PointerType::getUnqual(context);
  return type_of(context, arg.type);
}

void set_argument_attributes(llvm::Argument& value, const HookArg& arg) {
  llvm::LLVMContext& context = value.getContext();
  llvm::AttrBuilder attributes(context);
  attributes.addAttribute(llvm::Attribute::NoUndef);
  switch (arg.kind) {
    case HookArgKind::b:
    case HookArgKind::h:
    case HookArgKind::q_idx:
    case HookArgKind::kv_idx:
      attributes.addRangeAttr(llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, kMaxLength)));
      break;
    case HookArgKind::batch:
    case HookArgKind::num_q_heads:
    case HookArgKind::num_kv_heads:
    case HookArgKind::group_size:
    case HookArgKind::q_len:
    case HookArgKind::kv_len:
      attributes.addRangeAttr(llvm::ConstantRange(llvm::APInt(32, 1), llvm::APInt(32, kMaxLength + 1)));
      break;
    case HookArgKind::tensor:
      attributes.addAttribute(llvm::Attribute::NoAlias);
      attributes.addAttribute(llvm::Attribute::NoCapture);
      attributes.addAttribute(llvm::Attribute::ReadOnly);
      attributes.addAlignmentAttr(static_cast<unsigned>(dtype_bytes(arg.dtype)));
      break;
    case HookArgKind::score:
    case HookArgKind::scale:
    case HookArgKind::param:
      break;
  }
  value.addAttrs(attributes);
}

// After the arguments of all hooks, an index for each of `num_loops` reductions that the caller runs.
llvm::Function* declare(llvm::Module& module, const HookSignature& args, const std::string& name,
                        llvm::Type* result, bool reads_memory, std::size_t num_loops) {
  std::vector<llvm::Type*> types;
  for (const HookArg& arg : args) types.push_back(argument_type(module.getContext(), arg));
  types.resize(types.size() + num_loops, llvm::Type::getInt32Ty(module.getContext()));
  auto* function = llvm::Function::Create(llvm::FunctionType::get(result, types, false),
                                          llvm::Function::ExternalLinkage, name, module);
  for (std::size_t i = 0; i < args.size(); ++i) {
    llvm::Argument& value = *function->getArg(static_cast<unsigned>(i));
    value.setName(args[i].name);
    set_argument_attributes(value, args[i]);
  }
  for (std::size_t i = 0; i < num_loops; ++i) {
    llvm::Argument& index = *function->getArg(static_cast<unsigned>(args.size() + i));
    index.setName("i" + std::to_string(i));
    index.addAttr(llvm::Attribute::NoUndef);
  }
  function->setDoesNotThrow();
  function->setWillReturn();
  function->setNoSync();
  function->setDoesNotFreeMemory();
  function->setMemoryEffects(reads_memory ? llvm::MemoryEffects::argMemOnly(llvm::ModRefInfo::Ref)
                                          : llvm::MemoryEffects::none());
  return function;
}

/// Where lowered functions go, and what all of them share.
struct Lowering {
  const CheckedSpec& spec;
  const HookSignature& args;
  Bounds& bounds;
  llvm::Module& module;
  std::vector<ClampedRead> clamped{};

  llvm::Function* function(const std::string& name, const Expr& expr, std::span<const int> loops = {}) {
    llvm::LLVMContext& context = module.getContext();
    const bool is_score = expr.type == Type::f32;
    llvm::Function* function =
        declare(module, args, name, type_of(context, expr.type), !spec.tensors.empty(), loops.size());
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", function));
    if (is_score) {
      llvm::FastMathFlags flags;
      flags.setAllowContract(true);
      builder.setFastMathFlags(flags);
    }
    ExprLowering lowering(spec, bounds, *function, builder, clamped);
    for (std::size_t i = 0; i < loops.size(); ++i)
      lowering.open_loop(loops[i], *function->getArg(static_cast<unsigned>(args.size() + i)));
    builder.CreateRet(lowering.lower_all(expr));
    verify(*function, "lower");
    if (is_score) keep_decisions_exact(*function);
    simplify(*function);
    return function;
  }
};

}  // namespace

ConditionIr lower_condition(const CheckedSpec& spec, const HookIr& hooks, const char* name,
                            const Expr& condition) {
  const std::shared_ptr<llvm::Module> module = make_module(name, hooks.module);
  Bounds bounds(spec);
  Lowering lowering{.spec = spec, .args = hooks.args, .bounds = bounds, .module = *module};
  return {.module = module, .function = lowering.function(name, condition)};
}

PartLowering::PartLowering(const CheckedSpec& spec, const HookIr& hooks, const std::string& name)
    : spec_(spec), args_(hooks.args), bounds_(spec), module_(make_module(name, hooks.module)) {}

const llvm::Function* PartLowering::lower(const std::string& name, const Expr& expr,
                                          std::span<const int> loops) {
  bounds_.add_loops(expr);
  Lowering lowering{.spec = spec_, .args = args_, .bounds = bounds_, .module = *module_};
  return lowering.function(name, expr, loops);
}

HookIr lower(const CheckedSpec& written) {
  const CheckedSpec spec = import_hooks(written);
  const std::shared_ptr<llvm::Module> module = make_module(spec.name);
  HookIr hooks{.module = module, .args = HookSignature(spec), .clamped = {}};
  Bounds bounds(spec);
  Lowering lowering{.spec = spec, .args = hooks.args, .bounds = bounds, .module = *module};
  if (spec.score_mod) hooks.score_mod = lowering.function("score_mod", *spec.score_mod);
  if (spec.mask_mod) hooks.mask_mod = lowering.function("mask_mod", *spec.mask_mod);
  if (spec.sink) hooks.sink = lowering.function("sink", *spec.sink);
  hooks.clamped = std::move(lowering.clamped);
  std::sort(hooks.clamped.begin(), hooks.clamped.end(), [](const ClampedRead& x, const ClampedRead& y) {
    return std::tie(x.line, x.column, x.dimension) < std::tie(y.line, y.column, y.dimension);
  });
  return hooks;
}

}  // namespace fa
