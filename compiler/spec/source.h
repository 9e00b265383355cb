// A spec's text, where things stand in it, and the findings about it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "fa/error.h"

namespace fa {

/// People write specs, so a longer file is a mistake. The limit also bounds the work of every later stage.
constexpr std::size_t kMaxSpecBytes = 64 * 1024;

/// Bytes [begin, end) of a spec's text. The default has no place: it is for values that are not in the text.
struct Span {
  static constexpr std::uint32_t kNowhere = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t begin = kNowhere;
  std::uint32_t end = kNowhere;
  bool nowhere() const { return begin == kNowhere; }
};

/// From the beginning of the first to the end of the last.
Span join(Span first, Span last);

/// Bytes of the UTF-8 sequence at text[at], or 0 where there is none (a stray byte).
int utf8_length(std::string_view text, std::size_t at);

/// An immutable text with its line table. Columns count characters, not bytes.
class SourceText {
 public:
  SourceText(std::string file, std::string text);

  const std::string& file() const { return file_; }
  std::string_view text() const { return text_; }
  std::string_view text(Span span) const;

  Place place(Span span) const;        // line 0 where the span stands nowhere
  std::string line(int number) const;  // as shown in messages: control characters and stray bytes become '?'
  int columns(Span span) const;        // characters to underline: within one line, at least 1

 private:
  int column(std::size_t line_index, std::size_t offset) const;

  std::string file_;
  std::string text_;
  std::vector<std::size_t> line_begin_;
  std::vector<std::size_t> plain_until_;  // for each line, where its first byte that is not ASCII stands
};

/// Collects findings and returns them in order of place.
class Findings {
 public:
  explicit Findings(const SourceText& source) : source_(source) {}

  void error(Span span, std::string message, std::string remedy = {});
  void warning(Span span, std::string message, std::string remedy = {});
  bool has_errors() const { return !errors_.empty(); }
  std::size_t num_errors() const { return errors_.size(); }
  std::vector<Diagnostic> errors() const;
  std::vector<Diagnostic> warnings() const;

 private:
  Diagnostic diagnostic(Diagnostic::Severity severity, Span span, std::string message,
                        std::string remedy) const;

  const SourceText& source_;
  std::vector<Diagnostic> errors_;
  std::vector<Diagnostic> warnings_;
};

}  // namespace fa
