// Checks for values of fa::DType that are none of its eight enumerators, as a cast in a caller's program can
// make them.
#pragma once

#include <string>

#include "fa/spec.h"

namespace fa {

/// Whether the value is an enumerator of fa/spec.h.
bool is_dtype(DType dtype);
/// The message for a value that is not.
std::string no_dtype(DType dtype);

}  // namespace fa
