// Every spec against the fp64 reference, over a pairwise covering of dtypes, head dims, lengths and group
// sizes.
#include <set>
#include <tuple>

#include "tests/catch.h"
#include "tests/golden.h"
#include "tests/numeric/cases.h"

using namespace fa;
using namespace fa::tools;

namespace {

void check_all(const std::vector<Case>& cases, Device device) {
  const auto wrong = failures(cases, device);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i].print() << ": " << wrong[i]);
    CHECK(wrong[i].empty());
  }
}

Case of_lengths(const std::string& spec, DType dtype, const ProblemSize& size) {
  return {.spec = spec,
          .dtype = dtype,
          .head_dim = 64,
          .head_dim_v = 0,
          .size = size,
          .layout = Layout::bhsd,
          .plan = {}};
}

/// Lengths that end just before, at and just after tiles of every size; more keys than queries and the
/// reverse.
std::vector<Case> edge_cases(DType dtype) {
  std::vector<Case> cases;
  for (const char* spec : {"full", "causal", "sliding_window"}) {
    for (const auto& [q_len, kv_len] :
         {std::pair{1, 1}, {1, 129}, {17, 16}, {255, 257}, {256, 31}, {320, 1}}) {
      cases.push_back(of_lengths(
          spec, dtype, {.batch = 3, .num_q_heads = 3, .num_kv_heads = 1, .q_len = q_len, .kv_len = kv_len}));
    }
  }
  return cases;
}

std::vector<Case> value_dim_cases(DType dtype) {
  std::vector<Case> cases;
  for (const auto& [head_dim, head_dim_v] :
       {std::pair{192, 128}, {64, 128}, {128, 64}, {16, 256}, {40, 24}, {8, 8}}) {
    cases.push_back({.spec = "causal",
                     .dtype = dtype,
                     .head_dim = head_dim,
                     .head_dim_v = head_dim_v,
                     .size = {.batch = 1, .num_q_heads = 2, .num_kv_heads = 2, .q_len = 100, .kv_len = 130},
                     .layout = Layout::bshd,
                     .plan = {}});
  }
  return cases;
}

/// Rows of several groups of 32 tiles, the last of them ragged: tile classes are asked for groups first.
std::vector<Case> long_cases(DType dtype) {
  std::vector<Case> cases;
  for (const std::string& spec : test::all_specs()) {
    for (const auto& [q_len, kv_len] : {std::pair{150, 7000}, {4300, 4300}}) {
      if (q_len > 1000 && spec != "causal" && spec != "t5_bias" && spec != "document") continue;
      cases.push_back(of_lengths(
          spec, dtype, {.batch = 1, .num_q_heads = 2, .num_kv_heads = 1, .q_len = q_len, .kv_len = kv_len}));
    }
  }
  return cases;
}

/// Every head dim from 16 to 256, each with a head_dim_v of its own.
std::vector<Case> head_dim_cases(DType dtype) {
  std::vector<Case> cases;
  for (int head_dim = 16; head_dim <= 256; head_dim += 8) {
    cases.push_back({.spec = head_dim % 16 == 0 ? "sliding_window_alibi" : "dropout",
                     .dtype = dtype,
                     .head_dim = head_dim,
                     .head_dim_v = 16 + head_dim * 88 % 248,
                     .size = {.batch = 1, .num_q_heads = 2, .num_kv_heads = 1, .q_len = 70, .kv_len = 150},
                     .layout = Layout::bshd,
                     .plan = {}});
  }
  return cases;
}

}  // namespace

TEST_CASE("the covering meets every spec, dtype and head_dim, and every two lengths", "[numeric]") {
  const auto cases = covering_cases({DType::f32, DType::bf16});
  std::set<std::tuple<std::string, DType, int>> kernels;
  std::set<std::pair<int, int>> lengths;
  std::set<std::pair<std::string, int>> groups;
  for (const Case& c : cases) {
    kernels.emplace(c.spec, c.dtype, c.head_dim);
    lengths.emplace(c.size.q_len, c.size.kv_len);
    groups.emplace(c.spec, c.size.num_q_heads / c.size.num_kv_heads);
  }
  CHECK(kernels.size() == test::all_specs().size() * 2 * 8);
  CHECK(lengths.size() == 36);
  CHECK(groups.size() == test::all_specs().size() * 3);
}

TEST_CASE("the comparison notices the kernel of another spec", "[numeric]") {
  ProblemInputs inputs;
  inputs.size = {.batch = 1, .num_q_heads = 1, .num_kv_heads = 1, .q_len = 65, .kv_len = 65};
  const Problem problem = make_problem(load_spec("causal"), inputs);
  CHECK(failure(compile(load_spec("causal"), uncached(Device::host)), problem).empty());
  CHECK(!failure(compile(load_spec("full"), uncached(Device::host)), problem).empty());
}

TEST_CASE("host: every spec is within its bound of the reference", "[numeric][slow]") {
  check_all(covering_cases({DType::f32, DType::bf16, DType::f16}), Device::host);
}

TEST_CASE("host: ragged lengths are within the bound", "[numeric]") {
  for (const DType dtype : {DType::f32, DType::bf16}) check_all(edge_cases(dtype), Device::host);
}

TEST_CASE("host: head_dim_v may differ from head_dim", "[numeric]") {
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16})
    check_all(value_dim_cases(dtype), Device::host);
}

TEST_CASE("cuda: every spec is within its bound of the reference, on every path", "[numeric][gpu]") {
  if (skip_without_gpu()) return;
  for (const Path& path : gpu_paths())  // -c "of t4" runs one of them
    DYNAMIC_SECTION("of " << (path.target.empty() ? "this GPU" : path.target)) {
      check_all(on_target(covering_cases(path.dtypes), path.target), Device::cuda);
    }
}

TEST_CASE("cuda: ragged lengths are within the bound, on every path", "[numeric][gpu]") {
  if (skip_without_gpu()) return;
  for (const Path& path : gpu_paths())
    for (const DType dtype : path.dtypes) check_all(on_target(edge_cases(dtype), path.target), Device::cuda);
}

TEST_CASE("host: rows of several groups of tiles are within the bound", "[numeric][slow]") {
  check_all(long_cases(DType::f32), Device::host);
}

TEST_CASE("cuda: rows of several groups of tiles are within the bound, on every path", "[numeric][gpu]") {
  if (skip_without_gpu()) return;
  for (const Path& path : gpu_paths())
    for (const DType dtype : path.dtypes) check_all(on_target(long_cases(dtype), path.target), Device::cuda);
}

TEST_CASE("cuda: head_dim_v may differ from head_dim, on every path", "[numeric][gpu]") {
  if (skip_without_gpu()) return;
  for (const Path& path : gpu_paths())
    for (const DType dtype : path.dtypes)
      check_all(on_target(value_dim_cases(dtype), path.target), Device::cuda);
}

TEST_CASE("cuda: every head_dim that is a multiple of 8, on every path", "[numeric][gpu]") {
  if (skip_without_gpu()) return;
  for (const Path& path : gpu_paths())
    for (const DType dtype : path.dtypes)
      check_all(on_target(head_dim_cases(dtype), path.target), Device::cuda);
}
