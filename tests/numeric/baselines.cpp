// The baselines (docs/baselines.md): every spec against the fp64 reference on the host and on a GPU, and S past 2^31
// elements.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "runtime/cuda/device_memory.h"
#include "tests/catch.h"
#include "tests/golden.h"
#include "tests/numeric/cases.h"
#include "tests/skip.h"

using namespace fa;
using namespace fa::tools;

namespace {

/// Ways in which the baselines multiply and copy: sm_80's kernels built for this GPU and for an A100, sm_75's, FFMA.
std::vector<Path> baseline_paths() {
  std::vector<Path> paths = gpu_paths();
  paths.front().dtypes = {DType::bf16, DType::f16, DType::f32};
  return paths;
}

/// Every case under every plan; the plans of a case share its problem and reference.
void check_on(Device device, const std::vector<Case>& of, const std::string& target,
              const std::vector<std::string>& plans) {
  std::vector<Case> cases;
  for (const Case& c : of)
    for (const std::string& plan : plans) {
      cases.push_back(c);
      cases.back().target = target;
      cases.back().plan = plan;
    }
  const auto wrong = failures(cases, device);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i].print() << ": " << wrong[i]);
    CHECK(wrong[i].empty());
  }
}

void check_all(const std::vector<Case>& cases, const std::string& target, const std::string& plan) {
  check_on(Device::cuda, cases, target, {plan});
}

/// Of cases of the same spec, dtype and lengths' order, one: so few that every run has them.
std::vector<Case> some_of(const std::vector<Case>& cases) {
  std::vector<Case> some;
  std::set<std::tuple<std::string, DType, bool>> met;
  for (const Case& c : cases)
    if (met.emplace(c.spec, c.dtype, c.size.q_len > c.size.kv_len).second) some.push_back(c);
  return some;
}

/// Lengths that end just before, at and just after tiles; head dims that differ.
std::vector<Case> edge_cases(DType dtype) {
  std::vector<Case> cases;
  for (const char* spec : {"full", "causal", "alibi", "gpt_oss", "dropout"})
    for (const auto& [q_len, kv_len] :
         {std::pair{1, 1}, {1, 129}, {17, 16}, {255, 257}, {256, 31}, {320, 1}, {130, 5000}})
      cases.push_back(
          {.spec = spec,
           .dtype = dtype,
           .head_dim = 64,
           .head_dim_v = kv_len == 129 ? 200 : 0,
           .size = {.batch = 3, .num_q_heads = 3, .num_kv_heads = 1, .q_len = q_len, .kv_len = kv_len},
           .layout = Layout::bhsd,
           .plan = {}});
  for (const auto& [head_dim, head_dim_v] :
       {std::pair{192, 128}, {64, 128}, {16, 256}, {40, 24}, {8, 8}, {256, 256}})
    cases.push_back({.spec = "causal",
                     .dtype = dtype,
                     .head_dim = head_dim,
                     .head_dim_v = head_dim_v,
                     .size = {.batch = 1, .num_q_heads = 2, .num_kv_heads = 2, .q_len = 100, .kv_len = 130},
                     .layout = Layout::bshd,
                     .plan = {}});
  return cases;
}

void check_baseline(const std::string& plan) {
  if (skip_without_gpu()) return;
  for (const Path& path : baseline_paths())  // -c "of t4" runs one of them
    DYNAMIC_SECTION("of " << (path.target.empty() ? "this GPU" : path.target)) {
      check_all(covering_cases(path.dtypes), path.target, plan);
      for (const DType dtype : path.dtypes) check_all(edge_cases(dtype), path.target, plan);
    }
}

const std::vector<DType> kAllDtypes = {DType::f32, DType::bf16, DType::f16};

}  // namespace

TEST_CASE("host: baselines of every spec in every dtype are within the bound", "[numeric][baseline]") {
  check_on(Device::host, some_of(covering_cases(kAllDtypes)), "", {"standard", "kv_outer"});
}

TEST_CASE("host: baselines of every spec in every dtype and head_dim are within the bound",
          "[numeric][baseline][slow]") {
  check_on(Device::host, covering_cases(kAllDtypes), "", {"standard", "kv_outer"});
}

TEST_CASE("host: baselines of ragged lengths and head_dims are within the bound", "[numeric][baseline]") {
  check_on(Device::host, edge_cases(DType::f32), "", {"standard", "kv_outer"});
  check_on(Device::host, edge_cases(DType::bf16), "",
           {"standard", "kv_outer", "standard tile_q=16 tile_kv=256"});
  check_on(Device::host, edge_cases(DType::f16), "", {"kv_outer tile_q=160 tile_kv=48"});
}

TEST_CASE("cuda: standard attention of every spec is within its bound", "[numeric][gpu][baseline]") {
  check_baseline("standard");
}

TEST_CASE("cuda: standard attention under other plans is within its bound", "[numeric][gpu][baseline]") {
  if (skip_without_gpu()) return;
  for (const char* plan :
       {"standard tile_q=64 tile_kv=64 warps=4 stages=2", "standard tile_q=128 tile_kv=64 warps=8",
        "standard tile_q=32 tile_kv=192 warps=1 stages=4"})
    check_all(edge_cases(DType::bf16), "", plan);
  // Of tiles this wide an SM's shared memory holds no two stages where heads are 256 wide.
  std::vector<Case> narrow = edge_cases(DType::bf16);
  std::erase_if(narrow, [](const Case& c) { return c.head_dim > 200; });
  check_all(narrow, "", "standard tile_q=64 tile_kv=256 warps=4 stages=2");
}

TEST_CASE("cuda: algorithm 1 of every spec is within its bound", "[numeric][gpu][baseline]") {
  check_baseline("kv_outer");
}

TEST_CASE("cuda: algorithm 1 under other plans is within its bound", "[numeric][gpu][baseline]") {
  if (skip_without_gpu()) return;
  for (const char* plan : {"kv_outer tile_q=64 tile_kv=64 warps=4", "kv_outer tile_q=128 tile_kv=32 warps=8",
                           "kv_outer tile_q=16 tile_kv=48 warps=1"})
    check_all(edge_cases(DType::bf16), "", plan);
  // Warps of several row tiles have registers for narrow heads alone.
  std::vector<Case> narrow = edge_cases(DType::bf16);
  std::erase_if(narrow, [](const Case& c) { return std::max(c.head_dim, c.head_dim_v) > 64; });
  for (const char* plan : {"kv_outer tile_q=48 tile_kv=48 warps=1", "kv_outer tile_q=128 tile_kv=64 warps=4"})
    check_all(narrow, "", plan);
}

TEST_CASE("cuda: S may have more than 2^31 elements", "[numeric][gpu][baseline]") {
  if (skip_without_gpu()) return;
  constexpr std::int64_t kBytes = std::int64_t{5} << 30;
  if (device_memory(CudaDevice::get(0)).free < kBytes + (std::int64_t{1} << 30)) {
    tests::skip("less than 6 GB of the GPU's memory are free");
    return;
  }
  // 2 x 3 heads of 20,000 x 20,000: 2.4e9 elements.
  Case c = {.spec = "causal",
            .dtype = DType::bf16,
            .head_dim = 64,
            .head_dim_v = 0,
            .size = {.batch = 2, .num_q_heads = 3, .num_kv_heads = 3, .q_len = 20000, .kv_len = 20000},
            .layout = Layout::bhsd,
            .plan = {}};
  check_all({c}, "", "standard");
}
