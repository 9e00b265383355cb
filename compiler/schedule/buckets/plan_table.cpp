#include "compiler/schedule/buckets/plan_table.h"

#include <algorithm>

namespace fa {

PlanTable single_plan(Choice choice) {
  const double ms = choice.predicted_ms;
  PlanTable table(1);
  table[0].choice = std::move(choice);
  table[0].single_ms = ms;
  return table;
}

CallSize size_of(const ProblemSize& size) {
  return CallSize::of(size.batch, size.num_q_heads,
                      std::max(1, size.num_q_heads / std::max(1, size.num_kv_heads)), size.q_len,
                      size.kv_len);
}

const PlanOfBucket& line_for(const PlanTable& table, const CallSize& size) {
  return *std::find_if(table.begin(), table.end() - 1,
                       [&](const PlanOfBucket& line) { return line.bucket.holds(size); });
}

}  // namespace fa
