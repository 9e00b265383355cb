// Facet's element types by their names, and as DLPack has them.
#pragma once

#include <nanobind/ndarray.h>

#include <string_view>

#include "fa/spec.h"

namespace fa::python {

/// "bf16", "f32", ...; throws ArgumentError that lists them.
DType dtype_named(std::string_view name);
/// Throws ArgumentError where Facet has no such type.
DType dtype_of(nanobind::dlpack::dtype dtype);

}  // namespace fa::python
