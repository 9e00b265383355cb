// Which scores of a tile a thread holds, on the host: every element has one thread, and what is asked once a
// diagonal reaches the elements of that diagonal.
#include <vector>

#include "tests/catch.h"
#include "tests/templates/cuda_on_host.h"
// after cuda_on_host.h
#include "templates/common/mma_place.cuh"

namespace {

constexpr int kWarps = 2;

template <int kRowsPerWarp, int kTileKv>
struct Case {
  using Place = fa::MmaPlace<kRowsPerWarp, kTileKv>;
  static constexpr int kTileQ = kWarps * kRowsPerWarp;

  static int place(int row, int column) { return row * kTileKv + column; }

  /// Writes the number of its place into each element of this thread.
  static void number(typename Place::Scores& s) {
    Place::for_each_row([&](typename Place::ThreadRow row) {
      for (int group = 0; group < Place::kGroups; ++group)
        for (int i = 0; i < Place::kColumnsOfGroup; ++i)
          Place::score(s, row, group, i) = static_cast<float>(
              place(static_cast<int>(Place::first_row()) + Place::row_offset(row),
                    static_cast<int>(Place::first_column()) + Place::column_offset(group, i)));
    });
  }

  static void check() {
    INFO(kRowsPerWarp << " rows a warp, " << kTileKv << " columns");
    std::vector<int> holders(kTileQ * kTileKv);
    std::vector<int> wrong(32 * kWarps);
    run_block(kWarps, [&](unsigned thread) {
      typename Place::Scores s, distances;
      number(s);
      Place::for_each(s, [&](float& x) { ++holders[static_cast<std::size_t>(x)]; });
      int& mine = wrong[thread];
      const auto column_of = [](float x) { return static_cast<int>(x) % kTileKv; };
      Place::for_each_column(s, [&](float& x, int offset) {
        mine += column_of(x) != static_cast<int>(Place::first_column()) + offset;
      });
      // Distances count from the warp's first element.
      const auto check_diagonals = [&] {
        Place::for_each(distances, s, [&](float& distance, float x) {
          const int row = static_cast<int>(x) / kTileKv - static_cast<int>(Place::first_row_of_warp());
          mine += distance != static_cast<float>(row - column_of(x));
          distance = -1000;
        });
      };
      const auto of = [](int offset) { return static_cast<float>(offset); };
      const auto set = [](float& x, float value) { x = value; };
      Place::template for_each_diagonal<false>(distances, of, [](int) { return true; }, set);
      check_diagonals();
      Place::template for_each_diagonal<true>(distances, of, [](int) { return true; }, set);
      check_diagonals();
    });
    for (const int count : holders) REQUIRE(count == 1);
    for (const int count : wrong) CHECK(count == 0);
  }
};

}  // namespace

TEST_CASE("each element of a tile has one thread, and its diagonal", "[templates]") {
  Case<16, 64>::check();
  Case<32, 64>::check();
  Case<32, 128>::check();
  Case<16, 48>::check();
}
