// The parts of the extension module facet._core, one a file.
#pragma once

#include <nanobind/nanobind.h>

namespace fa::python {

void bind_errors(nanobind::module_& module);
void bind_spec(nanobind::module_& module);
void bind_view(nanobind::module_& module);
void bind_captured(nanobind::module_& module);
void bind_kernel(nanobind::module_& module);
void bind_repeated(nanobind::module_& module);
void bind_explain(nanobind::module_& module);

}  // namespace fa::python
