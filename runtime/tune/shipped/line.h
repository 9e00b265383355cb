// A line of a table under tuned/: a plan that ships with Facet, and all that says whom it is for and who found it. It
// outlives templates and NVRTC, which a remembered plan does not: it is a hint, which can cost time and nothing else.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fa/spec.h"
#include "runtime/tune/record.h"

namespace fa {

struct ShippedPlan {
  std::string spec;  // its name: specs/NAME.fa
  DType dtype = DType::bf16;
  int head_dim = 0, head_dim_v = 0;
  /// Of one size. The key's spec is the hash by which `compile` finds the plan, its device where it was measured, its
  /// compiler the NVRTC; `shipped` is the commit that found it.
  TunedPlan tuned;
  bool operator==(const ShippedPlan&) const = default;
};

/// What a plan that was found for a GPU would be in its table. `commit`: of the program that found it. Times are rounded to four
/// digits, dates to days, so that it says no more than was measured.
ShippedPlan shipped_plan(const CheckedSpec& spec, const TunedPlan& found, const std::string& commit);

/// One line, without its end.
std::string encode(const ShippedPlan& plan);
/// Nothing where the line is not as `encode` writes it; then `problem` says what is wrong with it. `gpu`: whose table it is of.
std::optional<ShippedPlan> decode_shipped(std::string_view line, std::string_view gpu, std::string& problem);

}  // namespace fa
