// The backward pass on the host against the fp64 reference: every shipped spec, dtypes, shapes, layouts, and
// what hooks capture.
#include <array>

#include "tests/catch.h"
#include "tests/golden.h"
#include "tests/numeric/backward/cases.h"
#include "tests/pairwise.h"

using namespace fa;
using namespace fa::tools;

namespace {

constexpr std::array kDTypes = {DType::f32, DType::bf16, DType::f16};
constexpr std::array kHeadDims = {32, 64, 128, 256};

}  // namespace

TEST_CASE("gradients of plain attention in f32", "[backward]") {
  for (const auto& [q_len, kv_len] : {std::pair{1, 1}, {63, 65}, {100, 37}, {97, 300}})
    for (const int head_dim : {32, 40, 64})
      check_backward(
          {.spec = "full",
           .dtype = DType::f32,
           .head_dim = head_dim,
           .head_dim_v = 0,
           .size = {.batch = 1, .num_q_heads = 2, .num_kv_heads = 2, .q_len = q_len, .kv_len = kv_len},
           .layout = Layout::bhsd,
           .plan = {}});
}

TEST_CASE("gradients of every shipped spec", "[backward]") {
  int number = 0;
  for (const std::string& spec : test::all_specs()) {
    const int i = number++;
    check_backward({.spec = spec,
                    .dtype = kDTypes[static_cast<std::size_t>(i % 3)],
                    .head_dim = kHeadDims[static_cast<std::size_t>(i / 3 % 3)],
                    .head_dim_v = 0,
                    .size = {.batch = 2,
                             .num_q_heads = 4,
                             .num_kv_heads = i % 2 == 0 ? 2 : 4,
                             .q_len = i % 4 == 1 ? 130 : 99,
                             .kv_len = i % 4 == 2 ? 67 : 131},
                    .layout = i % 2 == 0 ? Layout::bhsd : Layout::bshd,
                    .plan = {}});
  }
}

TEST_CASE("gradients where head_dim_v is not head_dim, and neither fills vectors", "[backward]") {
  for (const auto& [head_dim, head_dim_v] : {std::pair{64, 32}, {40, 104}, {8, 24}, {256, 16}})
    for (const DType dtype : {DType::f32, DType::bf16})
      check_backward({.spec = "causal",
                      .dtype = dtype,
                      .head_dim = head_dim,
                      .head_dim_v = head_dim_v,
                      .size = {.batch = 1, .num_q_heads = 6, .num_kv_heads = 2, .q_len = 50, .kv_len = 77},
                      .layout = Layout::bshd,
                      .plan = {}});
}

namespace {

constexpr std::array kQLens = {1, 97, 193, 301};
constexpr std::array kKvLens = {191, 1, 257, 63, 130};
constexpr std::array kKvHeads = {1, 2, 4};

void check_spec(const std::string& spec, DType dtype, int head_dim, std::size_t i, int kv_heads, int q_len,
                int kv_len) {
  check_backward({.spec = spec,
                  .dtype = dtype,
                  .head_dim = head_dim,
                  .head_dim_v = 0,
                  .size = {.batch = i % 3 == 0 ? 2 : 1,
                           .num_q_heads = 4,
                           .num_kv_heads = kv_heads,
                           .q_len = q_len,
                           .kv_len = kv_len},
                  .layout = i % 2 == 0 ? Layout::bhsd : Layout::bshd,
                  .plan = {}});
}

}  // namespace

TEST_CASE("gradients of every two of spec, dtype, head_dim, lengths and heads", "[backward][slow]") {
  const std::vector<std::string> specs = test::all_specs();
  const auto choices = test::pairwise(
      {specs.size(), kDTypes.size(), kHeadDims.size(), kKvHeads.size(), kQLens.size(), kKvLens.size()});
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const test::Choice& choice = choices[i];
    check_spec(specs[choice[0]], kDTypes[choice[1]], kHeadDims[choice[2]], i, kKvHeads[choice[3]],
               kQLens[choice[4]], kKvLens[choice[5]]);
  }
}

TEST_CASE("gradients of every shipped spec in every dtype and head_dim", "[.][full][backward]") {
  std::size_t i = 0;
  for (const std::string& spec : test::all_specs())
    for (const DType dtype : kDTypes)
      for (const int head_dim : kHeadDims) {
        check_spec(spec, dtype, head_dim, i, kKvHeads[i % 3], kQLens[i % 4], kKvLens[i % 5]);
        ++i;
      }
}

// Several parts of a head's rows, whose dK and dV are added up, and plans other than the chosen one.
TEST_CASE("gradients of long rows and of other tiles", "[backward][slow]") {
  for (const char* spec : {"full", "causal", "sliding_window", "document", "gpt_oss", "dropout"})
    for (const char* plan : {"", "tile_q=48 tile_kv=128", "tile_q=32 tile_kv=16", "tile_q=256 tile_kv=256"})
      check_backward(
          {.spec = spec,
           .dtype = DType::f32,
           .head_dim = 32,
           .head_dim_v = 0,
           .size = {.batch = 1, .num_q_heads = 2, .num_kv_heads = 1, .q_len = 1500, .kv_len = 1100},
           .layout = Layout::bhsd,
           .plan = plan});
}
