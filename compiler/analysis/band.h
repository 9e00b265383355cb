// How far apart the rows and keys are that a relative mask (relative.h) leaves together: the tiles that a kernel visits,
// and whether those should be small.
#pragma once

#include <limits>
#include <optional>

namespace fa {

class MaskSamples;

/// The keys of row i lie among i - before ... i + after.
struct Band {
  static constexpr int kUnbounded = std::numeric_limits<int>::max();  // as far as the sequence goes

  int before = kUnbounded, after = kUnbounded;

  bool operator==(const Band&) const = default;
  /// In how many neighbouring keys all those lie that a row keeps, where a long sequence has more.
  std::optional<int> width() const;
};

/// The band of a relative mask, or a little more, found by samples in each octave of distances. Nothing where the mask
/// reads a tensor.
std::optional<Band> estimate_band(MaskSamples& mask);

}  // namespace fa
