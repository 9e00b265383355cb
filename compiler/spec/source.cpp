// Turns offsets into places, and sorts findings by place.
#include "compiler/spec/source.h"

#include <algorithm>
#include <utility>

namespace fa {
namespace {

// A file with more findings than this is not a spec, and more lines would help nobody.
constexpr std::size_t kMaxFindings = 50;

bool ascii(char c) { return static_cast<unsigned char>(c) < 0x80; }

std::vector<Diagnostic> in_order(std::vector<Diagnostic> findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
  });
  return findings;
}

}  // namespace

Span join(Span first, Span last) {
  if (first.nowhere()) return last;
  if (last.nowhere()) return first;
  return {.begin = first.begin, .end = std::max(first.end, last.end)};
}

int utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(at);
  if (lead < 0x80) return 1;
  const int length = lead >= 0xf0 && lead < 0xf5 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 0;
  if (length == 0 || lead >= 0xf5 || at + static_cast<std::size_t>(length) > text.size()) return 0;
  for (int i = 1; i < length; ++i) {
    if ((byte(at + static_cast<std::size_t>(i)) & 0xc0) != 0x80) return 0;
  }
  return length;
}

SourceText::SourceText(std::string file, std::string text) : file_(std::move(file)), text_(std::move(text)) {
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = std::min(text_.find('\n', begin), text_.size());
    line_begin_.push_back(begin);
    const auto first = text_.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = text_.begin() + static_cast<std::ptrdiff_t>(end);
    plain_until_.push_back(static_cast<std::size_t>(std::find_if_not(first, last, ascii) - text_.begin()));
    if (end == text_.size()) break;
    begin = end + 1;
  }
}

std::string_view SourceText::text(Span span) const {
  if (span.nowhere() || span.begin > text_.size()) return {};
  return std::string_view(text_).substr(span.begin, span.end - span.begin);
}

int SourceText::column(std::size_t line_index, std::size_t offset) const {
  std::size_t at = std::min(offset, plain_until_[line_index]);
  std::size_t count = at - line_begin_[line_index];
  while (at < offset && at < text_.size()) {
    at += static_cast<std::size_t>(std::max(1, utf8_length(text_, at)));
    ++count;
  }
  return static_cast<int>(count) + 1;
}

Place SourceText::place(Span span) const {
  if (span.nowhere()) return {.file = file_};
  const std::size_t offset = std::min<std::size_t>(span.begin, text_.size());
  const auto next = std::upper_bound(line_begin_.begin(), line_begin_.end(), offset);
  const auto index = static_cast<std::size_t>(next - line_begin_.begin()) - 1;
  return {.file = file_, .line = static_cast<int>(index) + 1, .column = column(index, offset)};
}

std::string SourceText::line(int number) const {
  if (number < 1 || static_cast<std::size_t>(number) > line_begin_.size()) return {};
  const std::size_t begin = line_begin_[static_cast<std::size_t>(number) - 1];
  std::string_view raw = std::string_view(text_).substr(begin, text_.find('\n', begin) - begin);
  if (raw.ends_with('\r')) raw.remove_suffix(1);
  std::string shown;
  for (std::size_t at = 0; at < raw.size();) {
    const auto length = static_cast<std::size_t>(utf8_length(raw, at));
    const auto c = static_cast<unsigned char>(raw[at]);
    const bool control =
        (c < 0x20 && c != '\t') || c == 0x7f || (length == 2 && c == 0xc2 && raw[at + 1] < '\xa0');
    if (length == 0 || control) {
      shown += '?';
    } else {
      shown += raw.substr(at, length);
    }
    at += std::max<std::size_t>(1, length);
  }
  return shown;
}

int SourceText::columns(Span span) const {
  if (span.nowhere()) return 1;
  const std::string_view all = text_;
  std::size_t end = std::min({static_cast<std::size_t>(span.end), all.size(), all.find('\n', span.begin)});
  int count = 0;
  for (std::size_t at = span.begin; at < end; ++count)
    at += static_cast<std::size_t>(std::max(1, utf8_length(all, at)));
  return std::max(1, count);
}

Diagnostic Findings::diagnostic(Diagnostic::Severity severity, Span span, std::string message,
                                std::string remedy) const {
  const Place place = source_.place(span);
  return {.severity = severity,
          .place = place,
          .message = std::move(message),
          .remedy = std::move(remedy),
          .source_line = source_.line(place.line),
          .length = source_.columns(span)};
}

void Findings::error(Span span, std::string message, std::string remedy) {
  if (errors_.size() == kMaxFindings) return;
  errors_.push_back(diagnostic(Diagnostic::Severity::error, span, std::move(message), std::move(remedy)));
}

void Findings::warning(Span span, std::string message, std::string remedy) {
  if (warnings_.size() == kMaxFindings) return;
  warnings_.push_back(diagnostic(Diagnostic::Severity::warning, span, std::move(message), std::move(remedy)));
}

std::vector<Diagnostic> Findings::errors() const { return in_order(errors_); }
std::vector<Diagnostic> Findings::warnings() const { return in_order(warnings_); }

}  // namespace fa
