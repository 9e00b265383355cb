#include "python/src/view.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "fa/error.h"
#include "python/src/bind.h"
#include "python/src/dtype.h"

namespace nb = nanobind;

namespace fa::python {
namespace {

using Array = nb::ndarray<nb::ro>;

/// `dtype` says what NumPy cannot: that an array of 16-bit integers holds bf16.
View view_of(Array array, const std::optional<std::string>& dtype) {
  View view;
  view.data = const_cast<void*>(array.data());
  view.dtype = dtype ? dtype_named(*dtype) : dtype_of(array.dtype());
  for (std::size_t d = 0; d < array.ndim(); ++d) {
    view.shape.push_back(static_cast<std::int64_t>(array.shape(d)));
    view.strides.push_back(array.stride(d));
  }
  view.device_type = array.device_type();
  view.device_id = array.device_id();
  view.owner = std::move(array);
  return view;
}

View view_at(std::uintptr_t data, const std::string& dtype, std::vector<std::int64_t> shape,
             std::vector<std::int64_t> strides) {
  View view;
  view.data = reinterpret_cast<void*>(data);
  view.dtype = dtype_named(dtype);
  view.shape = std::move(shape);
  view.strides = std::move(strides);
  return view;
}

}  // namespace

Tensor View::tensor(const char* name) const {
  if (shape.size() != 4) {
    throw ArgumentError(std::string(name) + " has " + std::to_string(shape.size()) +
                        " dimensions: it must have four, [batch, heads, length, dim]");
  }
  Tensor tensor{.data = data, .dtype = dtype};
  for (std::size_t d = 0; d < 4; ++d) {
    tensor.shape[d] = shape[d];
    tensor.strides[d] = strides[d];
  }
  return tensor;
}

bool View::is_contiguous() const {
  std::int64_t elements = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 0) return true;
    if (shape[d] != 1 && strides[d] != elements) return false;
    elements *= shape[d];
  }
  return true;
}

Captured View::captured(std::string_view name) const {
  if (shape.size() > static_cast<std::size_t>(kMaxRank)) {
    throw ArgumentError("tensor '" + std::string(name) + "' has " + std::to_string(shape.size()) +
                        " dimensions: it may have " + std::to_string(kMaxRank) + " at most");
  }
  if (!is_contiguous())
    throw ArgumentError("tensor '" + std::string(name) + "' is not contiguous: copy it, row-major");
  Captured captured{
      .name = name, .data = data, .dtype = dtype, .shape = {}, .rank = static_cast<int>(shape.size())};
  for (std::size_t d = 0; d < shape.size(); ++d) captured.shape[d] = shape[d];
  return captured;
}

void bind_view(nb::module_& module) {
  nb::class_<View>(module, "View")
      .def_static("of", &view_of, nb::arg("array"), nb::arg("dtype") = nb::none())
      .def_static("at", &view_at)
      .def_prop_ro("dtype", [](const View& view) { return std::string(dtype_name(view.dtype)); })
      .def_prop_ro("data", [](const View& view) { return reinterpret_cast<std::uintptr_t>(view.data); })
      .def_ro("shape", &View::shape)
      .def_ro("device_type", &View::device_type)
      .def_ro("device_id", &View::device_id)
      .def_prop_ro("is_contiguous", &View::is_contiguous);
}

}  // namespace fa::python
