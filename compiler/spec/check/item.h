// Puts one item at a time into the checked spec.
#pragma once

#include <optional>
#include <string_view>

#include "compiler/spec/check/scope.h"
#include "compiler/spec/parse/ast.h"
#include "compiler/spec/source.h"
#include "compiler/spec/spec.h"

namespace fa {

class ItemChecker {
 public:
  ItemChecker(const SourceText& source, Findings& findings, Scope& scope, CheckedSpec& spec)
      : source_(source), findings_(findings), scope_(scope), spec_(spec) {}

  /// Every kind of item but head_dim and head_dim_v. Those two come first, since all others may use them as
  /// constants.
  void check(const AstItem& item);
  /// The number a head_dim or head_dim_v states; 128 where it is wrong, reported.
  int head_dim(const AstItem& item);

 private:
  void attention(const AstItem& item);
  void dtype(const AstItem& item);
  void scale(const AstItem& item);
  void param(const AstItem& item);
  void param_default(const AstItem& item, Type type, ParamInfo& info);
  void need_float_for_grad(const AstItem& item, Type type);
  void tensor(const AstItem& item);
  void let(const AstItem& item);
  void function(const AstItem& item);
  void score_mod(const AstItem& item);
  void mask_mod(const AstItem& item);
  void sink(const AstItem& item);
  void dropout(const AstItem& item);

  void declare(const AstItem& item, Symbol symbol);
  void name_length(const AstItem& item);
  std::optional<DType> known_type(const AstItem& item);
  ExprPtr extent(const AstExpr& ast);
  ExprPtr example(const AstExpr& ast, DType dtype, int rank);
  Typed expression(const AstExpr& ast, Room room);
  ExprPtr constant(const AstExpr& ast, std::string_view what);

  const SourceText& source_;
  Findings& findings_;
  Scope& scope_;
  CheckedSpec& spec_;
};

/// Items that give a name a meaning: param, tensor, let.
bool declares(const AstItem& item);

}  // namespace fa
