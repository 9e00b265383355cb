// A view of an array's memory: what the arguments of a call are made from.
#pragma once

#include <nanobind/ndarray.h>

#include <cstdint>
#include <vector>

#include "fa/kernel.h"

namespace fa::python {

struct View {
  void* data = nullptr;
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape, strides;  // in elements
  int device_type = 1;  // as DLPack counts: 1 the CPU, 2 CUDA, 3 pinned, 13 managed memory
  int device_id = 0;
  nanobind::ndarray<nanobind::ro>
      owner{};  // keeps the memory; of a view made from an address the caller does

  /// As q, k, v or o. Throws ArgumentError that names the array where it has not four dimensions.
  Tensor tensor(const char* name) const;
  /// As a captured tensor; `name` must outlive the result. Throws ArgumentError where it is not contiguous.
  Captured captured(std::string_view name) const;
  bool is_contiguous() const;
};

}  // namespace fa::python
