#include "python/src/captured.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <limits>
#include <string>

#include "fa/error.h"
#include "python/src/bind.h"

namespace nb = nanobind;

namespace fa::python {
namespace {

template <class Info>
const Info& named(const std::vector<Info>& infos, const std::string& name, const char* what) {
  const auto found = std::ranges::find(infos, name, &Info::name);
  if (found != infos.end()) return *found;
  std::string names;
  for (const Info& info : infos) names += (names.empty() ? "" : ", ") + info.name;
  throw ArgumentError(std::string(what) + " '" + name + "' is not one of the spec's: it has " +
                      (names.empty() ? "none" : names));
}

Scalar number_for(const ParamInfo& param, nb::handle value) {
  try {
    if (std::holds_alternative<float>(param.default_value))
      return static_cast<float>(nb::cast<double>(nb::float_(value)));
    const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
    if (!index.is_valid()) nb::raise_python_error();
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
    using Limits = std::numeric_limits<std::int32_t>;
    if (overflow != 0 || number < Limits::min() || number > Limits::max())
      throw ArgumentError("param '" + param.name + "' does not fit an i32");
    return static_cast<std::int32_t>(number);
  } catch (const nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
    throw ArgumentError("param '" + param.name + "' is " +
                        (std::holds_alternative<float>(param.default_value) ? "an f32: pass a number"
                                                                            : "an i32: pass an int"));
  }
}

}  // namespace

CapturedSet::CapturedSet(const Spec& spec, const nb::dict& tensors, const nb::dict& params) : spec_(spec) {
  views_.reserve(tensors.size());
  for (const auto& [key, value] : tensors) {
    const TensorInfo& info = named(spec_.tensors(), nb::cast<std::string>(key), "tensor");
    views_.push_back(nb::cast<View>(value));
    tensors_.push_back(views_.back().captured(info.name));
  }
  for (const auto& [key, value] : params) {
    const ParamInfo& info = named(spec_.params(), nb::cast<std::string>(key), "param");
    params_.push_back({.name = info.name, .value = number_for(info, value)});
  }
}

void CapturedSet::fill(ForwardArgs& args) const {
  args.tensors = tensors_;
  args.params = params_;
}

void bind_captured(nb::module_& module) {
  nb::class_<CapturedSet>(module, "Captured")
      .def(nb::init<const Spec&, const nb::dict&, const nb::dict&>(), nb::arg("spec"), nb::arg("tensors"),
           nb::arg("params"));
}

}  // namespace fa::python
