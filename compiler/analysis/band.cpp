#include "compiler/analysis/band.h"

#include <algorithm>

#include "compiler/analysis/mask_samples.h"

namespace fa {
namespace {

constexpr int kSamplesOfOctave = 4;

/// The farthest distance on one side that a row keeps, or a little more: the one before the next sample. Unbounded where
/// a sample of the last octave is kept.
std::optional<int> reach_on_side(MaskSamples& mask, bool is_before) {
  const int length = mask.length();
  int reach = 0;
  bool last_is_kept = false, octave_is_kept = false;
  for (int octave = 1; octave < length; octave *= 2) {
    octave_is_kept = false;
    const int samples = std::min(octave, kSamplesOfOctave);
    for (int i = 0; i < samples; ++i) {
      const int distance = octave + i * octave / samples;
      if (distance >= length) break;
      const std::optional<bool> is_kept = is_before ? mask.keeps(distance, 0) : mask.keeps(0, distance);
      if (!is_kept) return {};
      if (last_is_kept && !*is_kept) reach = distance - 1;
      last_is_kept = *is_kept;
      octave_is_kept |= *is_kept;
    }
  }
  return octave_is_kept ? Band::kUnbounded : reach;
}

}  // namespace

std::optional<int> Band::width() const {
  if (before == kUnbounded || after == kUnbounded) return {};
  return before + after + 1;
}

std::optional<Band> estimate_band(MaskSamples& mask) {
  const std::optional<int> before = reach_on_side(mask, true);
  const std::optional<int> after = reach_on_side(mask, false);
  if (!before || !after) return {};
  return Band{.before = *before, .after = *after};
}

}  // namespace fa
