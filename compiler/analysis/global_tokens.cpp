#include "compiler/analysis/global_tokens.h"

#include "compiler/analysis/mask_samples.h"

namespace fa {
namespace {

constexpr int kSamples = 32;
constexpr int kMany = kSamples / 4;
constexpr int kTimesAsMany = 4;

enum class Side { row, key };

/// Of samples all over the sequence, how many the token keeps as a row, or is kept by as a key; -1 where that is not known.
int count_kept(MaskSamples& mask, int token, Side side) {
  const int step = mask.length() / kSamples;
  int count = 0;
  for (int i = 0; i < kSamples; ++i) {
    const int other = i * step + i * 37 % step;  // at no regular distance, which a mask may keep
    const std::optional<bool> is_kept =
        side == Side::row ? mask.keeps(token, other) : mask.keeps(other, token);
    if (!is_kept) return -1;
    count += *is_kept;
  }
  return count;
}

bool is_first_global(MaskSamples& mask, Side side) {
  const int first = count_kept(mask, 0, side);
  return first >= kMany && first >= kTimesAsMany * count_kept(mask, mask.length() / 2, side);
}

}  // namespace

GlobalTokens find_global_tokens(MaskSamples& mask) {
  return {.see = is_first_global(mask, Side::row), .are_seen = is_first_global(mask, Side::key)};
}

}  // namespace fa
