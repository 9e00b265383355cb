// Numbers, lists and colour for people.
#include "tools/console/text.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>

namespace fa::tools {

std::string join(const std::vector<std::string>& parts, std::string_view last) {
  std::string result;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) result += i + 1 == parts.size() ? fmt::format(" {} ", last) : ", ";
    result += parts[i];
  }
  return result;
}

std::string compact(double value) {
  const double magnitude = std::fabs(value);
  if (value == 0) return "0";
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (magnitude >= 1e6 || magnitude < 1e-3) return fmt::format("{:.2e}", value);
  if (magnitude >= 100) return fmt::format("{:.0f}", value);
  if (magnitude >= 10) return fmt::format("{:.1f}", value);
  if (magnitude >= 1) return fmt::format("{:.2f}", value);
  return fmt::format("{:.4f}", value);
}

std::string print_bytes(double bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

std::string print_milliseconds(double milliseconds) {
  if (milliseconds < 1) return fmt::format("{:.3g} us", milliseconds * 1e3);
  if (milliseconds < 1000) return fmt::format("{:.3g} ms", milliseconds);
  return fmt::format("{:.3g} s", milliseconds * 1e-3);
}

std::string with_commas(std::int64_t value) {
  const std::string digits = fmt::format("{}", std::abs(value));
  std::string result = value < 0 ? "-" : "";
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) result += ',';
    result += digits[i];
  }
  return result;
}

bool takes_colour(int file_descriptor) {
  if (isatty(file_descriptor) == 0) return false;
  if (const char* const no_colour = std::getenv("NO_COLOR"); no_colour != nullptr && *no_colour != '\0')
    return false;
  const char* const term = std::getenv("TERM");
  return term != nullptr && std::string_view(term) != "dumb";
}

std::string styled(std::string_view text, Style style, bool colour) {
  if (!colour || style == Style::plain) return std::string(text);
  constexpr std::array kCodes{"0", "1", "2", "1;31", "32", "1;33", "36"};
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<std::size_t>(style)], text);
}

}  // namespace fa::tools
