// Facet's errors as exceptions of the same names. Their classes are Python's own (facet/errors.py), so that they have
// attributes, and are found when the first of them is raised.
#include "fa/error.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "fa/bundle.h"
#include "python/src/bind.h"

namespace nb = nanobind;

namespace fa::python {
namespace {

nb::object class_named(const char* name) { return nb::module_::import_("facet.errors").attr(name); }

void raise(const char* name, const char* what, const char* attribute = nullptr, nb::object value = {}) {
  const nb::object type = class_named(name);
  const nb::object error = type(what);
  if (attribute != nullptr) error.attr(attribute) = value;
  PyErr_SetObject(type.ptr(), error.ptr());
}

nb::list findings(const SpecError& error) {
  const nb::object type = class_named("Diagnostic");
  nb::list list;
  for (const Diagnostic& d : error.diagnostics()) {
    list.append(type(d.place.file, d.place.line, d.place.column, d.message, d.remedy, d.source_line, d.length,
                     d.severity == Diagnostic::Severity::error ? "error" : "warning", d.render()));
  }
  return list;
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const SpecError& error) {
    raise("SpecError", error.what(), "diagnostics", findings(error));
  } catch (const ArgumentError& error) {
    raise("ArgumentError", error.what());
  } catch (const BuildError& error) {
    raise("BuildError", error.what(), "log", nb::str(error.log().data(), error.log().size()));
  } catch (const BundleError& error) {
    raise("BundleError", error.what());
  } catch (const DeviceError& error) {
    raise("DeviceError", error.what(), "code", nb::int_(error.code()));
  } catch (const InternalError& error) {
    raise("InternalError", error.what());
  } catch (const Error& error) {
    raise("Error", error.what());
  }
}

}  // namespace

void bind_errors(nb::module_&) { nb::register_exception_translator(translate); }

}  // namespace fa::python
