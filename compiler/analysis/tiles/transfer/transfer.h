// The second half of tile classes: what each value of a mask may be over a box of (q_idx, kv_idx), by
// transfer functions that write LLVM IR. Internal to compiler/analysis.
//
//   transfer.cpp   what a value is: an argument, a summary, a point, or interpreted
//   integer.cpp    transfer functions of i32 instructions
//   float.cpp      what an f32 may be
//   boolean.cpp    what a condition may be: and, or, not, comparisons
//   ../together.cpp   what several conditions may be at one element: each narrows the box of the
//                             others
//   ../narrow.cpp     how far a comparison narrows a box
#pragma once

#include "compiler/ir/llvm.h"
// after llvm.h
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "compiler/analysis/tiles/domain/domain.h"
#include "compiler/analysis/tiles/summary.h"

namespace fa {

/// A condition that has to come out one way: a comparison of two i32, or any other i1.
struct Literal {
  llvm::Value* condition = nullptr;  // null: a comparison
  bool wanted = true;
  llvm::CmpInst::Predicate predicate{};
  llvm::Value* a = nullptr;
  llvm::Value* b = nullptr;
};

/// What a literal says about a box; null where nothing. Bounds as in Box.
struct Narrowing {
  Box bounds;
  bool exact = false;  // the literal says this and nothing else: one bound, of a value that is exact

  bool rows() const { return bounds.q_lo != nullptr || bounds.q_hi != nullptr; }
  bool columns() const { return bounds.kv_lo != nullptr || bounds.kv_hi != nullptr; }
  bool diagonals() const { return bounds.d_lo != nullptr || bounds.d_hi != nullptr; }
  bool any() const { return rows() || columns() || diagonals(); }
};

class Transfer {
 public:
  /// Writes into `tile_class` by `builder`.
  Transfer(llvm::Function& mask, const MaskSides& sides, llvm::Function& tile_class,
           llvm::IRBuilder<>& builder);

  /// Whether `condition` may come out as `wanted` somewhere in the tile, as an i1.
  llvm::Value* may(llvm::Value* condition, bool wanted) {
    return may_by_cases(condition, wanted, cases(), tile());
  }
  /// Whether `value` is the same over the whole tile, as an i1.
  llvm::Value* is_point(llvm::Value* value);
  const std::vector<std::string>& imprecise() const { return imprecise_; }
  /// Whether more was written than a class is worth, or questions were nested too deeply for the stack. From
  /// then on everything may be, which is true of any mask, and the caller drops what there is.
  bool is_too_long();

 private:
  /// Counts a question while it is answered.
  class Nested {
   public:
    explicit Nested(int& depth) : depth_(depth) { ++depth_; }
    ~Nested() { --depth_; }
    Nested(const Nested&) = delete;
    Nested& operator=(const Nested&) = delete;

   private:
    int& depth_;
  };

  const Domain& tile() const { return domains_.front(); }
  DependsOn depends(const llvm::Value* value) const { return sides_.depends(value); }
  bool is_uniform(const llvm::Value* value) const {
    return !depends(value).has(DependsOn::q | DependsOn::kv | DependsOn::score);
  }
  llvm::Value* argument(ClassArg which) const { return class_argument(class_, which); }
  llvm::Value* end_of(int summary, bool is_high) const {
    return summary_end(class_, summary, is_high, mask_);
  }
  /// The value at the tile's first element.
  llvm::Value* corner(llvm::Value* value) const;
  AbstractInt integer(llvm::Value* value, const Domain& where);
  AbstractInt interpret(llvm::Instruction& instruction, const Domain& where);
  llvm::Value* may(llvm::Value* condition, bool wanted, const Domain& where);
  AbstractBool boolean(llvm::Value* value, const Domain& where) {
    return {may(value, true, where), may(value, false, where)};
  }
  llvm::Value* operands_are_points(llvm::Instruction& instruction);
  llvm::Value* find_is_point(llvm::Value* value);
  /// Remembers what keeps bounds from being exact.
  void note(const std::string& what);
  void note_imprecise(const llvm::Instruction& instruction);

