// NumPy's .npy files. f16, f32, i32, i8 and bool are NumPy's own types. NumPy has no bf16: a bf16 tensor is
// written as f32 (exact), and an f32 file is rounded to nearest even where bf16 or f16 is asked for; `<V2`
// files, which ml_dtypes.bfloat16 arrays become, are read as bf16 bits.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "tools/problem/host_tensor.h"

namespace fa::tools {

/// The header of a .npy file.
struct NpyHeader {
  std::string descr;  // "<f4"
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
  std::size_t data_offset = 0;
};

/// Reads only the header. Throws ArgumentError where the file is missing, damaged or not a .npy file.
NpyHeader read_npy_header(const std::string& path);
/// The same from a stream that is called `path`.
NpyHeader read_npy_header(std::istream& in, const std::string& path);

/// Reads `path` as the tensor `name`, which must have `dtype` and `shape`. Throws ArgumentError naming the
/// file, the tensor, what was found and what was wanted.
HostTensor read_npy(const std::string& path, const std::string& name, DType dtype,
                    const std::vector<std::int64_t>& shape);

HostTensor read_npy(std::istream& in, const std::string& path, const std::string& name, DType dtype,
                    const std::vector<std::int64_t>& shape);

/// Writes `tensor`, replacing the file only once all of it is written (runtime/system/output.h).
void write_npy(const std::string& path, const HostTensor& tensor);
void write_npy(std::ostream& out, const HostTensor& tensor);

}  // namespace fa::tools
