// Results of `facet bench`, as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "tools/measure/bench.h"

namespace fa::tools {

/// The device, and what the columns of print_problem are, or of a sweep's tables what is marked.
void print_header(const BenchResult& first, bool is_sweep);

/// The results of one problem: a line, with `all_plans` those of the others below that of the first; or the table of a sweep.
void print_problem(const std::vector<BenchResult>& results, bool all_plans);

/// The same in a record (benchmark_record.h).
nlohmann::json sweep_json(const SweptValue& swept);
nlohmann::json to_json(const BenchResult& result);

}  // namespace fa::tools
