// The division starts from what the element asks for: a value of an earlier stage becomes a field of that
// stage, and the search goes on there.
#include "compiler/ir/llvm.h"
// after llvm.h
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "compiler/analysis/code_size.h"
#include "compiler/analysis/facts.h"
#include "compiler/emit/cuda/hook_stages.h"
#include "compiler/ir/math/constants.h"
#include "fa/error.h"

namespace fa {
namespace {

bool is_constant(const llvm::Value& value, double number) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantFP>(&value);
  return constant != nullptr && constant->isExactlyValue(number);
}

}  // namespace

bool StageBody::reads() const {
  return std::any_of(items.begin(), items.end(), [](const Region::Item* item) {
    return item->instruction == nullptr || llvm::isa<llvm::LoadInst>(item->instruction);
  });
}

bool StageBody::is_cheap() const {
  constexpr std::size_t kHandful = 8;
  const auto calls_a_function = [](const Region::Item* item) {
    return item->instruction != nullptr && llvm::isa<llvm::CallInst>(item->instruction) &&
           !llvm::isa<llvm::MinMaxIntrinsic>(item->instruction);
  };
  return items.size() <= kHandful && !reads() && std::none_of(items.begin(), items.end(), calls_a_function);
}

bool StageBody::is_heavy() const {
  constexpr std::size_t kMany = 6;
  constexpr int kManyNumbers = 2;  // which take a register an element, while conditions take a predicate
  const auto numbers = std::count_if(items.begin(), items.end(), [](const Region::Item* item) {
    return item->instruction != nullptr && !item->instruction->getType()->isIntegerTy(1);
  });
  return items.size() > kMany || numbers > kManyNumbers || reads();
}

int StageBody::size(bool fast) const {
  int sum = 0;
  for (const Region::Item* item : items) sum += code_size(*item, fast);
  return sum;
}

const llvm::Value* StageSplit::canonical(const llvm::Value& value) const {
  const auto found = canonical_.find(&value);
  return found == canonical_.end() ? &value : found->second;
}

Stage StageSplit::stage_that_has(const llvm::Value& value) const {
  if (const int index = argument_index(value); index >= 0) {
    const HookArgKind kind = argument(index).kind;
    return kind == HookArgKind::score    ? Stage::element
           : kind == HookArgKind::q_idx  ? Stage::row
           : kind == HookArgKind::kv_idx ? Stage::column
                                         : Stage::head;
  }
  const auto home = homes_.find(canonical(value));
  return home == homes_.end() ? Stage::head : home->second.stage;
}

int StageSplit::argument_index(const llvm::Value& value) const {
  const auto* argument = llvm::dyn_cast<llvm::Argument>(&value);
  return argument == nullptr ? -1 : static_cast<int>(argument->getArgNo());
}

bool StageSplit::is_scale_log2(const llvm::Value& value) const {
  const auto* product = llvm::dyn_cast<llvm::BinaryOperator>(&value);
  if (product == nullptr || product->getOpcode() != llvm::Instruction::FMul) return false;
  const auto* scale = llvm::dyn_cast<llvm::Argument>(product->getOperand(0));
  return scale != nullptr && is_hook_argument(*scale, HookArgKind::scale) &&
         is_constant(*product->getOperand(1), static_cast<double>(kLog2eF32));
}

const llvm::Argument* StageSplit::index_as_float(const llvm::Value& value) const {
  const auto* cast = llvm::dyn_cast<llvm::SIToFPInst>(&value);
  const auto* index = cast == nullptr ? nullptr : llvm::dyn_cast<llvm::Argument>(cast->getOperand(0));
  if (index == nullptr) return nullptr;
  const bool is_index =
      is_hook_argument(*index, HookArgKind::q_idx) || is_hook_argument(*index, HookArgKind::kv_idx);
  return is_index ? index : nullptr;
}

const llvm::Value* StageSplit::result(const llvm::Function& function) const {
  const auto* end = llvm::cast<llvm::ReturnInst>(function.back().getTerminator());
  return canonical(*end->getReturnValue());
}

/// Known in every stage without being computed: constants, arguments, and what the kernel hands in.
bool StageSplit::is_given(const llvm::Value& value) const {
  return !llvm::isa<llvm::Instruction>(value) || is_scale_log2(value) || index_as_float(value) != nullptr;
}

