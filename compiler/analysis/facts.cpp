// Analyses the hooks: the form of score_mod, what depends on what, and the functions that kernels evaluate.
#include "compiler/ir/llvm.h"
// after llvm.h
#include <fmt/format.h>

#include "compiler/analysis/affine.h"
#include "compiler/analysis/facts.h"
#include "compiler/analysis/mask_samples.h"
#include "compiler/analysis/mask_segments.h"
#include "compiler/analysis/region.h"
#include "compiler/analysis/relative.h"
#include "compiler/analysis/row_addend.h"
#include "compiler/analysis/slope.h"
#include "compiler/ir/math/constants.h"
#include "compiler/ir/simplify.h"
#include "fa/error.h"

namespace fa {
namespace {

constexpr const char* kRelative = ", on q and kv through q - kv alone";
constexpr const char* kLinear = ", linear in kv";
constexpr int kLongSequence = 8192;  // as long as those that plans are chosen for (ProblemSize)

// A copy of score_mod that is being rewritten into what a kernel evaluates.
struct Rewrite {
  llvm::Function* function;
  llvm::IRBuilder<> builder;  // just before the return
  Dependence dependence;

  /// The copy is made in `module`.
  Rewrite(const llvm::Function& score_mod, llvm::Module& module, const char* name)
      : function(copy_function(score_mod, module, name)),
        builder(function->back().getTerminator()),
        dependence(*function) {
    score()->setName("s");
    llvm::FastMathFlags flags;
    flags.setAllowContract(true);
    builder.setFastMathFlags(flags);
    multiply_by_reciprocals(*function, dependence);
  }

  llvm::ReturnInst* end() { return llvm::cast<llvm::ReturnInst>(function->back().getTerminator()); }
  llvm::Value* score() { return hook_argument(*function, HookArgKind::score); }
  llvm::Value* scale() { return hook_argument(*function, HookArgKind::scale); }
  llvm::Value* log2e() { return llvm::ConstantFP::get(builder.getFloatTy(), static_cast<double>(kLog2eF32)); }

  /// Makes `result` what is returned and drops what it does not use, so that the next step sees true use
  /// counts.
  void keep(llvm::Value* result) {
    end()->setOperand(0, result);
    verify(*function, "analyse");
    simplify(*function);
    dependence = Dependence(*function);  // what was removed must not lend its address to new values
    builder.SetInsertPoint(end());
  }

  llvm::Function* finish(llvm::Value* factor) {
    llvm::Value* result = end()->getReturnValue();
    keep(times(result, factor, dependence, builder));
    return function;
  }
};

DependsOn result_depends(const llvm::Function& function) {
  const auto* end = llvm::cast<llvm::ReturnInst>(function.back().getTerminator());
  return Dependence(function).of(*end->getReturnValue());
}

enum class Part { multiplier, addend };

/// Finds the form of a score_mod and writes the functions of that form.
class Derivation {
 public:
  Derivation(const HookIr& hooks, Facts& facts)
      : score_mod_(*hooks.score_mod), module_(make_module("logits", hooks.module)), facts_(facts) {}

  void run(double scale, WithSlopes slopes) {
    facts_.score_mod = result_depends(score_mod_);
    find_form();
    if (facts_.score_form == ScoreForm::identity) return;
    Logits& logits = facts_.logits;
    logits.module = module_;
    if (facts_.score_form == ScoreForm::general) {
      logits.general = build_logit();
      return;
    }
    logits.multiplier = build_part(Part::multiplier);
    llvm::Function* const addend = build_part(Part::addend);
    logits.addend = addend;
    facts_.multiplier = result_depends(*logits.multiplier);
    facts_.addend = result_depends(*addend);
    if (slopes == WithSlopes::derived && facts_.multiplier_is_one && can_divide_by(scale) &&
        facts_.addend.has_all(DependsOn::q | DependsOn::kv))
      logits.addend_slope = derive_slope(*addend);
    facts_.addend_is_linear = logits.addend_slope != nullptr;
    if (!facts_.addend_is_linear && !facts_.addend_is_zero) split_rows(*addend);
    facts_.addend_is_relative = is_relative(*addend);
  }

