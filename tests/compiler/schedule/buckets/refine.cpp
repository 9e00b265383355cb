// What a tuner knows about single sizes, as buckets.
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "compiler/schedule/buckets/plan_table.h"
#include "tests/catch.h"

using namespace fa;

namespace {

Choice choice_of(int tile_q) { return {.plan = {.tile_q = tile_q, .tile_kv = 64, .warps = 4}, .why = "why"}; }

PlanTable one_plan() { return single_plan(choice_of(1000)); }

/// 500 for up to 66 CTAs of work, else 1000.
PlanTable two_plans() {
  PlanTable table = one_plan();
  PlanOfBucket few;
  few.bucket.ctas.most = 66;
  few.choice = choice_of(500);
  table.insert(table.begin(), few);
  return table;
}

KnownPlan known(int batch, int length, int tile_q, bool is_measured = true, int kv_heads = 8) {
  return {
      .size = {.batch = batch, .num_q_heads = 8, .num_kv_heads = kv_heads, .q_len = length, .kv_len = length},
      .choice = choice_of(tile_q),
      .is_measured = is_measured};
}

int tile_at(const PlanTable& table, int batch, int length, int kv_heads = 8) {
  return line_for(table, size_of(known(batch, length, 0, true, kv_heads).size)).choice.plan.tile_q;
}

}  // namespace

TEST_CASE("nothing known leaves a table as it is", "[schedule][bucket]") {
  CHECK(refine(one_plan(), {}).size() == 1);
  const PlanTable table = refine(two_plans(), {});
  REQUIRE(table.size() == 2);
  CHECK(table[0].bucket == two_plans()[0].bucket);
  CHECK(tile_at(table, 1, 512) == 500);
  CHECK(tile_at(table, 32, 512) == 1000);
}

TEST_CASE("one known plan is that of its bucket alone", "[schedule][bucket]") {
  CHECK(refine(one_plan(), std::vector{known(1, 8192, 1)}).size() == 1);
  CHECK(tile_at(refine(one_plan(), std::vector{known(1, 8192, 1)}), 1, 128) == 1);
  const PlanTable large = refine(two_plans(), std::vector{known(1, 8192, 1)});
  REQUIRE(large.size() == 2);
  CHECK(tile_at(large, 1, 512) == 500);
  CHECK(tile_at(large, 32, 512) == 1);
  CHECK(large.back().choice.why == "why");
  const PlanTable few = refine(two_plans(), std::vector{known(1, 512, 2)});
  CHECK(tile_at(few, 1, 128) == 2);
  CHECK(tile_at(few, 32, 512) == 1000);
}

TEST_CASE("two lengths with two plans divide where their logarithms do", "[schedule][bucket]") {
  const PlanTable table = refine(one_plan(), std::vector{known(4, 8192, 1), known(4, 512, 2)});
  REQUIRE(table.size() == 2);
  CHECK(table[0].bucket.print() == "kv_len up to 2048");
  CHECK(table[1].bucket == Bucket{});
  CHECK(table[0].shape.kv_len == 512);
  for (const int batch : {1, 4, 64}) {
    CHECK(tile_at(table, batch, 1) == 2);
    CHECK(tile_at(table, batch, 2048) == 2);
    CHECK(tile_at(table, batch, 2049) == 1);
    CHECK(tile_at(table, batch, 65536) == 1);
  }
}

TEST_CASE("where the table's own plan was the best it stands, whatever it is", "[schedule][bucket]") {
  KnownPlan own = known(4, 512, 2);
  own.is_own = true;
  const PlanTable table = refine(one_plan(), std::vector{known(4, 8192, 1), own});
  REQUIRE(table.size() == 2);
  CHECK(tile_at(table, 4, 512) == 1000);  // not 2, which it was when that was found
  CHECK(tile_at(table, 4, 2048) == 1000);
  CHECK(tile_at(table, 4, 2049) == 1);
  CHECK(table[0].choice.why == "why");
}

TEST_CASE("two lengths with one plan need one bucket", "[schedule][bucket]") {
  CHECK(refine(one_plan(), std::vector{known(4, 8192, 1), known(4, 512, 1)}).size() == 1);
  CHECK(refine(two_plans(), std::vector{known(4, 8192, 1), known(1, 512, 1)}).size() == 1);
}

