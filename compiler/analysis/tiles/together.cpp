// What several conditions may be at one element. Asked one by one, `d < 64` may hold somewhere in a tile and
// `d % 4 == 0` elsewhere; so each condition is asked where the others let it be.
#include "compiler/analysis/tiles/transfer/transfer.h"
#include "compiler/ir/llvm/pattern_match.h"

#include <algorithm>

namespace fa {
namespace {

using namespace llvm::PatternMatch;

// Beyond these, conditions are asked one by one: a class should cost little beside the tiles it saves.
constexpr std::size_t kMostNarrowing = 8;  // conditions that narrow each other
constexpr std::size_t kMostBoxes = 32;     // over the whole mask
constexpr int kMostDivisions = 2;          // by run-time numbers, done again for a narrower box: dear on GPUs
constexpr std::size_t kMostWays = 4;       // in which conditions that are choices can hold together
constexpr std::size_t kMostCases = 2;      // each doubles the class

/// `a == b or a > b` is `a >= b`: apart, neither half is ever proved to hold all over a tile that both
/// together cover. Gives whether `x` now stands for both; `decided` where that is a constant.
bool merge(Literal& x, const Literal& y, bool conjunction, llvm::Constant*& decided) {
  if (x.condition != nullptr || y.condition != nullptr) return false;
  llvm::CmpInst::Predicate second = y.predicate;
  if (x.a == y.b && x.b == y.a)
    second = llvm::CmpInst::getSwappedPredicate(second);
  else if (x.a != y.a || x.b != y.b)
    return false;
  if (!llvm::predicatesFoldable(x.predicate, second)) return false;
  const unsigned first_code = llvm::getICmpCode(x.predicate);
  const unsigned second_code = llvm::getICmpCode(second);
  const unsigned code = conjunction ? first_code & second_code : first_code | second_code;
  const bool is_signed = llvm::CmpInst::isSigned(x.predicate) || llvm::CmpInst::isSigned(second);
  decided = llvm::getPredForICmpCode(code, is_signed, x.a->getType(), x.predicate);
  return true;
}

/// Two exact bounds: whether what one leaves of the box may miss the other. Bounds of one value never do,
/// unless they exclude each other everywhere.
bool may_miss(const Narrowing& x, const Narrowing& y) {
  const auto against = [](const Box& one, const Box& diagonal) {
    return ((one.q_hi != nullptr || one.kv_lo != nullptr) && diagonal.d_lo != nullptr) ||
           ((one.q_lo != nullptr || one.kv_hi != nullptr) && diagonal.d_hi != nullptr);
  };
  return against(x.bounds, y.bounds) || against(y.bounds, x.bounds);
}

/// Divisions by run-time numbers that `value` is made of.
int count_divisions(const llvm::Value* value, std::set<const llvm::Value*>& seen) {
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr || !seen.insert(value).second) return 0;
  const bool divides = instruction->isIntDivRem() && !llvm::isa<llvm::Constant>(instruction->getOperand(1));
  int count = divides ? 1 : 0;
  for (const llvm::Value* operand : instruction->operand_values()) count += count_divisions(operand, seen);
  return count;
}

/// Whether exact bounds of one direction leave anything for each other: what `window > 0` is to a window.
llvm::Value* bounds_agree(const Domain& where, const std::vector<Narrowing>& narrowings) {
  llvm::IRBuilder<>& builder = where.builder();
  llvm::Value* agree = builder.getTrue();
  for (std::size_t i = 0; i < narrowings.size(); ++i) {
    for (std::size_t j = 0; j < narrowings.size(); ++j) {
      if (i == j || !narrowings[i].exact || !narrowings[j].exact) continue;
      const Box& x = narrowings[i].bounds;
      const Box& y = narrowings[j].bounds;
      for (const auto& [lo, hi] : {std::pair{x.q_lo, y.q_hi}, {x.kv_lo, y.kv_hi}, {x.d_lo, y.d_hi}})
        if (lo != nullptr && hi != nullptr) agree = builder.CreateAnd(agree, builder.CreateICmpSLE(lo, hi));
    }
  }
  return agree;
}

/// The box that is left, every bound as tight as the others make it, and whether anything is left.
struct Rest {
  Box box;
  llvm::Value* exists = nullptr;
};

Rest intersect(const Domain& where, const std::vector<Narrowing>& narrowings) {
  llvm::IRBuilder<>& builder = where.builder();
  Box box = where.box();
  bool rows = false, columns = false, diagonals = box.d_lo != nullptr;
  const auto raise = [&](llvm::Value*& bound, llvm::Value* to) {
    if (to != nullptr) bound = bound == nullptr ? to : where.max(bound, to);
  };
  const auto lower = [&](llvm::Value*& bound, llvm::Value* to) {
    if (to != nullptr) bound = bound == nullptr ? to : where.min(bound, to);
  };
  for (const Narrowing& narrowing : narrowings) {
    rows |= narrowing.rows();
    columns |= narrowing.columns();
    diagonals |= narrowing.diagonals();
    raise(box.q_lo, narrowing.bounds.q_lo);
    lower(box.q_hi, narrowing.bounds.q_hi);
    raise(box.kv_lo, narrowing.bounds.kv_lo);
    lower(box.kv_hi, narrowing.bounds.kv_hi);
    raise(box.d_lo, narrowing.bounds.d_lo);
    lower(box.d_hi, narrowing.bounds.d_hi);
  }
  Rest rest{box, builder.getTrue()};
  const auto require = [&](llvm::Value* lo, llvm::Value* hi) {
    rest.exists = builder.CreateAnd(rest.exists, builder.CreateICmpSLE(lo, hi));
  };
  if (rows) require(box.q_lo, box.q_hi);
  if (columns) require(box.kv_lo, box.kv_hi);
  if (!diagonals) return rest;
  raise(rest.box.d_lo, builder.CreateNSWSub(box.q_lo, box.kv_hi));
  lower(rest.box.d_hi, builder.CreateNSWSub(box.q_hi, box.kv_lo));
  require(rest.box.d_lo, rest.box.d_hi);
  raise(rest.box.q_lo, builder.CreateNSWAdd(box.kv_lo, rest.box.d_lo));
  lower(rest.box.q_hi, builder.CreateNSWAdd(box.kv_hi, rest.box.d_hi));
  raise(rest.box.kv_lo, builder.CreateNSWSub(box.q_lo, rest.box.d_hi));
  lower(rest.box.kv_hi, builder.CreateNSWSub(box.q_hi, rest.box.d_lo));
  return rest;
}

}  // namespace

