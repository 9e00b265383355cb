#include "tools/measure/flops.h"

#include "tools/reference/reference.h"

namespace fa::tools {

CountedFlops count_flops(const Problem& problem, bool every_score) {
  constexpr std::int64_t kSampledRows = 512;
  constexpr double kMaskLanes = 2e7;  // mask evaluations that an exact count may take: part of a second
  const Spec& spec = problem.spec;
  const ProblemSize& size = problem.size;
  const double rows = static_cast<double>(size.batch) * size.num_q_heads * size.q_len;
  const double dense = 2.0 * rows * size.kv_len * (spec.head_dim() + spec.head_dim_v());
  if (every_score || !spec.checked().has_mask_mod() || dense == 0) return {dense, "every score"};
  const bool exact = rows * size.kv_len <= kMaskLanes;
  const auto sample = sample_rows(size, exact ? static_cast<std::int64_t>(rows) : kSampledRows);
  double kept = 0;
  for (const std::int64_t count : count_kept(spec, problem_environment(problem), sample))
    kept += static_cast<double>(count);
  const double share = kept / (static_cast<double>(sample.size()) * size.kv_len);
  return {dense * share, exact ? "the scores kept" : "the scores kept, by a sample"};
}

}  // namespace fa::tools
