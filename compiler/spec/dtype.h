// Element types that a cast has made up: fa::DType has eight, its memory holds any number.
#pragma once

#include <string>

#include "fa/spec.h"

namespace fa {

/// Whether it is one of those that fa/spec.h names.
bool is_dtype(DType dtype);
/// What to say of one that is none.
std::string no_dtype(DType dtype);

}  // namespace fa
