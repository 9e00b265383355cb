// facet._core.Spec: an immutable, checked spec.
#include "fa/spec.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "python/src/bind.h"
#include "python/src/dtype.h"

namespace nb = nanobind;

namespace fa::python {
namespace {

nb::list params(const Spec& spec) {
  nb::list list;
  for (const ParamInfo& param : spec.params()) {
    const nb::object value = std::visit([](auto number) { return nb::cast(number); }, param.default_value);
    const bool is_int = std::holds_alternative<std::int32_t>(param.default_value);
    list.append(nb::make_tuple(param.name, is_int ? "i32" : "f32", value, param.grad));
  }
  return list;
}

nb::list tensors(const Spec& spec) {
  nb::list list;
  for (const TensorInfo& tensor : spec.tensors())
    list.append(
        nb::make_tuple(tensor.name, std::string(dtype_name(tensor.dtype)), tensor.extents, tensor.grad));
  return list;
}

std::vector<std::string> warnings(const Spec& spec) {
  std::vector<std::string> texts;
  for (const Diagnostic& warning : spec.warnings()) texts.push_back(warning.render());
  return texts;
}

}  // namespace

void bind_spec(nb::module_& module) {
  nb::class_<Spec>(module, "Spec")
      .def_static("parse", &Spec::parse, nb::arg("text"), nb::arg("file"))
      .def_static("load", &Spec::load, nb::arg("path"))
      .def("with_head_dim", &Spec::with_head_dim, nb::arg("head_dim"), nb::arg("head_dim_v"))
      .def("with_dtype",
           [](const Spec& spec, const std::string& name) { return spec.with_dtype(dtype_named(name)); })
      .def_prop_ro("name", &Spec::name)
      .def_prop_ro("head_dim", &Spec::head_dim)
      .def_prop_ro("head_dim_v", &Spec::head_dim_v)
      .def_prop_ro("dtype", [](const Spec& spec) { return std::string(dtype_name(spec.dtype())); })
      .def_prop_ro("has_dropout", &Spec::has_dropout)
      .def_prop_ro("has_sink", &Spec::has_sink)
      .def_prop_ro("params", &params)
      .def_prop_ro("tensors", &tensors)
      .def_prop_ro("warnings", &warnings)
      .def_prop_ro("text", &Spec::text);
}

}  // namespace fa::python
