// Spec::build turns parts into canonical text, which is then parsed like any other. Each part is checked to
// be one name or one expression first, so that no part can bring a second item along.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "compiler/spec/dtype.h"
#include "compiler/spec/parse/parser.h"
#include "compiler/spec/print.h"
#include "compiler/spec/words.h"
#include "fa/spec.h"

namespace fa {
namespace {

// The name in a form that fits on a message's first line, without line ends.
std::string shown(std::string_view name) {
  constexpr std::size_t kShown = 40;
  std::string text;
  for (const char c : name.substr(0, kShown)) text += c >= 0x20 && c < 0x7f ? c : '?';
  return name.size() > kShown ? text + "..." : text;
}

class PartsWriter {
 public:
  explicit PartsWriter(const SpecParts& parts) : parts_(parts) {}

  std::string write() {
    line("attention {}", name(parts_.name, "attention"));
    line("head_dim {}", parts_.head_dim);
    if (parts_.head_dim_v != 0) line("head_dim_v {}", parts_.head_dim_v);
    line("dtype {}", dtype(parts_.dtype, "dtype"));
    if (!parts_.scale.empty()) line("scale {}", expression(parts_.scale, "scale"));
    for (const ParamInfo& param : parts_.params) this->param(param);
    for (const SpecParts::Tensor& tensor : parts_.tensors) this->tensor(tensor);
    for (const SpecParts::Let& let : parts_.lets) {
      line("let {}{} = {}", name(let.name, "let"), parameters(let),
           expression(let.value, "let " + shown(let.name)));
    }
    hook("score_mod", parts_.score_mod, parts_.score_mod_from);
    hook("mask_mod", parts_.mask_mod, parts_.mask_mod_from);
    if (!parts_.sink.empty()) line("sink {}", expression(parts_.sink, "sink"));
    if (parts_.dropout >= 0) line("dropout {}", expression(number(parts_.dropout), "dropout"));
    if (std::isnan(parts_.dropout)) refuse("dropout", "dropout is not a number");
    if (!errors_.empty()) throw SpecError(std::move(errors_));
    return std::move(text_);
  }

 private:
  template <typename... Args>
  void line(fmt::format_string<Args...> form, Args&&... args) {
    text_ += fmt::format(form, std::forward<Args>(args)...) + '\n';
  }

  void refuse(const std::string& part, std::string message) {
    errors_.push_back({.place = {.file = fmt::format("<{}>", part)}, .message = std::move(message)});
  }

  std::string name(const std::string& name, const std::string& part) {
    if (is_identifier(name)) return name;
    refuse(part, fmt::format("'{}' is not a name: letters, digits and '_', at most {} of them", shown(name),
                             kMaxNameLength));
    return "broken";
  }

  std::string parameters(const SpecParts::Let& let) {
    if (let.parameters.empty()) return {};
    std::string list;
    for (const std::string& parameter : let.parameters)
      list += (list.empty() ? "" : ", ") + name(parameter, "let " + shown(let.name));
    return "(" + list + ")";
  }

  std::string expression(const std::string& text, const std::string& part) {
    if (text.size() > kMaxSpecBytes) {
      refuse(part,
             fmt::format("the expression is {} bytes long; at most {} are read", text.size(), kMaxSpecBytes));
      return "0";
    }
    const SourceText source(fmt::format("<{}>", part), text);
    Findings findings(source);
    const AstPtr tree = parse_expression(source, findings);
    for (Diagnostic& error : findings.errors()) errors_.push_back(std::move(error));
    return tree ? print_expr(*tree) : "0";
  }

  void hook(const std::string& word, const std::string& value, const std::string& from) {
    if (!value.empty()) line("{} = {}", word, expression(value, word));
    if (from.empty()) return;
    const bool writable =
        std::all_of(from.begin(), from.end(), [](char c) { return c >= 0x20 && c < 0x7f && c != '"'; });
    if (!value.empty()) refuse(word + "_from", fmt::format("{0} and {0}_from are both given", word));
    if (!writable) refuse(word + "_from", fmt::format("'{}' is not a path in printable ASCII", shown(from)));
    line("{} from \"{}\"", word, from);
  }

  // A number in the language's syntax. The language has no NaN, which is refused separately.
  static std::string number(double value) {
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    const std::string text = fmt::format("{}", value);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  }

  void param(const ParamInfo& param) {
    const std::string what = "param " + shown(param.name);
    const bool integer = std::holds_alternative<std::int32_t>(param.default_value);
    std::string value = "0";
    if (integer) {
      value = std::to_string(std::get<std::int32_t>(param.default_value));
    } else if (const float given = std::get<float>(param.default_value); std::isnan(given)) {
      refuse(what, "the default is not a number");
    } else {
      // The shortest decimal that reads back as this float; as a double it would be longer.
      value = std::isinf(given) ? number(given) : fmt::format("{}", given);
      if (value.find_first_of(".ei") == std::string::npos) value += ".0";
    }
    line("param {} : {} = {}{}", name(param.name, "param"), integer ? "i32" : "f32", value,
         param.grad ? " grad" : "");
  }

  std::string_view dtype(DType dtype, const std::string& part) {
    if (!is_dtype(dtype)) refuse(part, no_dtype(dtype));
    return dtype_name(dtype);
  }

  void tensor(const SpecParts::Tensor& tensor) {
    const std::string what = "tensor " + shown(tensor.name);
    std::string extents;
    for (const std::string& extent : tensor.extents) {
      extents += (extents.empty() ? "" : ", ") + expression(extent, what);
    }
    if (tensor.extents.empty())
      refuse(what, "a tensor has at least one dimension; a single number is a param");
    std::string example;
    if (!tensor.example.empty()) example = " = " + expression(tensor.example, what);
    line("tensor {} : {}[{}]{}{}", name(tensor.name, "tensor"), dtype(tensor.dtype, what), extents, example,
         tensor.grad ? " grad" : "");
  }

  const SpecParts& parts_;
  std::string text_;
  std::vector<Diagnostic> errors_;
};

}  // namespace

Spec Spec::build(const SpecParts& parts) {
  return parse(PartsWriter(parts).write(), "<" + shown(parts.name) + ">");
}

}  // namespace fa