/// Takes `condition` apart where all (conjunction) or any of its parts decide it.
void Transfer::flatten(llvm::Value* condition, bool wanted, bool conjunction,
                       std::vector<Literal>& literals) const {
  llvm::Value* x = nullptr;
  llvm::Value* y = nullptr;
  const bool apart = !is_uniform(condition) && sides_.summary_of(condition) < 0;
  if (apart && match(condition, m_Not(m_Value(x)))) return flatten(x, !wanted, conjunction, literals);
  const bool joins = wanted == conjunction ? match(condition, m_LogicalAnd(m_Value(x), m_Value(y)))
                                           : match(condition, m_LogicalOr(m_Value(x), m_Value(y)));
  if (apart && joins) {
    flatten(x, wanted, conjunction, literals);
    flatten(y, wanted, conjunction, literals);
    return;
  }
  Literal next = literal(condition, wanted);
  for (Literal& known : literals) {
    llvm::Constant* decided = nullptr;
    if (!merge(known, next, conjunction, decided)) continue;
    if (decided != nullptr) known = {.condition = decided, .wanted = true};
    return;
  }
  literals.push_back(next);
}

llvm::Value* Transfer::may_any_hold(const std::vector<Literal>& literals, const Domain& where) {
  llvm::Value* any = where.builder().getFalse();
  for (const Literal& literal : literals) any = where.builder().CreateOr(any, may_hold(literal, where));
  return any;
}

