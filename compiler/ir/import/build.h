// Builds the expressions of an imported hook, with the little folding that keeps them as a person would write
// them. Internal to compiler/ir/import.
#pragma once

#include <initializer_list>
#include <optional>
#include <unordered_map>
#include <vector>

#include "compiler/ir/range/bounds.h"
#include "compiler/spec/expr.h"

namespace fa {

class ExprBuilder {
 public:
  /// The place of every node is the spec's line that names the file.
  ExprBuilder(const CheckedSpec& spec, int line, int column) : bounds_(spec), line_(line), column_(column) {}

  ExprPtr integer(std::int64_t value);  // the i32 of its low 32 bits
  ExprPtr real(double value);
  ExprPtr boolean(bool value);
  ExprPtr builtin(Builtin builtin, Type type);
  ExprPtr param(int index, Type type);
  ExprPtr read(int tensor, Type type, std::vector<ExprPtr> indices);

  ExprPtr unary(Op op, ExprPtr x);
  ExprPtr binary(Op op, ExprPtr a, ExprPtr b);
  ExprPtr call(Func func, std::vector<ExprPtr> args);
  ExprPtr cast(Type type, ExprPtr x);
  ExprPtr where(ExprPtr condition, ExprPtr a, ExprPtr b);
  ExprPtr not_(ExprPtr x);
  ExprPtr and_(ExprPtr a, ExprPtr b) { return binary(Op::logical_and, std::move(a), std::move(b)); }
  ExprPtr or_(ExprPtr a, ExprPtr b) { return binary(Op::logical_or, std::move(a), std::move(b)); }

  Interval range(const ExprPtr& x) { return bounds_.range(*x); }
  /// Whether an i32 operation may leave 32 bits.
  bool may_wrap(const ExprPtr& x) { return bounds_.may_wrap(*x); }
  Bounds& bounds() { return bounds_; }
  /// How deep the expression nests.
  int depth(const ExprPtr& x) const;

 private:
  ExprPtr make(Expr node);
  ExprPtr keep(ExprPtr expr);
  ExprPtr compare_flag(Op op, const ExprPtr& flag, const ExprPtr& number);
  ExprPtr balanced(Expr chain);
  std::optional<std::vector<ExprPtr>> operands_of(const Expr& chain);
  struct Signed {
    ExprPtr value;  // null: nothing
    bool negative = false;
  };
  ExprPtr regrouped(Op op, const ExprPtr& a, const ExprPtr& b);
  Signed join(const Signed& a, const Signed& b);

  Bounds bounds_;
  int line_, column_;
  std::vector<ExprPtr> kept_;  // bounds_ knows nodes by address: none may be freed and its place taken
  std::unordered_map<const Expr*, int> depths_;
  int operands_left_ = 1 << 18;  // that operands_of may still look at: many chains may share long parts
};

}  // namespace fa
