#include "tools/tune/shares.h"

#include <algorithm>

namespace fa::tools {

double Shares::of(const Plan& plan, const ProblemSize& size) {
  const std::pair key(size.q_len, size.kv_len);
  auto found = shares_.find(key);
  if (found == shares_.end()) {
    const auto input = std::ranges::find_if(
        inputs_, [&](const ProblemInputs& one) { return std::pair(one.size.q_len, one.size.kv_len) == key; });
    found = shares_.emplace(key, input == inputs_.end() ? std::nullopt : SharesBySize::count(spec_, *input))
                .first;
  }
  return found->second ? found->second->of(plan.tile_q, plan.tile_kv) : 1;
}

}  // namespace fa::tools
