// Prints trees as text, one node per line: the syntax tree as written, and the typed tree that the checker
// made of it.
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <unordered_map>

#include "compiler/spec/print.h"
#include "compiler/spec/words.h"

namespace fa {
namespace {

std::string dumped_float(double value) {
  const std::string text = fmt::format("{}", value);
  return text.find_first_of(".ein") == std::string::npos ? text + ".0" : text;
}

class AstDump {
 public:
  explicit AstDump(const Ast& ast) : ast_(ast) {}

  std::string run() {
    for (const AstItem& item : ast_.items) this->item(item);
    return std::move(text_);
  }

 private:
  void line(int indent, std::string_view what, Span span) {
    const Place place = ast_.source->place(span);
    const std::string where = place.line == 0 ? "-" : fmt::format("{}:{}", place.line, place.column);
    text_ += fmt::format("{:<7} {:{}}{}\n", where, "", 2 * indent, what);
  }

  void item(const AstItem& item) {
    std::string what(item_word(item.kind));
    if (!item.name.empty()) what += " " + item.name;
    if (item.is_function()) what += parameter_list(item);
    if (!item.type.empty()) what += " : " + item.type;
    if (!item.from.path.empty()) what += " from " + item.from.path;
    if (item.has_grad) what += " grad";
    line(0, what, item.word_span);
    for (const AstPtr& extent : item.extents) {
      line(1, "extent", extent->span);
      expr(2, *extent);
    }
    if (item.value) expr(1, *item.value);
  }

  void expr(int indent, const AstExpr& e) {
    line(indent, what(e), e.head_span);
    for (const AstPtr& arg : e.args) expr(indent + 1, *arg);
  }

  static std::string what(const AstExpr& e) {
    switch (e.kind) {
      case AstKind::unary:
      case AstKind::binary:
        return fmt::format("{} '{}'", e.kind == AstKind::unary ? "unary" : "binary", op_text(e.op));
      case AstKind::call:
        return "call " + e.name;
      case AstKind::index:
        return "read " + e.name;
      case AstKind::reduce:
        return fmt::format("{} over {}", reduction_name(e.reduction), e.name);
      case AstKind::name:
        return "name " + e.name;
      default:
        return print_expr(e);
    }
  }

  const Ast& ast_;
  std::string text_;
};

class TypedDump {
 public:
  explicit TypedDump(const CheckedSpec& spec) : spec_(spec) {}

  std::string run() {
    text_ += fmt::format("attention {}\nhead_dim {}\nhead_dim_v {}\ndtype {}\nscale {}\n", spec_.name,
                         spec_.head_dim, spec_.head_dim_v, dtype_name(spec_.dtype),
                         static_cast<float>(spec_.scale));
    for (const ParamInfo& param : spec_.params) {
      const bool integer = std::holds_alternative<std::int32_t>(param.default_value);
      text_ += fmt::format("param {} : {} = {}{}\n", param.name, integer ? "i32" : "f32",
                           integer ? std::to_string(std::get<std::int32_t>(param.default_value))
                                   : dumped_float(static_cast<double>(std::get<float>(param.default_value))),
                           param.grad ? " grad" : "");
    }
    for (const CheckedTensor& tensor : spec_.tensors) {
      text_ += fmt::format("tensor {} : {}{}\n", tensor.info.name, dtype_name(tensor.info.dtype),
                           tensor.info.grad ? " grad" : "");
      for (const ExprPtr& extent : tensor.extents) root("  extent", extent, 2);
      if (tensor.example) root("  example", tensor.example, 2);
    }
    hook("score_mod", spec_.score_mod, spec_.score_from);
    hook("mask_mod", spec_.mask_mod, spec_.mask_from);
    if (spec_.sink) root("sink", spec_.sink, 1);
    if (spec_.has_dropout) text_ += fmt::format("dropout {}\n", static_cast<float>(spec_.dropout));
    return std::move(text_);
  }

 private:
  void hook(std::string_view title, const ExprPtr& expr, const HookFile& from) {
    const std::string whence = from.path.empty() ? "" : fmt::format(" from {}", from.path);
    if (expr) {
      root(fmt::format("{}{}", title, whence), expr, 1);
    } else if (!whence.empty()) {
      text_ += fmt::format("{}{}\n", title, whence);
    }
  }

  void root(std::string_view title, const ExprPtr& expr, int indent) {
    text_ += fmt::format("{}\n", title);
    uses_.clear();
    numbers_.clear();
    count(*expr);
    print(*expr, indent);
  }

  // A node that is reached twice is printed once and gets a number: printed each time, the text could double
  // with every `let`.
  void count(const Expr& e) {
    if (++uses_[&e] > 1) return;
    for (const ExprPtr& arg : e.args) count(*arg);
  }

  void print(const Expr& e, int indent) {
    const std::string margin(static_cast<std::size_t>(2 * indent), ' ');
    const bool shared = uses_[&e] > 1 && !e.args.empty();
    if (const auto seen = numbers_.find(&e); seen != numbers_.end()) {
      text_ += fmt::format("{}#{}\n", margin, seen->second);
      return;
    }
    if (shared) numbers_.emplace(&e, static_cast<int>(numbers_.size()) + 1);
    const std::string label = shared ? fmt::format("#{} = ", numbers_.size()) : "";
    text_ += fmt::format("{}{}{} : {}\n", margin, label, what(e), type_name(e.type));
    for (const ExprPtr& arg : e.args) print(*arg, indent + 1);
  }

  /// Numbered in the order in which they are printed. (Their own numbers follow the order of the items in the
  /// text.)
  int loop(const Expr& e) {
    return loops_.try_emplace(e.index, static_cast<int>(loops_.size())).first->second;
  }

  std::string what(const Expr& e) {
    switch (e.kind) {
      case ExprKind::literal:
        if (e.type == Type::boolean) return e.int_value != 0 ? "true" : "false";
        return e.type == Type::i32 ? std::to_string(e.int_value) : dumped_float(e.float_value);
      case ExprKind::builtin:
        return std::string(builtin_info(e.builtin).name);
      case ExprKind::param:
        return "param " + spec_.params[static_cast<std::size_t>(e.index)].name;
      case ExprKind::loop_var:
        return fmt::format("index {}", loop(e));
      case ExprKind::unary:
      case ExprKind::binary:
        return fmt::format("'{}'", op_text(e.op));
      case ExprKind::call:
        return std::string(function_info(e.func).name);
      case ExprKind::cast:
        return "cast";
      case ExprKind::where:
        return "where";
      case ExprKind::read:
        return "read " + spec_.tensor_infos[static_cast<std::size_t>(e.index)].name;
      case ExprKind::reduce:
        return fmt::format("{} over index {} < {}{}", reduction_name(e.reduction), loop(e),
                           e.args.size() > 1 ? "at most " : "", e.count);
    }
    return "?";
  }

  const CheckedSpec& spec_;
  std::string text_;
  std::unordered_map<const Expr*, int> uses_;
  std::unordered_map<const Expr*, int> numbers_;
  std::unordered_map<int, int> loops_;
};

}  // namespace

std::string print_ast(const Ast& ast) { return AstDump(ast).run(); }
std::string print_ast(const CheckedSpec& spec) { return TypedDump(spec).run(); }

}  // namespace fa