/// Cheaper to compute again than to keep in a register.
bool StageSplit::is_recomputed(const llvm::Value& value) const {
  const auto& instruction = llvm::cast<llvm::Instruction>(value);
  return instruction.getOpcode() == llvm::Instruction::SExt ||
         instruction.getOpcode() == llvm::Instruction::FNeg;
}

void StageSplit::unify(const llvm::Instruction& instruction) {
  std::string key = fmt::format("{} {} {}", instruction.getOpcode(), fmt::ptr(instruction.getType()),
                                instruction.getRawSubclassOptionalData());
  if (const auto* compare = llvm::dyn_cast<llvm::CmpInst>(&instruction))
    key += fmt::format(" {}", static_cast<int>(compare->getPredicate()));
  if (const auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction))
    key += fmt::format(" {}", fmt::ptr(step->getSourceElementType()));
  std::vector<const llvm::Value*> operands;
  for (const llvm::Value* operand : instruction.operand_values()) {
    if (llvm::isa<llvm::Function>(operand))  // declared once in each module
      key += " " + operand->getName().str();
    else
      operands.push_back(canonical(*operand));
  }
  if (instruction.isCommutative() && llvm::isa<llvm::BinaryOperator>(instruction))
    std::sort(operands.begin(), operands.end(), std::less<>());
  for (const llvm::Value* operand : operands) key += fmt::format(" {}", fmt::ptr(operand));
  const llvm::Value* first = by_structure_.try_emplace(key, &instruction).first->second;
  if (first != &instruction) canonical_[&instruction] = first;
}

Stage StageSplit::home_of(DependsOn depends) const {
  const Stage stage = stage_of(depends);
  return stages_of_ == StagesOf::heads && stage != Stage::head ? Stage::element : stage;
}

void StageSplit::register_items(Analysed& analysed) {
  for (const llvm::Argument& argument : analysed.function->args()) {
    const llvm::Argument* first = functions_.front()->function->getArg(argument.getArgNo());
    if (first != &argument) canonical_[&argument] = first;
  }
  for (const Region::Item& item : analysed.region.items) {
    if (item.instruction != nullptr) {
      homes_[item.instruction] = {&item, home_of(analysed.dependence.of(*item.instruction))};
      unify(*item.instruction);
      continue;
    }
    DependsOn all;
    for_each_instruction(item.loop->body, [&](const llvm::Instruction& inner, long long) {
      all.bits |= analysed.dependence.of(inner).bits;
    });
    const Stage stage = home_of(all);
    for_each_instruction(item.loop->body,
                         [&](const llvm::Instruction& inner, long long) { homes_[&inner] = {&item, stage}; });
    for (const Loop::Carried& carried : item.loop->carried) homes_[carried.phi] = {&item, stage};
  }
}

StageBody StageSplit::add(const llvm::Function& function) {
  functions_.push_back(
      std::make_unique<Analysed>(Analysed{&function, region_of(function), Dependence(function)}));
  register_items(*functions_.back());
  StageBody element;
  need(*result(function), Stage::element, element);
  return element;
}

void StageSplit::need_operands(const Region::Item& item, Stage at, StageBody& body) {
  if (item.instruction != nullptr) {
    for (const llvm::Value* operand : item.instruction->operand_values()) need(*operand, at, body);
    return;
  }
  // Everything the loop takes from outside; its own values have the loop as their home and end the search.
  for (const Loop::Carried& carried : item.loop->carried) need(*carried.start, at, body);
  for (const Region::Item& inner : item.loop->body.items) need_operands(inner, at, body);
}

/// Makes `value` available at stage `at`, whose work is `body`.
void StageSplit::need(const llvm::Value& any, Stage at, StageBody& body) {
  const llvm::Value& value = *canonical(any);
  if (is_given(value)) return;
  const auto home = homes_.find(&value);
  if (home == homes_.end()) return;  // a nested loop's variable: inside the item being added
  const auto [item, stage_of_home] = home->second;
  if (stage_of_home == at || is_recomputed(value)) {
    if (!body.present.insert(item).second) return;
    need_operands(*item, at, body);
    body.items.push_back(item);
    return;
  }
  StageBody& earlier = stages_[static_cast<std::size_t>(stage_of_home)];
  if (std::find(earlier.fields.begin(), earlier.fields.end(), &value) != earlier.fields.end()) return;
  need(value, stage_of_home, earlier);
  earlier.fields.push_back(&value);
}

}  // namespace fa
