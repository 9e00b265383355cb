// Analyses the hooks: the form of score_mod, what depends on what, and the functions that kernels evaluate.
#include "compiler/ir/llvm.h"
// after llvm.h
#include <fmt/format.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "compiler/analysis/affine.h"
#include "compiler/analysis/facts.h"
#include "compiler/analysis/region.h"
#include "compiler/analysis/relative.h"
#include "compiler/analysis/row_addend.h"
#include "compiler/analysis/slope.h"
#include "compiler/ir/simplify.h"
#include "fa/error.h"

namespace fa {
namespace {

constexpr float kLog2e = 1.4426950408889634f;
constexpr const char* kRelative = ", on q and kv through q - kv alone";
constexpr const char* kLinear = ", linear in kv";

// A copy of score_mod that is being rewritten into what a kernel evaluates.
struct Rewrite {
  const std::vector<HookArg>& args;
  llvm::Function* function;
  llvm::IRBuilder<> builder;  // just before the return
  Dependence dependence;

  Rewrite(const HookIr& hooks, const char* name)
      : args(hooks.args),
        function(copy(hooks, name)),
        builder(function->back().getTerminator()),
        dependence(*function, hooks.args) {
    llvm::FastMathFlags flags;
    flags.setAllowContract(true);
    builder.setFastMathFlags(flags);
    multiply_by_reciprocals(*function, dependence);
  }

  llvm::ReturnInst* end() { return llvm::cast<llvm::ReturnInst>(function->back().getTerminator()); }
  llvm::Value* score() { return function->getArg(0); }
  llvm::Value* log2e() { return llvm::ConstantFP::get(builder.getFloatTy(), static_cast<double>(kLog2e)); }

  llvm::Value* scale(const HookIr& hooks) {
    for (std::size_t i = 0; i < hooks.args.size(); ++i)
      if (hooks.args[i].kind == HookArgKind::scale) return function->getArg(static_cast<unsigned>(i));
    throw InternalError("hooks have no scale argument");
  }

  /// Makes `result` what is returned and drops what it does not use, so that the next step sees true use
  /// counts.
  void keep(llvm::Value* result) {
    end()->setOperand(0, result);
    verify(*function, "analyse");
    simplify(*function);
    dependence = Dependence(*function, args);  // what was removed must not lend its address to new values
    builder.SetInsertPoint(end());
  }

  llvm::Function* finish(llvm::Value* factor) {
    llvm::Value* result = end()->getReturnValue();
    keep(times(result, factor, dependence, builder));
    return function;
  }

