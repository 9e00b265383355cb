// What may surprise in a mask that is not wrong: found by the analysis, or shown by an element of a small
// problem; never guessed.
#pragma once

#include <vector>

#include "fa/error.h"
#include "fa/spec.h"

namespace fa::tools {

/// Warnings about the spec's mask and its reads, in order of place: rows that keep no key, a mask that keeps
/// every key or none, reads that leave their tensor, a mask that skips no tile though it could. What tensors
/// hold is their examples'; a mask that reads one without an example is looked at by the analysis alone.
std::vector<Diagnostic> lint(const Spec& spec);

}  // namespace fa::tools
