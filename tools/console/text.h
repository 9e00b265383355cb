// Small text helpers of the facet command: joined lists, numbers for people, colour where a terminal reads
// it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fa::tools {

/// "a, b and c", or with another word before the last.
std::string join(const std::vector<std::string>& parts, std::string_view last = "and");
/// Five-ish characters: 0.00123, 1.23, 123, 1.2e+06; for tables.
std::string compact(double value);
/// "1.5 KiB", "3.2 GiB"
std::string print_bytes(double bytes);
/// "12.3 us", "4.56 ms", "1.23 s"
std::string print_milliseconds(double milliseconds);
/// 1234567 -> "1,234,567"
std::string with_commas(std::int64_t value);

enum class Style { plain, bold, dim, red, green, yellow, cyan };

/// Whether `file_descriptor` is a terminal that takes colour (NO_COLOR unset, TERM not "dumb").
bool takes_colour(int file_descriptor);
/// Wraps `text` in the style's escape codes where `colour`.
std::string styled(std::string_view text, Style style, bool colour);

}  // namespace fa::tools
