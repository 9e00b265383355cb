// Diagnostics, errors and warnings on stderr.
#include "tools/console/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "tools/console/progress.h"
#include "tools/console/standard_streams.h"
#include "tools/console/text.h"

namespace fa::tools {

namespace {

/// Colours the word for the severity, and prints the place before it in bold.
std::string coloured(const std::string& text, bool is_error) {
  const std::string_view word = is_error ? "error:" : "warning:";
  const auto at = text.find(word);
  if (at == std::string::npos) return text;
  return styled(text.substr(0, at), Style::bold, true) +
         styled(word, is_error ? Style::red : Style::yellow, true) + text.substr(at + word.size());
}

/// Never throws, since errors are reported where nobody catches. The end of the program reports that stderr
/// failed (tools/console/standard_streams.h).
void put(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void say(std::string text, bool is_error) {
  if (text.empty() || text.back() != '\n') text += '\n';
  const ProgressHidden hidden;
  flush_stdout();
  put(takes_colour(STDERR_FILENO) ? coloured(text, is_error) : text);
}

}  // namespace

void report_diagnostic(const Diagnostic& diagnostic) {
  say(diagnostic.render(), diagnostic.severity == Diagnostic::Severity::error);
}

void report_error(std::string_view message, std::string_view remedy) {
  std::string text = fmt::format("facet: error: {}", message);
  if (!remedy.empty())
    text += fmt::format("\n{}{}", remedy.find('\n') == remedy.npos ? "help: " : "", remedy);
  say(std::move(text), true);
}

void report_warning(std::string_view message) { say(fmt::format("facet: warning: {}", message), false); }

}  // namespace fa::tools
