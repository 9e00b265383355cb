#include "tools/measure/copies.h"

#include <algorithm>

#include "tools/problem/session.h"

namespace fa::tools {
namespace {

constexpr double kCopiesShareOfMemory = 0.5;

std::int64_t tensor_bytes(const Problem& problem) {
  const std::int64_t rows = std::int64_t{problem.size.batch} * problem.size.num_q_heads * problem.size.q_len;
  return static_cast<std::int64_t>(problem.q.bytes.size() + problem.k.bytes.size() + problem.v.bytes.size()) +
         rows * (problem.spec.head_dim_v() * dtype_bytes(problem.spec.dtype()) + 4);
}

}  // namespace

int copies_for(const Target& target, const Problem& problem) {
  if (target.is_host()) return 1;
  const std::int64_t bytes_of_one = tensor_bytes(problem);
  const auto fit =
      static_cast<std::int64_t>(static_cast<double>(target.memory_bytes) * kCopiesShareOfMemory) /
      std::max<std::int64_t>(bytes_of_one, 1);
  return static_cast<int>(
      std::clamp<std::int64_t>(fit, 1, copies_beyond_cache(bytes_of_one, target.l2_bytes)));
}

}  // namespace fa::tools
