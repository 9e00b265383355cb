#include "tools/tune/shares.h"

#include <algorithm>

#include "tools/tiles/tile_share.h"

namespace fa::tools {
namespace {

constexpr int kSmallest = 16;  // tiles of 16 x 16 are the most that a plan has

}  // namespace

double Shares::of(const Plan& plan, const ProblemSize& size) {
  if (!is_countable(size)) return 1;
  return counted(size, plan.tile_q, plan.tile_kv).value_or(1);
}

bool Shares::is_countable(const ProblemSize& size) { return counted(size, kSmallest, kSmallest).has_value(); }

std::optional<double> Shares::counted(const ProblemSize& size, int tile_q, int tile_kv) {
  const auto key = std::tuple{size.q_len, size.kv_len, tile_q, tile_kv};
  if (const auto found = shares_.find(key); found != shares_.end()) return found->second;
  const auto input = std::ranges::find_if(inputs_, [&](const ProblemInputs& one) {
    return one.size.q_len == size.q_len && one.size.kv_len == size.kv_len;
  });
  const std::optional<double> share =
      input == inputs_.end() ? std::nullopt : share_of_tiles(spec_, *input, tile_q, tile_kv);
  shares_.emplace(key, share);
  return share;
}

}  // namespace fa::tools
