#include "compiler/schedule/band_share.h"

#include <algorithm>

#include "compiler/spec/arithmetic.h"

namespace fa {
namespace {

constexpr std::int64_t kMostRows = 64;  // of tiles that are looked at: the others lie evenly between these

}  // namespace

double share_of_band(const Facts& facts, const Plan& plan, const ProblemSize& size) {
  if (!facts.mask_band || size.q_len <= 0 || size.kv_len <= 0) return 1;
  const Band& band = *facts.mask_band;
  const std::int64_t rows = ceil_div(size.q_len, plan.tile_q);
  const std::int64_t columns = ceil_div(size.kv_len, plan.tile_kv);
  const std::int64_t samples = std::min(rows, kMostRows);
  std::int64_t visited = 0;
  for (std::int64_t i = 0; i < samples; ++i) {
    const std::int64_t row = (2 * i + 1) * rows / (2 * samples);
    const std::int64_t first_q = row * plan.tile_q;
    const std::int64_t last_q = std::min<std::int64_t>(first_q + plan.tile_q, size.q_len) - 1;
    const std::int64_t first = std::max<std::int64_t>(0, first_q - band.before);
    const std::int64_t last = std::min<std::int64_t>(size.kv_len - 1, last_q + band.after);
    if (first <= last) visited += last / plan.tile_kv - first / plan.tile_kv + 1;
  }
  return static_cast<double>(visited) / static_cast<double>(samples * columns);
}

}  // namespace fa
