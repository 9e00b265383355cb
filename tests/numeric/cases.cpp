// Pairwise covering of the cases, and running one.
#include "tests/numeric/cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "tests/catch.h"
#include "tests/golden.h"
#include "tests/pairwise.h"
#include "tools/reference/parallel.h"
#include "tools/reference/reference.h"

namespace fa::tools {

namespace {

constexpr std::array kHeadDims{16, 32, 64, 80, 96, 128, 192, 256};
constexpr std::array kLengths{1, 63, 64, 65, 127, 1000};
constexpr std::array kGroupSizes{1, 2, 4};

/// The first element that a kernel did not write: outputs are filled with NaN before, and no spec here
/// produces one.
std::string unwritten(const Outputs& outputs) {
  for (std::int64_t i = 0; i < outputs.o.elements(); ++i) {
    if (std::isnan(outputs.o.get(i))) return fmt::format("o holds NaN at flat index {}", i);
  }
  for (std::size_t i = 0; i < outputs.lse.size(); ++i) {
    if (std::isnan(outputs.lse[i])) return fmt::format("lse holds NaN at flat index {}", i);
  }
  return {};
}

}  // namespace

Spec load_spec(const std::string& name) { return Spec::load(test::spec_path(name)); }

Spec pair_bias_spec(DType dtype) {
  return Spec::parse(
      fmt::format("attention pair\nhead_dim 128\ndtype {0}\ntensor a : {0}[q_len, kv_len]\n"
                  "score_mod = score + a[q_idx, kv_idx]\n",
                  dtype_name(dtype)));
}

std::string Case::print() const {
  return fmt::format("{} {} d{}{} B{} H{}/{} {}x{}{}{}", spec, dtype_name(dtype), head_dim,
                     head_dim_v != 0 ? fmt::format("v{}", head_dim_v) : "", size.batch, size.num_q_heads,
                     size.num_kv_heads, size.q_len, size.kv_len, layout == Layout::bshd ? " bshd" : "",
                     plan.empty() ? "" : " " + plan) +
         (target.empty() ? "" : " as " + target);
}

Spec Case::load() const {
  return load_spec(spec).with_dtype(dtype).with_head_dim(head_dim, head_dim_v != 0 ? head_dim_v : head_dim);
}

ProblemInputs Case::inputs() const {
  ProblemInputs result;
  result.size = size;
  result.dropout_seed = 0x123456789abcdef0ULL;
  return result;
}

std::vector<Case> covering_cases(const std::vector<DType>& dtypes) {
  const auto specs = test::all_specs();
  const auto choices = test::pairwise(
      {specs.size(), dtypes.size() * kHeadDims.size(), kLengths.size(), kLengths.size(), kGroupSizes.size()});
  std::vector<Case> cases;
  for (const test::Choice& choice : choices) {
    const int group_size = kGroupSizes[choice[4]];
    const int q_len = kLengths[choice[2]];
    cases.push_back({.spec = specs[choice[0]],
                     .dtype = dtypes[choice[1] / kHeadDims.size()],
                     .head_dim = kHeadDims[choice[1] % kHeadDims.size()],
                     .head_dim_v = 0,
                     .size = {.batch = q_len < 1000 ? 2 : 1,
                              .num_q_heads = 4,
                              .num_kv_heads = 4 / group_size,
                              .q_len = q_len,
                              .kv_len = kLengths[choice[3]]},
                     .layout = cases.size() % 2 == 0 ? Layout::bhsd : Layout::bshd,
                     .plan = {}});
  }
  return cases;
}

std::vector<Case> on_target(std::vector<Case> cases, const std::string& target) {
  for (Case& c : cases) c.target = target;
  return cases;
}

std::vector<Path> gpu_paths() {
  return {{.target = "", .dtypes = {DType::bf16, DType::f16, DType::f32}},
          {.target = "a100", .dtypes = {DType::bf16, DType::f16}},
          {.target = "t4", .dtypes = {DType::f16, DType::f32}},
          {.target = "rtx4090", .dtypes = {DType::f32}}};
}

Options uncached(Device device) {
  Options options;
  options.device = device;
  options.disk_cache = false;
  options.memory_cache = false;
  return options;
}

std::vector<Kernel> compile_on_all_cores(std::size_t count, const std::function<Kernel(std::size_t)>& make) {
  std::vector<std::optional<Kernel>> kernels(count);
  parallel_for(static_cast<std::int64_t>(count), 1, [&](std::int64_t at, std::int64_t) {
    const auto i = static_cast<std::size_t>(at);
    kernels[i] = make(i);
  });
  std::vector<Kernel> made;
  for (std::optional<Kernel>& kernel : kernels) made.push_back(std::move(*kernel));
  return made;
}

Outputs run_forward(const Kernel& kernel, const Problem& problem, Layout layout) {
  Session session(problem, kernel.device(), 0, layout);
  session.poison_outputs();
  session.launch(kernel);
  return session.outputs();
}

namespace {

std::string failure_from(const ReferenceRows& reference, const Kernel& kernel, const Problem& problem,
                         Layout layout) {
  const Outputs outputs = run_forward(kernel, problem, layout);
  const auto bound = error_bound(problem.spec.dtype(), problem.spec.head_dim(), problem.size.kv_len);
  const auto comparison = compare(reference, bound, problem.size, outputs.o, outputs.lse);
  if (!comparison.holds()) return comparison.print_worst();
  return unwritten(outputs);
}

/// What the problem of a case is made from.
std::string problem_of(Case c) {
  c.layout = Layout::bhsd;
  c.plan.clear();
  c.target.clear();
  return c.print();
}

}  // namespace

std::string failure(const Kernel& kernel, const Problem& problem, Layout layout, std::int64_t rows) {
  return failure_from(reference_forward(problem, sample_rows(problem.size, rows)), kernel, problem, layout);
}

std::vector<std::string> failures(const std::vector<Case>& cases, Device device, std::int64_t rows) {
  // Compiled on all cores, then run one by one: a kernel takes all cores, or the one GPU, for itself.
  std::vector<std::optional<Kernel>> kernels(cases.size());
  std::vector<std::string> wrong(cases.size());
  parallel_for(static_cast<std::int64_t>(cases.size()), 1, [&](std::int64_t at, std::int64_t) {
    const auto i = static_cast<std::size_t>(at);
    try {
      Options options = uncached(device);
      options.plan = cases[i].plan;
      options.target = cases[i].target;
      kernels[i] = compile(cases[i].load(), options);
    } catch (const BuildError& error) {
      wrong[i] = fmt::format("{}\n{}", error.what(), error.log());
    } catch (const Error& error) {
      wrong[i] = error.what();
    }
  });
  std::string known;  // what `problem` and `reference` are of: cases of one problem stand together
  std::optional<Problem> problem;
  ReferenceRows reference;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!kernels[i]) continue;
    try {
      if (std::string wanted = problem_of(cases[i]); wanted != known) {
        known.clear();
        problem = make_problem(cases[i].load(), cases[i].inputs());
        reference = reference_forward(*problem, sample_rows(problem->size, rows));
        known = std::move(wanted);
      }
      wrong[i] = failure_from(reference, *kernels[i], *problem, cases[i].layout);
    } catch (const Error& error) {
      wrong[i] = error.what();
    }
  }
  return wrong;
}

}  // namespace fa::tools
