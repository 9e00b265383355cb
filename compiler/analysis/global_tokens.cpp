#include "compiler/analysis/global_tokens.h"

#include "compiler/analysis/mask_samples.h"

namespace fa {
namespace {

constexpr int kSamples = 32;
// A token is global that keeps a quarter of all others, and four times as many as one in the middle: its tile then takes
// longer than several of the others together. A causal mask's last rows keep twice as many as one in the middle.
constexpr int kMany = kSamples / 4;
constexpr int kTimesAsMany = 4;

enum class Side { row, key };

/// Of samples all over the sequence, how many the token keeps as a row, or is kept by as a key; nothing where that is not known.
std::optional<int> count_kept(MaskSamples& mask, int token, Side side) {
  const int step = mask.length() / kSamples;
  int count = 0;
  for (int i = 0; i < kSamples; ++i) {
    const int other = i * step + i * 37 % step;  // at no regular distance, which a mask may keep
    const std::optional<bool> is_kept =
        side == Side::row ? mask.keeps(token, other) : mask.keeps(other, token);
    if (!is_kept) return {};
    count += *is_kept;
  }
  return count;
}

bool is_first_global(MaskSamples& mask, Side side) {
  const std::optional<int> first = count_kept(mask, 0, side);
  if (!first || *first < kMany) return false;
  const std::optional<int> middle = count_kept(mask, mask.length() / 2, side);
  return middle && *first >= kTimesAsMany * *middle;
}

}  // namespace

GlobalTokens find_global_tokens(MaskSamples& mask) {
  return {.see = is_first_global(mask, Side::row), .are_seen = is_first_global(mask, Side::key)};
}

}  // namespace fa