 private:
  // A scratch copy takes what the question builds.
  void find_form() {
    Rewrite scratch(score_mod_, *module_, "scratch");
    const std::optional<Affine> affine =
        AffineForm(scratch.score(), scratch.dependence, scratch.builder).of(scratch.end()->getReturnValue());
    facts_.score_form = ScoreForm::general;
    // A score that is not used at all is the general form: a multiplier of 0 would turn infinite products
    // into NaN.
    if (affine && !is_zero(affine->multiplier)) {
      facts_.addend_is_zero = is_zero(affine->addend);
      facts_.multiplier_is_one = is_one(affine->multiplier);
      const bool is_identity = facts_.addend_is_zero && facts_.multiplier_is_one;
      facts_.score_form = is_identity ? ScoreForm::identity : ScoreForm::affine;
    }
    scratch.function->eraseFromParent();
  }

  // The affine form is derived again in each copy: what one part does not use disappears from it.
  llvm::Function* build_part(Part part) {
    Rewrite rewrite(score_mod_, *module_, part == Part::multiplier ? "logit_multiplier" : "logit_addend");
    llvm::Value* value = rewrite.end()->getReturnValue();
    const std::optional<Affine> affine =
        AffineForm(rewrite.score(), rewrite.dependence, rewrite.builder).of(value);
    if (!affine) throw InternalError("an affine score_mod lost its form in a copy");
    rewrite.keep(part == Part::addend ? affine->addend : affine->multiplier);
    if (part == Part::addend) return rewrite.finish(rewrite.log2e());
    return rewrite.finish(rewrite.builder.CreateFMul(rewrite.scale(), rewrite.log2e(), "scale_log2"));
  }

  llvm::Function* build_logit() {
    Rewrite rewrite(score_mod_, *module_, "logit");
    scale_uses(*rewrite.function, rewrite.score(), rewrite.scale(), rewrite.dependence);
    rewrite.keep(rewrite.end()->getReturnValue());
    return rewrite.finish(rewrite.log2e());
  }

  void split_rows(llvm::Function& addend) {
    facts_.logits.row_addend = split_row_addend(addend);
    facts_.has_row_addend = facts_.logits.row_addend != nullptr;
    if (!facts_.has_row_addend) return;
    const auto* end = llvm::cast<llvm::ReturnInst>(addend.back().getTerminator());
    facts_.addend_is_zero = is_zero(end->getReturnValue());
    facts_.addend = result_depends(addend);
  }

