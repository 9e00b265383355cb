// A kernel's passes in a bundle's manifest.
#pragma once

#include "compiler/program/pass.h"
#include "runtime/bundle/fields.h"

namespace fa {

nlohmann::json print_passes(const Program& program);

/// Reads `kernel`'s field "passes". Throws BundleError where they are none that Facet writes.
Program parse_passes(Fields& kernel);

}  // namespace fa
