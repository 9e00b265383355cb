// Warnings about masks that are not wrong but may surprise. Each is proved by the analysis or shown by an
// element of a small problem, never guessed.
#pragma once

#include <vector>

#include "fa/error.h"
#include "fa/spec.h"

namespace fa::tools {

/// Warnings about the spec's mask and its reads, in order of place: rows that keep no key, a mask that keeps
/// every key or none, reads that leave their tensor, a mask that skips no tile though it could. Tensors hold
/// the values of their examples; a mask that reads a tensor without an example is only analysed.
std::vector<Diagnostic> lint(const Spec& spec);

}  // namespace fa::tools
