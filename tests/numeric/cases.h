// Numeric test cases: a spec on a problem on a device, compared with the fp64 reference; and the choice of
// cases.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "fa/kernel.h"
#include "fa/options.h"
#include "fa/spec.h"
#include "tests/skip.h"
#include "tools/problem/problem.h"
#include "tools/problem/session.h"
#include "tools/reference/error_bound.h"

namespace fa::tools {

Spec load_spec(const std::string& name);  // "causal"

/// A bias for each query and key, from a table of the spec's own type, and nothing else; head_dim 128.
Spec pair_bias_spec(DType dtype);

struct Case {
  std::string spec;  // a file of specs/, without folder and ending
  DType dtype = DType::f32;
  int head_dim = 64;
  int head_dim_v = 0;  // 0: head_dim
  ProblemSize size;
  Layout layout = Layout::bhsd;
  std::string plan;         // empty: the chosen one
  std::string target = {};  // whose kernels; empty: the device's own

  std::string print() const;
  Spec load() const;
  ProblemInputs inputs() const;
};

/// As many cases as it takes for every two values of spec, dtype, head_dim, q_len, kv_len and group size to
/// meet in one of them.
std::vector<Case> covering_cases(const std::vector<DType>& dtypes);

/// The same cases with another GPU's kernels.
std::vector<Case> on_target(std::vector<Case> cases, const std::string& target);

/// The ways in which a GPU's kernels multiply and copy, each as a target that uses it (on any GPU at least as
/// new) and the dtypes it has: the device's own; sm_80's; sm_75's; FFMA on tiles that cp.async brings.
struct Path {
  std::string target;
  std::vector<DType> dtypes;
};
std::vector<Path> gpu_paths();

/// Options that use no cache.
Options uncached(Device device);

/// The kernels that `make` returns for 0 to count - 1, compiled on all cores. The first error is thrown.
std::vector<Kernel> compile_on_all_cores(std::size_t count, const std::function<Kernel(std::size_t)>& make);

/// Compiles each case, runs it on outputs filled with NaN, compares up to `rows` rows; also checks that every
/// element was written. Returns for each case what was wrong, or an empty text.
std::vector<std::string> failures(const std::vector<Case>& cases, Device device, std::int64_t rows = 48);
/// The same for a kernel and a problem at hand.
std::string failure(const Kernel& kernel, const Problem& problem, Layout layout = Layout::bhsd,
                    std::int64_t rows = 48);

/// One forward pass from scratch.
Outputs run_forward(const Kernel& kernel, const Problem& problem, Layout layout = Layout::bhsd);

using tests::skip_without_gpu;

}  // namespace fa::tools
