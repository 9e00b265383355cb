// The list is looked for where the mask joins conditions: below `and` and `or`, the first `or` that has enough comparisons of
// kv_idx with what a row decides. Whether one of them holds is then a condition of its own, which two copies of the mask take as
// true and as false.
#include "compiler/ir/llvm.h"
#include "compiler/ir/llvm/pattern_match.h"
// after llvm.h
#include <unordered_set>
#include <vector>

#include "compiler/analysis/dependence.h"
#include "compiler/analysis/listed_keys.h"
#include "compiler/analysis/region.h"
#include "compiler/ir/hook_ir.h"
#include "compiler/ir/simplify.h"

namespace fa {
namespace {

constexpr std::size_t kFewest = 4;  // comparing each element costs less than a word of fewer keys
constexpr int kMostBeside = 6;      // operations left to an element, whose code a kernel repeats for each
constexpr unsigned kKeysOfWord = 32;

/// The comparisons of a list, and the condition that one of them, or something else, holds.
struct List {
  llvm::Instruction* any = nullptr;
  std::vector<llvm::ICmpInst*> comparisons;
};

class Search {
 public:
  explicit Search(llvm::Function& mask)
      : kv_idx_(hook_argument(mask, HookArgKind::kv_idx)), dependence_(mask) {
    look_at(llvm::cast<llvm::ReturnInst>(mask.back().getTerminator())->getReturnValue());
  }

  const List& found() const { return found_; }

  /// What kv_idx is compared with; null for another comparison.
  llvm::Value* number_of_row(const llvm::ICmpInst& comparison) const {
    if (comparison.getPredicate() != llvm::CmpInst::ICMP_EQ) return nullptr;
    for (const unsigned side : {0u, 1u}) {
      llvm::Value* const other = comparison.getOperand(1 - side);
      if (comparison.getOperand(side) == kv_idx_ && dependence_.of(*other).sides() == DependsOn::q)
        return other;
    }
    return nullptr;
  }

 private:
  void look_at(llvm::Value* condition) {
    using namespace llvm::PatternMatch;
    if (found_.any != nullptr || !seen_.insert(condition).second) return;
    llvm::Value *x = nullptr, *y = nullptr;
    if (match(condition, m_LogicalOr())) {
      List list{.any = llvm::cast<llvm::Instruction>(condition), .comparisons = {}};
      std::vector<llvm::Value*> others;
      gather(condition, list, others);
      if (list.comparisons.size() >= kFewest)
        found_ = std::move(list);
      else
        for (llvm::Value* other : others) look_at(other);
    } else if (match(condition, m_LogicalAnd(m_Value(x), m_Value(y)))) {
      look_at(x);
      look_at(y);
    }
  }

  /// The conditions that `condition` joins by `or`, each once.
  void gather(llvm::Value* condition, List& list, std::vector<llvm::Value*>& others) {
    using namespace llvm::PatternMatch;
    llvm::Value *x = nullptr, *y = nullptr;
    if (match(condition, m_LogicalOr(m_Value(x), m_Value(y)))) {
      for (llvm::Value* joined : {x, y})
        if (joined_.insert(joined).second) gather(joined, list, others);
      return;
    }
    auto* const comparison = llvm::dyn_cast<llvm::ICmpInst>(condition);
    if (comparison != nullptr && number_of_row(*comparison) != nullptr)
      list.comparisons.push_back(comparison);
    else
      others.push_back(condition);
  }

  const llvm::Value* const kv_idx_;
  const Dependence dependence_;
  List found_;
  std::unordered_set<const llvm::Value*> seen_, joined_;
};

/// Whether few operations, and no reads, are left to each element.
bool is_short(const llvm::Function& function) {
  const Dependence dependence(function);
  int operations = 0;
  bool reads = false;
  for_each_instruction(region_of(function), [&](const llvm::Instruction& instruction, long long) {
    if (dependence.stage(instruction) != Stage::element) return;
    operations += 1;
    reads |= llvm::isa<llvm::LoadInst>(instruction);
  });
  return operations <= kMostBeside && !reads;
}

/// Makes a copy of the mask return the word of bits.
void return_word(llvm::Function& function) {
  const Search search(function);
  llvm::Instruction* const end = function.back().getTerminator();
  llvm::IRBuilder<> builder(end);
  llvm::Value* const first = hook_argument(function, HookArgKind::kv_idx);
  llvm::Value* word = builder.getInt32(0);
  for (const llvm::ICmpInst* comparison : search.found().comparisons) {
    llvm::Value* const distance = builder.CreateSub(search.number_of_row(*comparison), first);
    llvm::Value* const is_near = builder.CreateICmpULT(distance, builder.getInt32(kKeysOfWord));
    llvm::Value* const amount = builder.CreateAnd(distance, kKeysOfWord - 1);
    llvm::Value* const bit = builder.CreateShl(builder.getInt32(1), amount);
    word = builder.CreateOr(word, builder.CreateSelect(is_near, bit, builder.getInt32(0)));
  }
  end->setOperand(0, word);
}

void finish(llvm::Function& function) {
  verify(function, "find_listed_keys");
  simplify(function);
}

}  // namespace

ListedKeys find_listed_keys(const HookIr& hooks) {
  const std::shared_ptr<llvm::Module> module = make_module("listed_keys", hooks.module);
  const llvm::Function& mask = *hooks.mask_mod;
  llvm::Function* const if_listed = copy_function(mask, *module, "mask_if_listed");
  const List list = Search(*if_listed).found();
  if (list.any == nullptr) return {};
  list.any->replaceAllUsesWith(llvm::ConstantInt::getTrue(module->getContext()));
  finish(*if_listed);
  llvm::Function* const if_not = copy_function(mask, *module, "mask_if_not_listed");
  const Search unlisted(*if_not);
  for (llvm::ICmpInst* comparison : unlisted.found().comparisons)
    comparison->replaceAllUsesWith(llvm::ConstantInt::getFalse(module->getContext()));
  finish(*if_not);
  if (!is_short(*if_listed) || !is_short(*if_not)) return {};
  llvm::Function* const words =
      copy_function(mask, *module, "listed_keys", llvm::Type::getInt32Ty(module->getContext()));
  return_word(*words);
  finish(*words);
  return {.module = module, .words = words, .if_listed = if_listed, .if_not = if_not};
}

}  // namespace fa
