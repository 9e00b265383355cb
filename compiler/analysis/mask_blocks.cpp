#include "compiler/analysis/mask_blocks.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "compiler/ir/llvm.h"
// after llvm.h
#include "compiler/ir/signature.h"

namespace fa {
namespace {

constexpr std::int64_t kLongest = 1 << 24;  // lengths stay below it

/// What a value is of an index: the index; so many tokens more or fewer, or a limit of it; the bits in which it differs from
/// the other index.
enum class Of { index, shifted, difference };

/// How a mask uses one of the two indices.
struct IndexUses {
  std::int64_t block = 0;  // of all that it is divided by, the greatest common divisor; 0: never divided
  bool is_divided_or_compared = true;  // and used in no other way
  bool has_line = false;
  std::vector<std::int64_t> bounds;  // constants that it is compared with: the first token after each
  std::set<std::pair<const llvm::Value*, Of>> seen;

  void collect(const llvm::Value& value, Of of) {
    if (!seen.insert({&value, of}).second) return;  // chains of sums have paths without number
    for (const llvm::User* user : value.users())
      if (is_divided_or_compared) add(value, *llvm::cast<llvm::Instruction>(user), of);
  }

  int block_size() const {
    return is_divided_or_compared && block > 0 && block <= kLongest ? static_cast<int>(block) : 1;
  }

  bool cuts_blocks() const {
    return has_line ||
           std::ranges::any_of(bounds, [&](std::int64_t bound) { return bound % block_size() != 0; });
  }

 private:
  void add(const llvm::Value& value, const llvm::Instruction& user, Of of) {
    const std::int64_t divisor = divisor_of(value, user);
    if (divisor > 0 && of != Of::shifted) {
      block = std::gcd(block, divisor);
    } else if (const auto* compared = llvm::dyn_cast<llvm::ICmpInst>(&user)) {
      add_comparison(*compared, of);
    } else if (user.getOpcode() == llvm::Instruction::Xor && of == Of::index) {
      collect(user, Of::difference);
    } else if (user.getOpcode() == llvm::Instruction::Add || user.getOpcode() == llvm::Instruction::Sub ||
               llvm::isa<llvm::MinMaxIntrinsic>(user)) {
      collect(user, Of::shifted);
    } else {
      is_divided_or_compared = false;
    }
  }

  void add_comparison(const llvm::ICmpInst& compared, Of of) {
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(compared.getOperand(1));
    if (constant == nullptr || of == Of::shifted || compared.isEquality()) {
      has_line = true;
      return;
    }
    const bool is_after = compared.getPredicate() == llvm::CmpInst::ICMP_SGT ||
                          compared.getPredicate() == llvm::CmpInst::ICMP_UGT ||
                          compared.getPredicate() == llvm::CmpInst::ICMP_SLE ||
                          compared.getPredicate() == llvm::CmpInst::ICMP_ULE;
    const std::int64_t bound = constant->getSExtValue() + (is_after ? 1 : 0);
    if (of == Of::index)
      bounds.push_back(bound);
    else  // the bits below the bound's lowest decide nothing, so that blocks of so many tokens are alike
      block = std::gcd(block, bound & -bound);
  }

  /// What `user` divides the index by; 0 where it does something else.
  static std::int64_t divisor_of(const llvm::Value& value, const llvm::Instruction& user) {
    const auto* constant =
        user.getNumOperands() == 2 ? llvm::dyn_cast<llvm::ConstantInt>(user.getOperand(1)) : nullptr;
    if (constant == nullptr || user.getOperand(0) != &value) return 0;
    switch (user.getOpcode()) {
      case llvm::Instruction::AShr:
      case llvm::Instruction::LShr:
        return constant->getZExtValue() < 31 ? std::int64_t{1} << constant->getZExtValue() : 0;
      case llvm::Instruction::SDiv:
      case llvm::Instruction::UDiv:
        return constant->getSExtValue();
      default:
        return 0;
    }
  }
};

IndexUses uses_of(const llvm::Function& mask, HookArgKind kind) {
  IndexUses uses;
  uses.collect(*hook_argument(mask, kind), Of::index);
  return uses;
}

}  // namespace

MaskBlocks find_mask_blocks(const llvm::Function& mask_mod) {
  const IndexUses q = uses_of(mask_mod, HookArgKind::q_idx), kv = uses_of(mask_mod, HookArgKind::kv_idx);
  return {
      .queries = q.block_size(), .keys = kv.block_size(), .has_line = q.cuts_blocks() || kv.cuts_blocks()};
}

}  // namespace fa
