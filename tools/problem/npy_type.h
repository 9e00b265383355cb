// The types in .npy files: how Facet reads and writes them, and their names in messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fa/spec.h"

namespace fa::tools {

/// The dtype that `descr` ("<f4") is read as; nothing where it is none of Facet's.
std::optional<DType> file_dtype(std::string_view descr);
/// What a tensor of this dtype is written as.
std::string_view file_descr(DType dtype);
/// What to convert to in NumPy so that the file can be read as `dtype`: "np.float32".
std::string_view numpy_type(DType dtype);
/// "float64 ('<f8')", "big-endian float32 ('>f4')", "text ('<U5')"
std::string describe_descr(std::string_view descr);

}  // namespace fa::tools
