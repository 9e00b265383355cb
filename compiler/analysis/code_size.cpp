#include "compiler/ir/llvm.h"
// after llvm.h
#include <algorithm>

#include "compiler/analysis/code_size.h"
#include "compiler/ir/functions.h"
#include "compiler/ir/math/exact_math.h"

namespace fa {
namespace {

constexpr int kMostUnrolled = 160;    // instructions of all turns of a loop together
constexpr int kLargest = 1 << 24;     // sums stay far from an int's end
constexpr int kRuntimeDivision = 24;  // of 32-bit integers
constexpr int kWideDivision = 100;    // of 64-bit ones
constexpr int kDivisionByConstant = 5;

int size_of_exact(ExactFunction function) {
  switch (function) {
    case ExactFunction::exp:
    case ExactFunction::exp2:
      return 40;
    case ExactFunction::log:
    case ExactFunction::log2:
      return 60;
    case ExactFunction::sin:
    case ExactFunction::cos:
      return 35;
    case ExactFunction::rsqrt:
      return 25;
    case ExactFunction::sigmoid:
      return 55;
  }
  return 60;
}

int size_of_call(const llvm::CallInst& call, bool fast) {
  if (const auto exact = exact_function_of(call)) return size_of_exact(*exact);
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::floor:
    case llvm::Intrinsic::ceil:
    case llvm::Intrinsic::trunc:
    case llvm::Intrinsic::roundeven:
    case llvm::Intrinsic::fabs:
    case llvm::Intrinsic::minnum:
    case llvm::Intrinsic::maxnum:
    case llvm::Intrinsic::smin:
    case llvm::Intrinsic::smax:
    case llvm::Intrinsic::umin:
    case llvm::Intrinsic::umax:
    case llvm::Intrinsic::abs:
    case llvm::Intrinsic::fptosi_sat:
    case llvm::Intrinsic::fma:
    case llvm::Intrinsic::fmuladd:
    case llvm::Intrinsic::copysign:
    case llvm::Intrinsic::ctpop:
    case llvm::Intrinsic::fshl:
    case llvm::Intrinsic::fshr:
      return 1;
    case llvm::Intrinsic::sin:
    case llvm::Intrinsic::cos:
      return fast ? 6 : size_of_exact(ExactFunction::sin);
    case llvm::Intrinsic::tanh:
      return fast ? 1 : 20;
    case llvm::Intrinsic::exp:
    case llvm::Intrinsic::exp2:
    case llvm::Intrinsic::sqrt:
      return fast ? 2 : 10;
    case llvm::Intrinsic::log:
    case llvm::Intrinsic::log2:
      return fast ? 2 : 20;
    default:
      break;
  }
  const llvm::Function* callee = call.getCalledFunction();
  const llvm::StringRef name = callee == nullptr ? llvm::StringRef() : callee->getName();
  if (name == llvm::StringRef(kPowName)) return 90;  // these have no approximate form
  if (name == llvm::StringRef(kAtan2Name)) return 45;
  for (const std::string_view other : {kAtanName, kLog1pName, kExpm1Name})
    if (std::string_view(name) == other) return 30;
  return fast ? 5 : 30;  // sigmoid, erf and the like
}

int size_of(const llvm::Instruction& instruction, bool fast) {
  const bool is_wide = instruction.getType()->isIntegerTy(64);
  switch (instruction.getOpcode()) {
    case llvm::Instruction::SDiv:
    case llvm::Instruction::UDiv:
    case llvm::Instruction::SRem:
    case llvm::Instruction::URem:
      if (llvm::isa<llvm::Constant>(instruction.getOperand(1)))
        return kDivisionByConstant * (is_wide ? 3 : 1);
      return is_wide ? kWideDivision : kRuntimeDivision;
    case llvm::Instruction::FDiv:
      return fast && instruction.hasAllowContract() ? 3 : 12;
    case llvm::Instruction::GetElementPtr:
    case llvm::Instruction::Load:
    case llvm::Instruction::SIToFP:
      return 2;
    case llvm::Instruction::SExt:
      return 0;
    case llvm::Instruction::Call:
      return size_of_call(llvm::cast<llvm::CallInst>(instruction), fast);
    default:
      return is_wide ? 2 : 1;
  }
}

int size_of(const Region& region, bool fast) {
  int size = 0;
  for (const Region::Item& item : region.items) size = std::min(size + code_size(item, fast), kLargest);
  return size;
}

}  // namespace

bool stays_rolled(const Loop& loop, bool fast) {
  return static_cast<long long>(size_of(loop.body, fast)) * loop.trip_count > kMostUnrolled;
}

int code_size(const Region::Item& item, bool fast) {
  if (item.instruction != nullptr) return size_of(*item.instruction, fast);
  const int turns = stays_rolled(*item.loop, fast) ? 1 : item.loop->trip_count;
  return std::min((size_of(item.loop->body, fast) + 2) * turns + 2, kLargest);
}

int instructions_run(const llvm::Function& function, bool fast) {
  long long sum = 0;
  for_each_instruction(region_of(function), [&](const llvm::Instruction& instruction, long long times) {
    sum = std::min(sum + times * size_of(instruction, fast), static_cast<long long>(kLargest));
  });
  return static_cast<int>(sum);
}

int code_size(const llvm::Function& function, bool fast) { return size_of(region_of(function), fast); }

}  // namespace fa
