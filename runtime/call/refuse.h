// How a call's arguments are refused.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "fa/error.h"

namespace fa {

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> text, Args&&... args) {
  throw ArgumentError(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace fa
