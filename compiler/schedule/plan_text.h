// The words of a plan's text form.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "fa/error.h"

namespace fa {

constexpr std::string_view kPlanSpace = " \t\r\n,";

/// Calls `take` with each word of `text`.
void for_each_word(std::string_view text, const auto& take) {
  for (auto begin = text.find_first_not_of(kPlanSpace); begin != std::string_view::npos;
       begin = text.find_first_not_of(kPlanSpace, begin)) {
    const auto end = std::min(text.find_first_of(kPlanSpace, begin), text.size());
    take(text.substr(begin, end - begin));
    begin = end;
  }
}

/// Throws ArgumentError naming the field.
inline int parse_plan_number(std::string_view field, std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    throw ArgumentError(fmt::format("plan: {} = '{}' is not a number", field, text));
  return number;
}

/// Of a field that is 0 or 1.
inline bool parse_plan_flag(std::string_view field, std::string_view text) {
  const int number = parse_plan_number(field, text);
  if (number != 0 && number != 1)
    throw ArgumentError(fmt::format("plan: {} = {} is neither 0 nor 1", field, number));
  return number == 1;
}

}  // namespace fa
