// Derivatives as text: a comment a derivative, then the functions, which together are LLVM IR.
#include "compiler/ir/llvm.h"
// after llvm.h
#include <fmt/format.h>

#include "compiler/derive/derive.h"

namespace fa {
namespace {

std::string value_text(const Derived& value) {
  if (const auto number = value.number()) return fmt::format("{}, no code", *number);
  return fmt::format("@{}, {}, depends on {}", value.function->getName().str(), name_of(value.per),
                     value.depends.print());
}

std::string loops_text(const std::vector<DerivedLoop>& loops) {
  std::string text;
  for (std::size_t i = 0; i < loops.size(); ++i)
    text +=
        fmt::format(", %i{} < {}{}", i, loops[i].range ? "a run-time number, at most " : "", loops[i].count);
  return text;
}

std::string adjoint_text(const Adjoint& adjoint, const char* hook) {
  if (adjoint.of == Adjoint::Of::param)
    return fmt::format("; d {} / d {}: {}\n", hook, adjoint.name, value_text(adjoint.value));
  return fmt::format("; d {} / d {}[...] at {}:{}: {}; the element is {}{}\n", hook, adjoint.name,
                     adjoint.line, adjoint.column, value_text(adjoint.value), name_of(adjoint.place),
                     loops_text(adjoint.loops));
}

}  // namespace

std::string_view name_of(Per per) {
  switch (per) {
    case Per::call:
      return "one a call";
    case Per::head:
      return "one a head";
    case Per::row:
      return "one a row";
    case Per::column:
      return "one a column";
    case Per::distance:
      return "one a distance";
    case Per::element:
      break;
  }
  return "one an element";
}

std::optional<double> Derived::number() const {
  if (function != nullptr || !expr) return {};
  return expr->float_value;
}

std::string Derivatives::print() const {
  std::string text = fmt::format("; d score_mod / d score: {}\n", value_text(score_mod.score));
  for (const Adjoint& adjoint : score_mod.adjoints) text += adjoint_text(adjoint, "score_mod");
  for (const Adjoint& adjoint : sink.adjoints) text += adjoint_text(adjoint, "sink");
  llvm::raw_string_ostream stream(text);
  for (const llvm::Function& function : *module) {
    const bool is_derived = function.getName().starts_with("d_") && !function.isDeclaration();
    if (!is_derived) continue;
    stream << "\n";
    function.print(stream);
  }
  return text;
}

}  // namespace fa
