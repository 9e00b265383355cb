// The backward pass on the host against the fp64 reference: every shipped spec, dtypes, shapes, layouts, and
// what hooks capture.
#include <array>

#include "tests/catch.h"
#include "tests/golden.h"
#include "tests/numeric/backward/cases.h"

using namespace fa;
using namespace fa::tools;

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
  constexpr std::array kDTypes = {DType::f32, DType::bf16, DType::f16};
  constexpr std::array kHeadDims = {32, 64, 128};
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
