// Everything that the mask makes of an index is followed until it is a block's number, a summary or a
// condition.
#include "compiler/ir/llvm.h"
#include "compiler/ir/llvm/pattern_match.h"
// after llvm.h
#include "compiler/analysis/tiles/alike.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "compiler/analysis/tiles/summary.h"
#include "compiler/ir/hook_ir.h"

namespace fa {
namespace {

using namespace llvm::PatternMatch;

constexpr std::size_t kMostConditions = 8;  // asked for each tile; more are not worth it

/// The n for which `use`, of an index that is never negative, is floor(index / n); 0 where it is something
/// else.
int block_of(const llvm::User& use, const llvm::Value& index) {
  constexpr unsigned kMostBits = 24;  // of an index
  const llvm::APInt* by = nullptr;
  if (match(&use, m_Shr(m_Specific(&index), m_APInt(by))) && by->ult(kMostBits))
    return 1 << by->getZExtValue();
  const bool divides = match(&use, m_SDiv(m_Specific(&index), m_APInt(by))) ||
                       match(&use, m_UDiv(m_Specific(&index), m_APInt(by)));
  if (divides && by->isStrictlyPositive() && by->getActiveBits() <= kMostBits)
    return static_cast<int>(by->getSExtValue());
  return 0;
}

/// Whether `use` compares an index with a multiple of `block`: one of the bounds of a block.
bool bounds_blocks(const llvm::User& use, const llvm::Value& index, int block) {
  const llvm::APInt* limit = nullptr;
  llvm::CmpInst::Predicate predicate{};
  if (!match(&use, m_ICmp(predicate, m_Specific(&index), m_APInt(limit))) || limit->isNegative())
    return false;
  const std::int64_t bound = limit->getSExtValue();
  switch (predicate) {
    case llvm::CmpInst::ICMP_SLT:
    case llvm::CmpInst::ICMP_ULT:
    case llvm::CmpInst::ICMP_SGE:
    case llvm::CmpInst::ICMP_UGE:
      return bound % block == 0;
    case llvm::CmpInst::ICMP_SGT:
    case llvm::CmpInst::ICMP_UGT:
    case llvm::CmpInst::ICMP_SLE:
    case llvm::CmpInst::ICMP_ULE:
      return (bound + 1) % block == 0;
    default:
      return false;
  }
}

/// Whether a summary sees more of an index than its block.
bool reaches_summary(const llvm::Argument& index, int block, const MaskSides* sides) {
  std::vector<const llvm::Value*> open = {&index};
  std::unordered_set<const llvm::Value*> seen;
  while (!open.empty()) {
    const llvm::Value* const value = open.back();
    open.pop_back();
    for (const llvm::User* user : value->users()) {
      if (value == &index && (block_of(*user, index) != 0 || bounds_blocks(*user, index, block))) continue;
      if (!seen.insert(user).second) continue;
      if (sides == nullptr || sides->summary_of(user) >= 0) return true;
      open.push_back(user);
    }
  }
  return false;
}

}  // namespace

AlikeLines find_alike_lines(const llvm::Function& mask, HookArgKind index, const MaskSides* sides) {
  const llvm::Argument& argument = *hook_argument(mask, index);
  AlikeLines lines{.block = 0, .conditions = {}, .is_known = true};
  for (const llvm::User* user : argument.users())
    lines.block = std::gcd(lines.block, block_of(*user, argument));
  if (lines.block == 0) lines.block = kMaxLength;
  lines.by_blocks = !reaches_summary(argument, lines.block, sides);
  std::vector<const llvm::Value*> open = {&argument};
  std::unordered_set<const llvm::Value*> seen;
  while (!open.empty()) {
    const llvm::Value* const value = open.back();
    open.pop_back();
    for (const llvm::User* user : value->users()) {
      const bool of_index = value == &argument;
      if (of_index && (block_of(*user, argument) != 0 || bounds_blocks(*user, argument, lines.block)))
        continue;
      if (!seen.insert(user).second) continue;
      if (sides == nullptr) return {};
      if (sides->summary_of(user) >= 0) continue;
      if (user->getType()->isIntegerTy(1))
        lines.conditions.push_back(const_cast<llvm::User*>(user));  // NOLINT: the mask is the caller's
      else
        open.push_back(user);
    }
  }
  return lines.conditions.size() <= kMostConditions ? lines : AlikeLines{};
}

}  // namespace fa
