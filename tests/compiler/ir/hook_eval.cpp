#include "tests/compiler/ir/hook_eval.h"

#include "compiler/ir/functions.h"
#include "compiler/ir/llvm.h"
#include "compiler/spec/spec.h"

namespace fa::test {

tools::Problem small_problem(const Spec& spec, std::uint64_t seed, ProblemSize size) {
  return tools::make_problem(spec,
                             {.size = size, .params = {}, .files = {}, .dropout = {}, .data_seed = seed});
}

std::vector<Slot> hook_arguments(const tools::Problem& problem, float score, Element element) {
  const ProblemSize& size = problem.size;
  std::vector<Slot> slots = {Slot::of(score),
                             Slot::of(element.b),
                             Slot::of(element.h),
                             Slot::of(element.q),
                             Slot::of(element.kv),
                             Slot::of(size.batch),
                             Slot::of(size.num_q_heads),
                             Slot::of(size.num_kv_heads),
                             Slot::of(size.num_q_heads / size.num_kv_heads),
                             Slot::of(size.q_len),
                             Slot::of(size.kv_len),
                             Slot::of(static_cast<float>(problem.spec.checked().scale))};
  for (const Scalar& param : problem.params)
    slots.push_back(std::visit([](auto value) { return Slot::of(value); }, param));
  for (const tools::HostTensor& tensor : problem.tensors)
    slots.push_back(Slot::of(static_cast<const void*>(tensor.bytes.data())));
  return slots;
}

void define_functions(llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  for (std::string_view name : {kSigmoidName, kRsqrtName}) {  // of the others libm's stand for themselves
    llvm::Function* function = module.getFunction(llvm::StringRef(name.data(), name.size()));
    if (function == nullptr) continue;
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(context, "entry", function));
    llvm::FastMathFlags as_in_score_mod;
    as_in_score_mod.setAllowContract(true);
    llvm::Value* x = function->getArg(0);
    llvm::Value* one = llvm::ConstantFP::get(builder.getFloatTy(), 1.0);
    if (name == kSigmoidName) {
      llvm::CallInst* power = builder.CreateUnaryIntrinsic(llvm::Intrinsic::exp, builder.CreateFNeg(x));
      power->setFastMathFlags(as_in_score_mod);
      builder.CreateRet(builder.CreateFDiv(one, builder.CreateFAdd(one, power)));
    } else {
      builder.CreateRet(builder.CreateFDiv(one, builder.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, x)));
    }
  }
}

void forbid_contraction(llvm::Module& module) {
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function)
      for (llvm::Instruction& instruction : block)
        if (llvm::isa<llvm::FPMathOperator>(instruction) && !llvm::isa<llvm::CallInst>(instruction))
          instruction.setHasAllowContract(false);  // a call's name says which function is meant
}

HookEval::HookEval(const tools::Problem& problem, Fuse fuse) : problem_(problem) {
  const HookIr hooks = lower(problem.spec.checked());
  facts_ = analyse(problem.spec.checked(), hooks);
  const Logits& logits = facts_.logits;
  const std::shared_ptr<llvm::Module> module =
      merge_modules({hooks.module, logits.module, facts_.listed_keys.module});
  define_functions(*module);
  if (fuse == Fuse::forbidden) forbid_contraction(*module);
  const bool has_score = hooks.score_mod != nullptr, has_mask = hooks.mask_mod != nullptr;
  const bool has_logit = logits.general != nullptr, has_affine = logits.multiplier != nullptr;
  const bool has_rows = logits.row_addend != nullptr;
  jit_ = std::make_unique<HookJit>(module);
  if (has_score) score_mod_ = jit_->find("score_mod");
  if (has_mask) mask_ = jit_->find("mask_mod");
  if (has_logit) logit_ = jit_->find("logit");
  if (has_affine) multiplier_ = jit_->find("logit_multiplier");
  if (has_affine) addend_ = jit_->find("logit_addend");
  if (has_rows) row_addend_ = jit_->find("logit_row_addend");
  if (facts_.listed_keys.words != nullptr) {
    listed_keys_ = jit_->find("listed_keys");
    if_listed_ = jit_->find("mask_if_listed");
    if_not_ = jit_->find("mask_if_not_listed");
  }
}

Slot HookEval::call(HookJit::Function function, float first, Element element) const {
  const std::vector<Slot> slots = hook_arguments(problem_, first, element);
  Slot result;
  function(slots.data(), &result);
  return result;
}

float HookEval::score_mod(float score, Element element) const {
  return score_mod_ == nullptr ? score : call(score_mod_, score, element).f32();
}

bool HookEval::mask(Element element) const {
  return mask_ == nullptr || (call(mask_, 0.0f, element).i32() & 1) != 0;
}

bool HookEval::mask_by_list(Element element) const {
  const int bit = element.kv % 32;
  const Element first = {element.b, element.h, element.q, element.kv - bit};
  const bool is_listed = (call(listed_keys_, 0.0f, first).i32() >> bit & 1) != 0;
  return (call(is_listed ? if_listed_ : if_not_, 0.0f, element).i32() & 1) != 0;
}

std::array<float, 3> HookEval::logit_parts(float s, Element element) const {
  if (logit_ != nullptr) return {call(logit_, s, element).f32(), 0.0f, 0.0f};
  const float scale = static_cast<float>(problem_.spec.checked().scale);
  if (multiplier_ == nullptr) return {scale * 1.44269504f, 0.0f, 0.0f};
  return {call(multiplier_, s, element).f32(), call(addend_, s, element).f32(),
          row_addend_ == nullptr ? 0.0f : call(row_addend_, s, element).f32()};
}

float HookEval::logit(float s, Element element) const {
  const auto [first, second, third] = logit_parts(s, element);
  return logit_ != nullptr ? first : first * s + second + third;
}

ReferenceEval::ReferenceEval(const tools::Problem& problem) : problem_(problem) {
  const CheckedSpec& spec = problem.spec.checked();
  if (spec.score_mod) score_mod_.emplace(spec.score_mod);
  if (spec.mask_mod) mask_.emplace(spec.mask_mod);
  const HookData data = tools::hook_data(tools::problem_environment(problem));
  if (!spec.score_from.path.empty()) score_file_.emplace(spec, HookKind::score_mod, data);
  if (!spec.mask_from.path.empty()) mask_file_.emplace(spec, HookKind::mask_mod, data);
}

tools::Environment ReferenceEval::environment(Element element) {
  tools::Environment environment = tools::problem_environment(problem_);
  environment[Builtin::b] = element.b;
  environment[Builtin::h] = element.h;
  environment[Builtin::q_idx] = element.q;
  environment[Builtin::kv_idx] = element.kv;
  return environment;
}

double ReferenceEval::score_mod(double score, Element element) {
  if (score_file_) return score_file_->evaluate(score, 0, element.b, element.h, element.q, element.kv);
  if (!score_mod_) return score;
  tools::Environment here = environment(element);
  here.score = &score;
  return score_mod_->evaluate_f32(here, 1)[0];
}

bool ReferenceEval::mask(Element element) {
  if (mask_file_) return mask_file_->evaluate(0, 0, element.b, element.h, element.q, element.kv) != 0;
  return !mask_ || mask_->evaluate_i32(environment(element), 1)[0] != 0;
}

}  // namespace fa::test