 private:
  static llvm::Function* copy(const HookIr& hooks, const char* name) {
    llvm::ValueToValueMapTy map;
    llvm::Function* function = llvm::CloneFunction(hooks.score_mod, map);
    function->setName(name);
    function->getArg(0)->setName("s");
    return function;
  }
};

enum class Part { multiplier, addend };

// The affine form is derived again in each copy: what one part does not use disappears from it.
llvm::Function* build_part(const HookIr& hooks, Part part) {
  Rewrite rewrite(hooks, part == Part::multiplier ? "logit_multiplier" : "logit_addend");
  llvm::Value* value = rewrite.end()->getReturnValue();
  const std::optional<Affine> affine =
      AffineForm(rewrite.score(), rewrite.dependence, rewrite.builder).of(value);
  if (!affine) throw InternalError("an affine score_mod lost its form in a copy");
  rewrite.keep(part == Part::addend ? affine->addend : affine->multiplier);
  if (part == Part::addend) return rewrite.finish(rewrite.log2e());
  return rewrite.finish(rewrite.builder.CreateFMul(rewrite.scale(hooks), rewrite.log2e(), "scale_log2"));
}

llvm::Function* build_logit(const HookIr& hooks) {
  Rewrite rewrite(hooks, "logit");
  scale_uses(*rewrite.function, rewrite.score(), rewrite.scale(hooks), rewrite.dependence);
  rewrite.keep(rewrite.end()->getReturnValue());
  return rewrite.finish(rewrite.log2e());
}

DependsOn result_depends(const llvm::Function& function, const std::vector<HookArg>& args) {
  Dependence dependence(function, args);
  const auto* end = llvm::cast<llvm::ReturnInst>(function.back().getTerminator());
  return dependence.of(*end->getReturnValue());
}

// The form of score_mod; a scratch copy takes what the question builds.
void find_form(const HookIr& hooks, Facts& facts) {
  Rewrite scratch(hooks, "scratch");
  const std::optional<Affine> affine =
      AffineForm(scratch.score(), scratch.dependence, scratch.builder).of(scratch.end()->getReturnValue());
  facts.score_form = ScoreForm::general;
  // A score that is not used at all is the general form: a multiplier of 0 would turn infinite products into
  // NaN.
  if (affine && !is_zero(affine->multiplier)) {
    facts.addend_is_zero = is_zero(affine->addend);
    facts.multiplier_is_one = is_one(affine->multiplier);
    const bool is_identity = facts.addend_is_zero && facts.multiplier_is_one;
    facts.score_form = is_identity ? ScoreForm::identity : ScoreForm::affine;
  }
  scratch.function->eraseFromParent();
}

void split_rows(HookIr& hooks, Facts& facts) {
  hooks.logit_row_addend = split_row_addend(*hooks.logit_addend, hooks.args);
  facts.has_row_addend = hooks.logit_row_addend != nullptr;
  if (!facts.has_row_addend) return;
  const auto* end = llvm::cast<llvm::ReturnInst>(hooks.logit_addend->back().getTerminator());
  facts.addend_is_zero = is_zero(end->getReturnValue());
  facts.addend = result_depends(*hooks.logit_addend, hooks.args);
}

// Address arithmetic folds into loads and the float images of indices come from the kernel: neither is
// counted.
bool is_arithmetic(const llvm::Instruction& instruction) {
  if (llvm::isa<llvm::GetElementPtrInst>(instruction)) return false;
  if (const auto* cast = llvm::dyn_cast<llvm::SIToFPInst>(&instruction))
    return !llvm::isa<llvm::Argument>(cast->getOperand(0));
  return true;
}

void count_ops(const llvm::Function* function, bool is_relative, const HookIr& hooks, Facts& facts) {
  if (function == nullptr) return;
  int element_ops = 0;
  bool reads = false;
  Dependence dependence(*function, hooks.args);
  for_each_instruction(region_of(*function), [&](const llvm::Instruction& instruction, long long times) {
    if (!is_arithmetic(instruction)) return;
    const int ops = static_cast<int>(std::min(times, 1'000'000LL));
    switch (dependence.stage(instruction)) {
      case Stage::head:
        break;
      case Stage::row:
        facts.row_ops += ops;
        break;
      case Stage::column:
        facts.column_ops += ops;
        break;
      case Stage::element:
        element_ops += ops;
        reads |= llvm::isa<llvm::LoadInst>(instruction);
        break;
    }
  });
  const bool is_shared = is_relative && (reads || element_ops > kMostNotShared);
  (is_shared ? facts.diagonal_ops : facts.element_ops) += element_ops;
}

std::string_view name_of(ScoreForm form) {
  switch (form) {
    case ScoreForm::identity:
      return "identity";
    case ScoreForm::affine:
      return "affine";
    case ScoreForm::general:
      break;
  }
  return "general";
}

}  // namespace

std::string DependsOn::print() const {
  static constexpr std::pair<std::uint8_t, const char*> kNames[] = {
      {b, "b"}, {h, "h"}, {q, "q"}, {kv, "kv"}, {score, "score"}};
  std::string text;
  for (const auto& [bit, name] : kNames)
    if (has(bit)) text += (text.empty() ? "" : ", ") + std::string(name);
  return "{" + text + "}";
}

Facts analyse(const CheckedSpec& spec, HookIr& hooks, WithSlopes slopes) {
  Facts facts;
  facts.has_score_mod = hooks.score_mod != nullptr;
  facts.has_mask = hooks.mask_mod != nullptr;
  facts.clamped = hooks.clamped;
  if (hooks.score_mod != nullptr) {
    facts.score_mod = result_depends(*hooks.score_mod, hooks.args);
    find_form(hooks, facts);
    if (facts.score_form == ScoreForm::affine) {
      hooks.logit_multiplier = build_part(hooks, Part::multiplier);
      hooks.logit_addend = build_part(hooks, Part::addend);
      facts.multiplier = result_depends(*hooks.logit_multiplier, hooks.args);
      facts.addend = result_depends(*hooks.logit_addend, hooks.args);
      if (slopes == WithSlopes::derived && facts.multiplier_is_one && can_divide_by(spec.scale) &&
          facts.addend.has(DependsOn::q) && facts.addend.has(DependsOn::kv))
        hooks.logit_addend_slope = derive_slope(*hooks.logit_addend, hooks.args);
      facts.addend_is_linear = hooks.logit_addend_slope != nullptr;
      if (!facts.addend_is_linear && !facts.addend_is_zero) split_rows(hooks, facts);
      facts.addend_is_relative = is_relative(*hooks.logit_addend);
    } else if (facts.score_form == ScoreForm::general) {
      hooks.logit = build_logit(hooks);
    }
  } else {
    facts.score_mod.bits = DependsOn::score;
  }
  if (hooks.mask_mod != nullptr) {
    facts.mask_mod = result_depends(*hooks.mask_mod, hooks.args);
    facts.mask_is_relative = is_relative(*hooks.mask_mod);
    const auto* end = llvm::cast<llvm::ReturnInst>(hooks.mask_mod->back().getTerminator());
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(end->getReturnValue())) {
      facts.mask_is_always_true = constant->isOne();
      facts.mask_is_always_false = constant->isZero();
    }
  }
  facts.has_sink = hooks.sink != nullptr;
  const bool is_uniform = !facts.multiplier.has(DependsOn::q) && !facts.multiplier.has(DependsOn::kv);
  count_ops(hooks.logit, false, hooks, facts);
  count_ops(hooks.logit_multiplier, false, hooks, facts);
  if (facts.addend_is_linear) {
    facts.element_ops += 1;  // a multiply-add; the rest is found once a row
  } else {
    count_ops(hooks.logit_addend, facts.addend_is_relative && is_uniform, hooks, facts);
    count_ops(hooks.logit_row_addend, false, hooks, facts);
  }
  count_ops(hooks.mask_mod, facts.mask_is_relative, hooks, facts);
  return facts;
}

