// The canonical text of a spec.
#include "compiler/spec/print.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace fa {
namespace {

// The shortest text that reads back as the same number, and as a float.
std::string floating_text(double value) {
  if (std::isinf(value)) return "inf";
  std::array<char, 32> buffer{};
  const auto [end, status] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  std::string text(buffer.data(), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

bool is_bits(Op op) { return precedence(op) >= Precedence::bit_or && precedence(op) <= Precedence::shift; }

class Printer {
 public:
  // Brackets where the expression binds less tightly than `at_least`.
  void expr(const AstExpr& e, int at_least) {
    const bool operation = e.kind == AstKind::unary || e.kind == AstKind::binary;
    const int own = operation ? precedence(e.op) : static_cast<int>(Precedence::atom);
    if (own < at_least) text_ += '(';
    switch (e.kind) {
      case AstKind::integer:
        text_ += std::to_string(e.int_value);
        break;
      case AstKind::floating:
        text_ += floating_text(e.float_value);
        break;
      case AstKind::boolean:
        text_ += e.int_value != 0 ? "true" : "false";
        break;
      case AstKind::name:
        text_ += e.name;
        break;
      case AstKind::unary:
        text_ += op_text(e.op);
        if (e.op == Op::logical_not) text_ += ' ';
        expr(*e.args[0], own);
        break;
      case AstKind::binary:
        // Operators of equal precedence group to the left; `**` groups to the right; comparisons do not
        // group.
        operand(e, *e.args[0], is_comparison(e.op) || e.op == Op::power ? own + 1 : own);
        text_ += ' ';
        text_ += op_text(e.op);
        text_ += ' ';
        operand(e, *e.args[1], e.op == Op::power ? +Precedence::sign : own + 1);
        break;
      case AstKind::call:
        list(e.name + "(", e.args, ")");
        break;
      case AstKind::index:
        list(e.name + "[", e.args, "]");
        break;
      case AstKind::reduce:
        text_ += std::string(reduction_name(e.reduction)) + "(" + e.name + " < ";
        expr(*e.args[0], Precedence::comparison + 1);
        if (e.args.size() > 2) {
          text_ += " max ";
          expr(*e.args[2], Precedence::comparison + 1);
        }
        text_ += ": ";
        expr(*e.args[1], Precedence::lowest);
        text_ += ')';
        break;
    }
    if (own < at_least) text_ += ')';
  }

  // Few people remember the precedence of bit operators, so next to another operator they always get
  // brackets.
  void operand(const AstExpr& parent, const AstExpr& e, int at_least) {
    const bool clear = e.kind != AstKind::binary || precedence(e.op) == precedence(parent.op) ||
                       (!is_bits(e.op) && !is_bits(parent.op)) ||
                       precedence(parent.op) < Precedence::comparison;
    expr(e, clear ? at_least : static_cast<int>(Precedence::atom));
  }

  void list(std::string_view open, const std::vector<AstPtr>& args, std::string_view close) {
    text_ += open;
    for (std::size_t i = 0; i < args.size(); ++i) {
      if (i > 0) text_ += ", ";
      expr(*args[i], Precedence::lowest);
    }
    text_ += close;
  }

  void item(const AstItem& item) {
    text_ += item_word(item.kind);
    for (const std::string& part : {item.name, item.kind == ItemKind::dtype ? item.type : std::string()}) {
      if (!part.empty()) text_ += " " + part;
    }
    if (item.is_function()) text_ += parameter_list(item);
    const bool typed = item.kind == ItemKind::param || item.kind == ItemKind::tensor;
    if (typed) text_ += " : " + item.type;
    if (item.kind == ItemKind::tensor) list("[", item.extents, "]");
    if (!item.from.path.empty()) text_ += " from \"" + item.from.path + "\"";
    if (item.value) {
      const bool defines = typed || item.kind == ItemKind::let || item.kind == ItemKind::score_mod ||
                           item.kind == ItemKind::mask_mod;
      text_ += defines ? " = " : " ";
      expr(*item.value, Precedence::lowest);
    }
    if (item.has_grad) text_ += " grad";
  }

  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace

std::string parameter_list(const AstItem& function) {
  std::string text = "(";
  for (const AstParameter& parameter : function.parameters)
    text += (text.size() > 1 ? ", " : "") + parameter.name;
  return text + ")";
}

std::string print_expr(const AstExpr& expr) {
  Printer printer;
  printer.expr(expr, Precedence::lowest);
  return printer.take();
}

std::string print_item(const AstItem& item) {
  Printer printer;
  printer.item(item);
  return printer.take();
}

std::string print_spec(const Ast& ast) {
  std::vector<const AstItem*> items;
  for (const AstItem& item : ast.items) items.push_back(&item);
  std::stable_sort(items.begin(), items.end(),
                   [](const AstItem* a, const AstItem* b) { return a->kind < b->kind; });
  std::string text;
  for (const AstItem* item : items) text += print_item(*item) + '\n';
  return text;
}

}  // namespace fa