std::vector<std::vector<Literal>> Transfer::ways(const Literal& literal) const {
  llvm::Value* const condition = literal.condition;
  if (condition == nullptr || !llvm::isa<llvm::Instruction>(condition) || is_uniform(condition) ||
      sides_.summary_of(condition) >= 0)
    return {{literal}};
  const auto both = [&](llvm::Value* a, bool wanted_a, llvm::Value* b, bool wanted_b) {
    return std::vector<Literal>{this->literal(a, wanted_a), this->literal(b, wanted_b)};
  };
  llvm::Value* x = nullptr;
  llvm::Value* y = nullptr;
  if (literal.wanted ? match(condition, m_LogicalOr()) : match(condition, m_LogicalAnd())) {
    std::vector<Literal> choices;
    flatten(condition, literal.wanted, false, choices);
    std::vector<std::vector<Literal>> result;
    for (const Literal& choice : choices) result.push_back({choice});
    return result;
  }
  llvm::CmpInst::Predicate predicate{};
  const bool is_xor = match(condition, m_Xor(m_Value(x), m_Value(y))) && !match(condition, m_Not(m_Value()));
  const bool is_equal = match(condition, m_ICmp(predicate, m_Value(x), m_Value(y))) &&
                        x->getType()->isIntegerTy(1) && llvm::ICmpInst::isEquality(predicate);
  if (is_xor || is_equal) {
    const bool differ = literal.wanted == (is_xor || predicate == llvm::CmpInst::ICMP_NE);
    return {both(x, true, y, !differ), both(x, false, y, differ)};
  }
  if (auto* select = llvm::dyn_cast<llvm::SelectInst>(condition);
      select != nullptr && !match(condition, m_LogicalAnd()) && !match(condition, m_LogicalOr())) {
    return {both(select->getCondition(), true, select->getTrueValue(), literal.wanted),
            both(select->getCondition(), false, select->getFalseValue(), literal.wanted)};
  }
  return {{literal}};
}

llvm::Value* Transfer::may_all_hold(const std::vector<Literal>& literals, const Domain& where) {
  // Choices are multiplied out while they are few, so that each way narrows the box by all that it says.
  std::vector<std::vector<Literal>> products = {{}};
  for (const Literal& literal : literals) {
    std::vector<std::vector<Literal>> choices = ways(literal);
    if (choices.size() > 1 && choices.size() * products.size() > kMostWays) {
      note("`and` of conditions with `or` in them, in too many combinations");
      choices = {{literal}};
    }
    std::vector<std::vector<Literal>> next;
    for (const std::vector<Literal>& product : products) {
      for (const std::vector<Literal>& choice : choices) {
        next.push_back(product);
        next.back().insert(next.back().end(), choice.begin(), choice.end());
      }
    }
    products = std::move(next);
  }
  llvm::Value* any = where.builder().getFalse();
  for (const std::vector<Literal>& product : products)
    any = where.builder().CreateOr(any, may_all_hold_at_once(product, where));
  return any;
}