  // integer.cpp
  /// Exact where every operand is the same over the tile; else anything.
  AbstractInt fallback(llvm::Instruction& instruction, std::int64_t min = kI32Min,
                       std::int64_t max = kI32Max);
  AbstractInt transfer_integer(llvm::Instruction& instruction, const Domain& where);
  AbstractInt transfer_division(llvm::Instruction& instruction, const Domain& where);
  AbstractInt transfer_and(llvm::Instruction& instruction, const Domain& where);
  AbstractInt transfer_or_xor(llvm::Instruction& instruction, const Domain& where);
  AbstractInt transfer_select(llvm::SelectInst& select, const Domain& where);
  AbstractInt transfer_call(llvm::CallInst& call, const Domain& where);

  // float.cpp
  AbstractFloat real(llvm::Value* value, const Domain& where);
  AbstractFloat transfer_float(llvm::Instruction& instruction, const Domain& where);
  AbstractFloat transfer_product(llvm::Instruction& instruction, const Domain& where);
  AbstractFloat transfer_float_call(llvm::CallInst& call, const Domain& where);
  AbstractFloat float_fallback(llvm::Instruction& instruction, const Domain& where);
  AbstractFloat find_real(llvm::Value* value, const Domain& where);
  /// llvm.fptosi.sat: towards zero.
  AbstractInt truncated(llvm::CallInst& conversion, const Domain& where);
  std::optional<AbstractBool> compare_floats(llvm::FCmpInst& compare, const Domain& where);

  // boolean.cpp
  llvm::Value* interpret(llvm::Instruction& condition, bool wanted, const Domain& where);
  Literal literal(llvm::Value* condition, bool wanted) const;
  llvm::Value* may_hold(const Literal& literal, const Domain& where);
  AbstractBool compare(const Literal& literal, const Domain& where);
  std::optional<AbstractBool> compare_bits(const Literal& literal, const Domain& where);
  std::optional<AbstractBool> compare_remainders(const Literal& literal, const Domain& where);
  /// x <u y; nothing where both may be negative.
  std::optional<AbstractBool> unsigned_less(const AbstractInt& x, const AbstractInt& y, const Domain& where);

  // ../together.cpp
  void flatten(llvm::Value* condition, bool wanted, bool conjunction, std::vector<Literal>& literals) const;
  /// The ways a literal can hold, each a conjunction; one way, itself, where it is no choice.
  std::vector<std::vector<Literal>> ways(const Literal& literal) const;
  /// Whether all may hold at one element.
  llvm::Value* may_all_hold(const std::vector<Literal>& literals, const Domain& where);
  llvm::Value* may_all_hold_at_once(const std::vector<Literal>& literals, const Domain& where);
  llvm::Value* may_any_hold(const std::vector<Literal>& literals, const Domain& where);
  /// Conditions of rows or of columns alone by which the mask chooses between numbers.
  std::vector<llvm::Value*> cases() const;
  /// `may`, of the box's parts that each of `cases` splits it into.
  llvm::Value* may_by_cases(llvm::Value* condition, bool wanted, std::vector<llvm::Value*> cases,
                            const Domain& where);
  bool reads_box(const llvm::Value* value);
  bool reads_box(const Literal& literal);

  // ../narrow.cpp
  Narrowing narrowing(const Literal& literal, const Domain& where);
  /// Narrows to where `value` is at least lo and at most hi (either may be null).
  void narrow(Narrowing& result, llvm::Value* value, llvm::Value* lo, llvm::Value* hi, const Domain& where,
              int depth);
  void narrow_dividend(Narrowing& result, llvm::Value* x, llvm::Value* by, llvm::Value* lo, llvm::Value* hi,
                       const Domain& where, int depth);

  llvm::Function& mask_;
  const MaskSides& sides_;
  llvm::Function& class_;
  std::deque<Domain> domains_;  // the tile's first, then narrower boxes
  std::unordered_map<const llvm::Value*, llvm::Value*> corner_;
  std::map<std::tuple<const llvm::Value*, const Domain*>, AbstractInt> integers_;
  std::map<std::tuple<const llvm::Value*, const Domain*>, AbstractFloat> reals_;
  std::map<std::tuple<const llvm::Value*, bool, const Domain*>, llvm::Value*> conditions_;
  std::map<const llvm::Value*, llvm::Value*> points_;
  std::map<const llvm::Value*, bool> reads_box_;
  std::vector<std::string> imprecise_;
  int depth_ = 0;  // of nested questions
  int asked_ = 0;  // questions since the beginning: the length is looked at now and then alone
  bool is_too_long_ = false;
};

}  // namespace fa
