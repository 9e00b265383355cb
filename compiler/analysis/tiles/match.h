// Division that rounds down, as compiler/ir/math/integer_math writes it: recognised again, so that it is one operation
// of the domain and not five. Internal to compiler/analysis.
#pragma once

#include "compiler/ir/llvm.h"
// after llvm.h
#include <optional>

namespace fa {

/// A remainder of dividend / divisor.
struct Remainder {
  enum class Form {
    floor,           // takes the divisor's sign
    floor_positive,  // the same, by divisors >= 1 only
    is_signed,       // srem: takes the dividend's sign
    is_unsigned      // urem
  };
  llvm::Value* dividend = nullptr;
  llvm::Value* divisor = nullptr;
  Form form = Form::floor;
};

std::optional<Remainder> match_remainder(llvm::Value* value);

/// dividend / divisor rounded down, for divisors >= 1; what else it gives is not looked at.
struct FloorQuotient {
  llvm::Value* dividend = nullptr;
  llvm::Value* divisor = nullptr;
};

/// sdiv with its correction; not `sdiv`, `udiv` or a shift alone.
std::optional<FloorQuotient> match_floor_quotient(llvm::Value* value);

}  // namespace fa
