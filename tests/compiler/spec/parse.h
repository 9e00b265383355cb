// Specs of a few lines, and what the checker folds an expression into.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "fa/spec.h"
#include "tests/catch.h"

namespace fa::test {

inline Spec parse(const std::string& lines) { return Spec::parse("attention a\n" + lines + "\n", "test"); }

inline std::int32_t i32(const std::string& expr) {
  INFO(expr);
  return std::get<std::int32_t>(parse("param x : i32 = " + expr).params().at(0).default_value);
}

inline float f32(const std::string& expr) {
  INFO(expr);
  return std::get<float>(parse("param x : f32 = " + expr).params().at(0).default_value);
}

}  // namespace fa::test
