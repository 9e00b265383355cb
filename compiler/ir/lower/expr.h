// Lowers typed expressions into one LLVM function by IRBuilder. Internal to compiler/ir; lower.cpp drives it.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/ir/hook_ir.h"
#include "compiler/ir/lower/free_loops.h"
#include "compiler/ir/math/integer_math.h"
#include "compiler/ir/range/bounds.h"

namespace llvm {
class Function;
class IRBuilderBase;
class Type;
class Value;
}  // namespace llvm

namespace fa {

/// A reduction is expanded in place up to this many iterations and this many expanded nodes; past either it
/// becomes a counted loop. Straight-line code splits into row, column and element work; a loop is one unit of
/// work.
constexpr int kLargestExpansion = 32;
constexpr int kLargestExpandedNodes = 1024;

/// Lowering recurses from a node to its operands. Where that would go deeper than this, operands are lowered
/// first: derivatives nest several times deeper than hooks, and a caller's thread may have half a MiB of
/// stack.
constexpr int kDeepestLowering = 64;

/// Floats hold every integer from -kExactInFloat to kExactInFloat.
inline constexpr std::int64_t kExactInFloat = std::int64_t{1} << std::numeric_limits<float>::digits;

class ExprLowering {
 public:
  ExprLowering(const CheckedSpec& spec, Bounds& bounds, llvm::Function& function,
               llvm::IRBuilderBase& builder, std::vector<ClampedRead>& clamped);

  /// Before anything is lowered: `index` is the index of the reduction `loop`, which the caller runs.
  void open_loop(int loop, llvm::Value& index);

  /// The value of `expr`, once, at the builder's place.
  llvm::Value* lower_all(const Expr& expr);

 private:
  // Values that are known inside one iteration of the reduction `loop` (-1: in the whole function).
  struct Scope {
    int loop = -1;
    llvm::Value* variable = nullptr;
    std::unordered_map<const Expr*, llvm::Value*> values;
    std::unordered_map<const Expr*, llvm::Value*> floats;  // exact float images of integers
  };

  /// Equal nodes give the same value.
  llvm::Value* lower(const Expr& expr);
  llvm::Value* lower_new(const Expr& expr);
  void find_steps(const Expr& expr);
  void lower_steps(int loop);
  llvm::Value* lower_literal(const Expr& expr);
  llvm::Value* lower_unary(const Expr& expr);
  llvm::Value* lower_binary(const Expr& expr);
  llvm::Value* lower_call(const Expr& expr);
  llvm::Value* lower_cast(const Expr& expr);
  Known known(const Expr& expr);

  // compare.cpp
  llvm::Value* lower_int_compare(const Expr& expr);
  struct Sum;
  llvm::Value* compare_by_side(Op op, Sum& sum);
  llvm::Value* compare_magnitude(Op op, const Expr& inner, const Expr& limit);
  llvm::Value* compare_remainder(Op op, const Expr& remainder);
  Sum gather(const Expr& left, const Expr& right);
  llvm::Value* side_of(const Sum& sum, bool column, int sign, std::int64_t constant);
  llvm::Value* exact_float(const Expr& expr);
  llvm::Value* exact_float_new(const Expr& expr);

  // read.cpp
  llvm::Value* lower_read(const Expr& expr);
  bool is_expanded(const Expr& expr);
  llvm::Value* lower_index(const Expr& read, std::size_t dimension, const Expr& extent);

  // reduce.cpp
  llvm::Value* lower_reduce(const Expr& expr);
  llvm::Value* expand(const Expr& expr);
  llvm::Value* loop(const Expr& expr);
  llvm::Value* neutral(const Expr& reduce);
  llvm::Value* where_reached(const Expr& reduce, int iteration, llvm::Value* value);
  llvm::Value* combine(const Expr& reduce, llvm::Value* a, llvm::Value* b);
  void hoist(const Expr& expr, int loop);
  int expanded_nodes(const Expr& expr, int loop);
  bool is_open(int loop) const;
  Scope& scope_of(const Expr& expr);

  llvm::Value* argument(HookArgKind kind, int index);
  llvm::Value* int_constant(std::int64_t value);
  llvm::Value* min_max(bool is_max, llvm::Value* a, llvm::Value* b);
  llvm::Value* call_declared(std::string_view name, const Expr& call);

  const CheckedSpec& spec_;
  Bounds& bounds_;
  llvm::Function& function_;
  llvm::IRBuilderBase& builder_;
  std::vector<ClampedRead>& clamped_;
  HookSignature args_;
  std::vector<Scope> scopes_;
  FreeLoops free_loops_;
  std::vector<const Expr*> steps_;  // nodes that are lowered before their users, operands first
};

}  // namespace fa