llvm::Value* Transfer::may_all_hold_at_once(const std::vector<Literal>& literals, const Domain& where) {
  llvm::IRBuilder<>& builder = where.builder();
  std::vector<Narrowing> narrowings;
  std::vector<bool> gains(literals.size(), false);  // whether the others' narrowing may tell more about it
  bool any_gains = false;
  const bool are_few = literals.size() <= kMostNarrowing && domains_.size() < kMostBoxes;
  if (literals.size() > 1 && !are_few) note("`and` of too many conditions");
  if (literals.size() > 1 && are_few) {
    for (const Literal& literal : literals) narrowings.push_back(narrowing(literal, where));
    for (std::size_t i = 0; i < literals.size(); ++i) {
      for (std::size_t j = 0; j < literals.size(); ++j) {
        if (i == j || !narrowings[j].any()) continue;
        gains[i] = gains[i] || (narrowings[i].exact && narrowings[j].exact
                                    ? may_miss(narrowings[i], narrowings[j])
                                    : !narrowings[i].exact && reads_box(literals[i]));
      }
      any_gains |= gains[i];
    }
    std::set<const llvm::Value*> seen;
    int divisions = 0;
    for (std::size_t i = 0; i < literals.size(); ++i) {
      if (!gains[i] || narrowings[i].exact) continue;
      for (const llvm::Value* value : {literals[i].condition, literals[i].a, literals[i].b})
        if (value != nullptr) divisions += count_divisions(value, seen);
    }
    if (any_gains && divisions > kMostDivisions) {
      note("`/` and `%` by numbers that are not constants, in several conditions at once");
      any_gains = false;
    }
  }
  llvm::Value* all = builder.getTrue();
  if (!any_gains) {
    all = bounds_agree(where, narrowings);
    for (const Literal& literal : literals) all = builder.CreateAnd(all, may_hold(literal, where));
    return all;
  }
  const Rest rest = intersect(where, narrowings);
  const Domain& narrow = domains_.emplace_back(builder, rest.box);
  all = rest.exists;
  for (std::size_t i = 0; i < literals.size(); ++i) {
    if (!narrowings[i].exact)  // an exact one holds wherever the box says
      all = builder.CreateAnd(all, may_hold(literals[i], gains[i] ? narrow : where));
  }
  return all;
}

/// `where(q_idx >= n, (q_idx - n) / 16, q_idx / 16)`: on either side of n it is one number, across it
/// anything in between.
std::vector<llvm::Value*> Transfer::cases() const {
  std::vector<llvm::Value*> result;
  for (llvm::Instruction& instruction : mask_.getEntryBlock()) {
    auto* select = llvm::dyn_cast<llvm::SelectInst>(&instruction);
    if (select == nullptr || !select->getType()->isIntegerTy(32)) continue;
    const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(select->getCondition());
    if (compare == nullptr || compare->isEquality() || !is_uniform(compare->getOperand(1))) continue;
    if (compare->getOperand(0) != hook_argument(mask_, HookArgKind::q_idx) &&
        compare->getOperand(0) != hook_argument(mask_, HookArgKind::kv_idx))
      continue;
    if (std::find(result.begin(), result.end(), select->getCondition()) == result.end())
      result.push_back(select->getCondition());
  }
  if (result.size() > kMostCases) result.clear();
  return result;
}

llvm::Value* Transfer::may_by_cases(llvm::Value* condition, bool wanted, std::vector<llvm::Value*> cases,
                                    const Domain& where) {
  if (cases.empty()) return may(condition, wanted, where);
  llvm::IRBuilder<>& builder = where.builder();
  llvm::Value* const by = cases.back();
  cases.pop_back();
  llvm::Value* any = builder.getFalse();
  for (const bool holds : {true, false}) {
    const Narrowing part = narrowing(literal(by, holds), where);
    if (!part.exact) return may_by_cases(condition, wanted, cases, where);
    const Rest rest = intersect(where, {part});
    const Domain& narrow = domains_.emplace_back(builder, rest.box);
    any =
        builder.CreateOr(any, builder.CreateAnd(rest.exists, may_by_cases(condition, wanted, cases, narrow)));
  }
  return any;
}

/// Whether what is known of `value` depends on the box at all: summaries and uniform values do not.
bool Transfer::reads_box(const llvm::Value* value) {
  if (llvm::isa<llvm::Constant>(value) || is_uniform(value) || sides_.summary_of(value) >= 0) return false;
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (instruction == nullptr) return true;
  if (const auto found = reads_box_.find(value); found != reads_box_.end()) return found->second;
  bool reads = false;
  for (const llvm::Value* operand : instruction->operand_values()) reads |= reads_box(operand);
  return reads_box_[value] = reads;
}

bool Transfer::reads_box(const Literal& literal) {
  if (literal.condition != nullptr) return reads_box(literal.condition);
  return reads_box(literal.a) || reads_box(literal.b);
}

}  // namespace fa