  const llvm::Function& score_mod_;
  std::shared_ptr<llvm::Module> module_;
  Facts& facts_;
};

// Address arithmetic folds into loads and the float images of indices come from the kernel: neither is
// counted.
bool is_arithmetic(const llvm::Instruction& instruction) {
  if (llvm::isa<llvm::GetElementPtrInst>(instruction)) return false;
  if (const auto* cast = llvm::dyn_cast<llvm::SIToFPInst>(&instruction))
    return !llvm::isa<llvm::Argument>(cast->getOperand(0));
  return true;
}

/// A value that q_idx - kv_idx alone decides is found once a diagonal, and fetched from another thread of the
/// warp, where it reads memory or takes more operations than this: two comparisons and their `and`.
constexpr int kMostForEachElement = 3;

struct Counted {
  bool by_diagonal = false;     // once a diagonal, not once an element
  bool reads_elements = false;  // reads a tensor once an element
};

/// Adds what `function` costs, and returns how it is found.
Counted count_ops(const llvm::Function* function, bool is_relative, Facts& facts) {
  if (function == nullptr) return {};
  int element_ops = 0;
  bool reads = false;
  Dependence dependence(*function);
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
  const bool is_by_diagonal = is_relative && (reads || element_ops > kMostForEachElement);
  (is_by_diagonal ? facts.diagonal_ops : facts.element_ops) += element_ops;
  return {.by_diagonal = is_by_diagonal, .reads_elements = reads && !is_by_diagonal};
}

/// The same of a mask whose rows list keys: the words are found once for 32 elements.
void count_listed(const ListedKeys& listed, Facts& facts) {
  constexpr int kElementsOfWord = 32;
  count_ops(listed.if_listed, false, facts);
  count_ops(listed.if_not, false, facts);
  Facts words;
  count_ops(listed.words, false, words);
  facts.row_ops += words.row_ops;
  facts.column_ops += words.column_ops;
  facts.element_ops += 1 + words.element_ops / kElementsOfWord;
}

/// Whether `addend` is a number times what it reads, 16 bits as a float.
bool is_number_times_read(const llvm::Function& addend) {
  const auto* end = llvm::cast<llvm::ReturnInst>(addend.back().getTerminator());
  const auto* product = llvm::dyn_cast<llvm::BinaryOperator>(end->getReturnValue());
  if (product == nullptr || product->getOpcode() != llvm::Instruction::FMul) return false;
  const bool is_constant_first = llvm::isa<llvm::ConstantFP>(product->getOperand(0));
  if (!is_constant_first && !llvm::isa<llvm::ConstantFP>(product->getOperand(1))) return false;
  const auto* widened = llvm::dyn_cast<llvm::FPExtInst>(product->getOperand(is_constant_first ? 1 : 0));
  return widened != nullptr && llvm::isa<llvm::LoadInst>(widened->getOperand(0));
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

Facts analyse(const CheckedSpec& spec, const HookIr& hooks, WithSlopes slopes) {
  Facts facts;
  facts.has_score_mod = hooks.score_mod != nullptr;
  facts.has_mask = hooks.mask_mod != nullptr;
  facts.clamped = hooks.clamped;
  facts.score_mod.bits = DependsOn::score;
  if (hooks.score_mod != nullptr) Derivation(hooks, facts).run(spec.scale, slopes);
  if (hooks.mask_mod != nullptr) {
    facts.mask_mod = result_depends(*hooks.mask_mod);
    facts.mask_is_relative = is_relative(*hooks.mask_mod);
    MaskSamples samples(spec, *hooks.mask_mod, kLongSequence);
    if (facts.mask_is_relative) {
      facts.mask_band = estimate_band(samples);
    } else {
      facts.global_tokens = find_global_tokens(samples);
      facts.mask_blocks = find_mask_blocks(*hooks.mask_mod);
      facts.mask_keeps_segments = keeps_segments(*hooks.mask_mod);
      facts.listed_keys = find_listed_keys(hooks);
    }
    const auto* end = llvm::cast<llvm::ReturnInst>(hooks.mask_mod->back().getTerminator());
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(end->getReturnValue())) {
      facts.mask_is_always_true = constant->isOne();
      facts.mask_is_always_false = constant->isZero();
    }
  }
  facts.has_sink = hooks.sink != nullptr;
  const Logits& logits = facts.logits;
  const bool is_uniform = !facts.multiplier.has(DependsOn::q | DependsOn::kv);
  count_ops(logits.general, false, facts);
  count_ops(logits.multiplier, false, facts);
  if (facts.addend_is_linear) {
    facts.element_ops += 1;  // a multiply-add; the rest is found once a row
  } else {
    const Counted addend = count_ops(logits.addend, facts.addend_is_relative && is_uniform, facts);
    facts.addend_is_by_diagonal = addend.by_diagonal;
    facts.addend_reads_elements = addend.reads_elements;
    facts.addend_is_element = addend.reads_elements && is_number_times_read(*logits.addend);
    count_ops(logits.row_addend, false, facts);
  }
  if (facts.listed_keys.words == nullptr)
    facts.mask_is_by_diagonal = count_ops(hooks.mask_mod, facts.mask_is_relative, facts).by_diagonal;
  else
    count_listed(facts.listed_keys, facts);
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
  const std::optional<int> width = mask_band ? mask_band->width() : std::nullopt;
  if (!has_mask)
    text += "mask_mod: none\n";
  else if (mask_is_always_true)
    text += "mask_mod: always true\n";
  else if (mask_is_always_false)
    text += "mask_mod: always false\n";
  else
    text += fmt::format("mask_mod: depends on {}{}{}\n", mask_mod.print(), mask_is_relative ? kRelative : "",
                        width ? fmt::format(", keeps keys among {} neighbours", *width) : "");
  if (mask_blocks.queries > 1 || mask_blocks.keys > 1)
    text += fmt::format("  by blocks: of {} queries, of {} keys{}\n", mask_blocks.queries, mask_blocks.keys,
                        mask_blocks.has_line ? "; and by single tokens" : "");
  if (listed_keys.words != nullptr)
    text += "  a row lists keys: which ones is found once a row and 32 keys\n";
  if (mask_keeps_segments) text += "  keeps segments of a table: a row's keys lie together\n";
  if (global_tokens.see) text += "  the first tokens see far more tokens than others\n";
  if (global_tokens.are_seen) text += "  the first tokens are seen by far more tokens than others\n";
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
