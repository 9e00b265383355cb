// Whole numbers, rounded up.
#pragma once

#include <concepts>
#include <type_traits>

namespace fa {

/// How many parts of `part` hold `whole`. Neither is negative, and `part` is not 0.
template <std::integral Whole, std::integral Part>
  requires(std::is_signed_v<Whole> == std::is_signed_v<Part>)
constexpr auto ceil_div(Whole whole, Part part) {
  using Common = std::common_type_t<Whole, Part>;
  return (Common{whole} + Common{part} - 1) / Common{part};
}

/// The least multiple of `part` that is at least `whole`.
template <std::integral Whole, std::integral Part>
constexpr auto round_up(Whole whole, Part part) {
  return ceil_div(whole, part) * part;
}

}  // namespace fa