std::string Facts::print() const {
  std::string text;
  if (!has_score_mod)
    text += "score_mod: none\n";
  else
    text += fmt::format("score_mod: {}, depends on {}\n", name_of(score_form), score_mod.print());
  if (score_form == ScoreForm::affine) {
    text += fmt::format("  multiplier: {}depends on {}\n", multiplier_is_one ? "the scale alone, " : "",
                        multiplier.print());
    if (has_row_addend) text += "  row addend: terms that no key changes, added to lse alone\n";
    text += addend_is_zero ? std::string("  addend: zero\n")
                           : fmt::format("  addend: depends on {}{}\n", addend.print(),
                                         addend_is_linear     ? kLinear
                                         : addend_is_relative ? kRelative
                                                              : "");
  }
  if (!has_mask)
    text += "mask_mod: none\n";
  else if (mask_is_always_true)
    text += "mask_mod: always true\n";
  else if (mask_is_always_false)
    text += "mask_mod: always false\n";
  else
    text += fmt::format("mask_mod: depends on {}{}\n", mask_mod.print(), mask_is_relative ? kRelative : "");
  if (has_sink) text += "sink: one more logit a head, added after the last tile\n";
  text += fmt::format("operations: {} per element, ", element_ops);
  if (diagonal_ops > 0) text += fmt::format("{} per diagonal, ", diagonal_ops);
  text += fmt::format("{} per row, {} per column\n", row_ops, column_ops);
  for (const ClampedRead& read : clamped)
    text += fmt::format("clamped: index {} of {} at {}:{}\n", read.dimension, read.tensor, read.line,
                        read.column);
  return text;
}

}  // namespace fa
