// Syntax trees to typed expressions: names get their meaning, mixed numbers their casts, constants are
// folded.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/spec/check/scope.h"
#include "compiler/spec/parse/ast.h"
#include "compiler/spec/source.h"

namespace fa {

class ExprChecker {
 public:
  ExprChecker(Scope& scope, const SourceText& source, Findings& findings, Context context)
      : scope_(scope), source_(source), findings_(findings), context_(context) {}

  /// Null `expr` where something was reported.
  Typed check(const AstExpr& ast);

  /// Reports what is wrong with a function's body for every choice of arguments.
  void check_body(const AstItem& function);

  /// The expression cast to f32; the expression itself where it is an f32 or null.
  Typed promote(const AstExpr& ast, Typed value);

 private:
  struct Loop {
    std::string name;
    int id = 0;
  };

  // The body of a function is being checked: what its parameters stand for.
  struct Frame {
    const AstItem* function = nullptr;
    const AstExpr* call = nullptr;    // null: its declaration, whose arguments are not known
    std::vector<Typed> args;          // null ones in a declaration
    std::vector<Loop> loops_outside;  // a body does not see the indices around the call
  };

  Typed integer(const AstExpr& ast, bool negated, Span span);
  Typed floating(const AstExpr& ast);
  Typed name(const AstExpr& ast);
  Typed builtin(const AstExpr& ast);
  Typed symbol(const AstExpr& ast, Symbol& symbol);
  Typed not_here(const AstExpr& ast);
  Typed unknown(const AstExpr& ast);
  Typed unary(const AstExpr& ast);
  Typed binary(const AstExpr& ast);
  Typed arithmetic(const AstExpr& ast, Typed left, Typed right);
  Typed compare(const AstExpr& ast, Typed left, Typed right);
  Typed call(const AstExpr& ast);
  Typed call_function(const AstExpr& ast, std::vector<Typed> args);
  Typed call_composite(const AstExpr& ast, Typed x);
  Typed call_where(const AstExpr& ast, std::vector<Typed> args);
  Typed call_unknown(const AstExpr& ast);
  Typed call_user(const AstExpr& ast, Symbol& function);
  Typed inlined(const Frame& frame);
  bool within_budget();
  std::string called_from() const;
  const Typed* parameter(std::string_view name) const;
  Typed too_early(const AstExpr& ast, Span declared);
  Typed power(const AstExpr& ast, Typed base, Typed exponent);
  Typed product_power(const AstExpr& ast, const Typed& base, std::int64_t exponent);
  Typed read(const AstExpr& ast);
  Typed reduce(const AstExpr& ast);
  struct Range {
    int count = 0;  // of iterations, at most; 0: an error was reported
    Typed given{};  // how many there are, where that is known only at run time
    bool is_empty = false;
  };
  Range reduction_range(const AstExpr& ast);
  int constant_count(const AstExpr& ast, std::string_view what);
  bool same_for_a_call(const AstExpr& ast, const Typed& range);
  void declare_loop(const AstExpr& ast);

  bool need_number(const AstExpr& ast, const Typed& value, std::string_view who);
  bool need_integer(const AstExpr& ast, const Typed& value, std::string_view who,
                    std::string_view remedy = {});
  bool need_condition(const AstExpr& ast, const Typed& value, std::string_view who);
  bool unify(const AstExpr& left_ast, const AstExpr& right_ast, Typed& left, Typed& right);

  Typed make(const AstExpr& ast, Expr node, std::vector<Typed> args);
  Typed literal(const AstExpr& ast, const ExprPtr& value);
  Typed operation(const AstExpr& ast, Op op, Typed left, Typed right);
  Typed applied(const AstExpr& ast, Func func, std::vector<Typed> args);
  Typed error(Span span, std::string message, std::string remedy = {});
  void warning(Span span, std::string message, std::string remedy);
  std::vector<std::string_view> visible_names() const;

  Scope& scope_;
  const SourceText& source_;
  Findings& findings_;
  Context context_;
  std::vector<Loop> loops_;
  std::vector<Frame> frames_;  // the calls around, outermost first
  int nesting_ = 0;            // how deep calls of `check` are nested, bodies of functions included
};

/// "a bool", "an i32", "an f32".
std::string_view article_type(Type type);

}  // namespace fa
