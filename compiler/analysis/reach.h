// How far apart the rows and keys are that a relative mask (relative.h) leaves together: a window of few keys wants smaller
// tiles than whole rows do.
#pragma once

#include <optional>

namespace fa {

class MaskSamples;

/// In how many neighbouring keys all those lie that a row keeps, where these are fewer than the sequence has; found by
/// samples in each octave of distances. Nothing where a row keeps keys as far away as the sequence goes, or where the mask
/// reads a tensor. The mask is relative.
std::optional<int> estimate_reach(MaskSamples& mask);

}  // namespace fa
