// Sums by distance, on the host: each diagonal of a warp's part gets the terms of its elements, and no others.
#include "tests/catch.h"
#include "tests/templates/cuda_on_host.h"
// after cuda_on_host.h
#include "templates/common/backward/diagonals.cuh"

namespace {

/// Of an element: a whole number, so that sums are exact.
float term(int key, int query) { return static_cast<float>((key * 37 + query * 101) % 64 - 20); }

template <int kLines, int kGroups>
void check() {
  using Sums = fa::DiagonalSums<kLines>;
  constexpr int kFloats = Sums::template kFloats<kGroups>;
  INFO(kLines << " x 8 keys, " << kGroups << " x 8 query rows");
  std::vector<float> sums(kFloats, -1000.0f), expected(kFloats);
  run_block(1, [&](unsigned lane) {
    Sums mine;
    for (int tile = 0; tile < 2; ++tile) {  // the second finds nothing of the first
      mine.clear();
      for (int n = 0; n < kGroups; ++n) {
        for (int line = 0; line < kLines; ++line)
          for (int pair = 0; pair < 2; ++pair)
            mine.add(
                line, pair,
                term(8 * line + static_cast<int>(lane) / 4, 8 * n + 2 * (static_cast<int>(lane) % 4) + pair));
        mine.end_group(sums.data(), n);
      }
      mine.end_tile(sums.data(), kGroups);
    }
  });
  for (int key = 0; key < 8 * kLines; ++key)
    for (int query = 0; query < 8 * kGroups; ++query)
      expected[static_cast<std::size_t>(query - key - Sums::kFirst)] += term(key, query);
  CHECK(sums == expected);
}

}  // namespace

TEST_CASE("a warp sums its diagonals", "[templates][backward]") {
  check<2, 8>();
  check<2, 4>();
  check<2, 2>();
  check<4, 2>();
  check<4, 8>();
}
