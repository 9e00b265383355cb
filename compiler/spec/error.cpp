// Prints a finding: the line that tools parse, the source line, a caret, the remedy.
#include "fa/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "compiler/spec/source.h"

namespace fa {
namespace {

constexpr std::size_t kShownColumns = 120;  // of one source line; longer ones are shown around the caret

// One string per character, so that a column is an index.
std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> all;
  for (std::size_t at = 0; at < text.size();) {
    const auto length = static_cast<std::size_t>(std::max(1, utf8_length(text, at)));
    all.push_back(text.substr(at, length));
    at += length;
  }
  return all;
}

std::string excerpt(const Diagnostic& finding) {
  const std::vector<std::string_view> shown = characters(finding.source_line);
  const auto caret = static_cast<std::size_t>(std::max(1, finding.place.column)) - 1;
  const std::size_t begin =
      shown.size() <= kShownColumns || caret < kShownColumns / 2 ? 0 : caret - kShownColumns / 2;
  const std::size_t end = std::min(shown.size(), begin + kShownColumns);

  std::string text = begin > 0 ? "..." : "";
  std::string marks = begin > 0 ? "   " : "";
  for (std::size_t i = begin; i < end; ++i) text += shown[i];
  if (end < shown.size()) text += "...";
  for (std::size_t i = begin; i < caret; ++i) marks += i < shown.size() && shown[i] == "\t" ? '\t' : ' ';
  marks += '^';
  const auto length = static_cast<std::size_t>(std::max(1, finding.length));
  for (std::size_t i = caret + 1; i < std::min(caret + length, end); ++i) marks += '~';
  return fmt::format("{:>4} | {}\n     | {}\n", finding.place.line, text, marks);
}

std::string render_all(const std::vector<Diagnostic>& findings) {
  std::string all;
  for (const Diagnostic& finding : findings) all += finding.render();
  if (all.ends_with('\n')) all.pop_back();
  return all;
}

}  // namespace

std::string Diagnostic::render() const {
  const char* word = severity == Severity::error ? "error" : "warning";
  std::string text = place.line == 0 ? fmt::format("{}: {}: {}\n", place.file, word, message)
                                     : fmt::format("{}:{}:{}: {}: {}\n", place.file, place.line, place.column,
                                                   word, message);
  if (!source_line.empty()) text += excerpt(*this);
  if (!remedy.empty()) text += fmt::format("help: {}\n", remedy);
  return text;
}

SpecError::SpecError(std::vector<Diagnostic> diagnostics)
    : Error(render_all(diagnostics)), diagnostics_(std::move(diagnostics)) {}

}  // namespace fa
