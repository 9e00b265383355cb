// A kernel's passes in a bundle's manifest.
#pragma once

#include "compiler/program/pass.h"
#include "runtime/bundle/fields.h"

namespace fa {

nlohmann::json print_passes(const Program& program);

/// Whose passes they are: either direction has grids of its own.
enum class Direction : std::uint8_t { forward, backward };

/// Reads the field "passes" of `fields`. Throws BundleError where they are none that Facet writes.
Program parse_passes(Fields& fields, Direction direction);

}  // namespace fa