TEST_CASE("sizes that differ in batch or in heads divide by CTAs or by group", "[schedule][bucket]") {
  const PlanTable by_ctas = refine(one_plan(), std::vector{known(1, 512, 1), known(64, 512, 2)});
  REQUIRE(by_ctas.size() == 2);
  CHECK(by_ctas[0].bucket.print() == "up to 256 CTAs of work");  // of 32 and 2048
  const PlanTable by_group = refine(one_plan(), std::vector{known(4, 512, 1), known(4, 512, 2, true, 1)});
  REQUIRE(by_group.size() == 2);
  CHECK(by_group[0].bucket.print() == "group size up to 2");
  CHECK(tile_at(by_group, 1, 9000, 2) == 2);
  CHECK(tile_at(by_group, 1, 9000, 4) == 1);
}

TEST_CASE("of one size the latest plan counts, and a measurement before a prediction", "[schedule][bucket]") {
  CHECK(tile_at(refine(one_plan(), std::vector{known(1, 512, 1), known(1, 512, 2)}), 1, 512) == 1);
  const auto mixed = std::vector{known(1, 512, 1, false), known(1, 8192, 2, true)};
  CHECK(refine(one_plan(), mixed).size() == 1);
  CHECK(tile_at(refine(one_plan(), mixed), 1, 512) == 2);
  // In a bucket without measurements predictions count.
  CHECK(tile_at(refine(two_plans(), mixed), 1, 512) == 1);
  CHECK(tile_at(refine(two_plans(), mixed), 1, 8192) == 2);
}

TEST_CASE("there are never more than four plans, and every size has a plan", "[schedule][bucket]") {
  std::vector<KnownPlan> many;
  for (int length = 128, tile = 1; length <= 65536; length *= 2, ++tile)
    many.push_back(known(4, length, tile));
  for (const PlanTable& before : {one_plan(), two_plans()}) {
    const PlanTable table = refine(before, many);
    CHECK(table.size() == kMostPrograms);
    CHECK(table.back().bucket == Bucket{});
    for (int length = 1; length < 200000; length = length * 3 / 2 + 1) CHECK(tile_at(table, 4, length) > 0);
    // The longest of what is known is far from the shortest.
    CHECK(tile_at(table, 4, 128) != tile_at(table, 4, 65536));
  }
}

TEST_CASE("buckets that share a plan do not make a fifth one out of what is known of each",
          "[schedule][bucket]") {
  PlanTable shared = two_plans();  // up to 66 CTAs, from 129 to 256, up to 512 keys: one plan
  PlanOfBucket more = shared.front(), brief = shared.front();
  more.bucket.ctas = {.least = 129, .most = 256};
  brief.bucket = {.kv_len = {.most = 512}};
  shared.insert(shared.begin() + 1, {more, brief});
  std::vector<KnownPlan> all;
  for (const auto& [batch, length] : {std::pair{1, 512},
                                      {1, 1024},
                                      {12, 2048},
                                      {16, 1024},
                                      {32, 512},
                                      {64, 256},
                                      {64, 4096},
                                      {64, 16384},
                                      {64, 65536}})
    all.push_back(known(batch, length, static_cast<int>(all.size()) + 1));
  for (std::size_t count = 0; count <= all.size(); ++count) {
    const PlanTable table = refine(shared, std::span(all).first(count));
    std::set<int> tiles;
    for (const PlanOfBucket& line : table) tiles.insert(line.choice.plan.tile_q);
    CAPTURE(count);
    CHECK(table.size() <= kMostBuckets);
    CHECK(tiles.size() <= kMostPrograms);
    CHECK(table.back().bucket == Bucket{});
  }
}

TEST_CASE("three plans along one line of lengths get a bucket each", "[schedule][bucket]") {
  const PlanTable table =
      refine(one_plan(), std::vector{known(4, 4096, 2), known(4, 256, 1), known(4, 65536, 3)});
  REQUIRE(table.size() == 3);
  CHECK(tile_at(table, 4, 256) == 1);
  CHECK(tile_at(table, 4, 1024) == 1);
  CHECK(tile_at(table, 4, 1025) == 2);
  CHECK(tile_at(table, 4, 16384) == 2);
  CHECK(tile_at(table, 4, 16385) == 3);
}
