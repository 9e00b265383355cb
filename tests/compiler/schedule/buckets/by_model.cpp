// The buckets that the cost model asks for.
#include <fmt/format.h>

#include <set>

#include "compiler/compile.h"
#include "compiler/schedule/buckets/plan_table.h"
#include "compiler/schedule/cost.h"
#include "tests/catch.h"
#include "tests/compiler/schedule/plain_spec.h"

using namespace fa;

namespace {

PlanTable table_for(const CheckedSpec& spec, const Target& target) {
  return choose_plans(spec, {}, target, choose(spec, {}, target));
}

ProblemSize shape(int batch, int heads, int length) {
  return {.batch = batch, .num_q_heads = heads, .num_kv_heads = heads, .q_len = length, .kv_len = length};
}

}  // namespace

TEST_CASE("a table ends with the plan that a kernel with one plan has", "[schedule][bucket]") {
  for (const Target& target : all_targets()) {
    for (const int head_dim : {16, 64, 96, 128, 192, 256}) {
      for (const DType dtype : {DType::f16, DType::f32}) {
        const CheckedSpec spec = plain_spec(head_dim, 0, dtype);
        if (dtype == DType::f32 && head_dim == 256 && target.name == "t4") continue;
        const PlanTable table = table_for(spec, target);
        CAPTURE(target.name, head_dim, dtype == DType::f32);
        REQUIRE(table.size() >= 1);
        CHECK(table.size() <= kMostBuckets);
        std::set<std::string> plans;
        for (const PlanOfBucket& line : table) plans.insert(line.choice.plan.print());
        CHECK(plans.size() <= kMostPrograms);
        CHECK(table.back().bucket == Bucket{});
        CHECK(table.back().choice.plan == choose(spec, {}, target).plan);
        for (std::size_t line = 0; line < table.size(); ++line) {
          const PlanOfBucket& one = table[line];
          CHECK(why_illegal(one.choice.plan, spec, target).empty());
          CHECK_FALSE(one.choice.why.empty());
          if (line + 1 == table.size()) continue;
          CHECK_FALSE(one.bucket == Bucket{});
          // A bucket's example shape is in the bucket.
          CHECK(&line_for(table, size_of(one.shape)) == &one);
          CHECK(one.single_ms > one.choice.predicted_ms);
        }
        // The size that `choose` is asked about, and longer sequences, have the last plan.
        CHECK(&line_for(table, size_of(ProblemSize{})) == &table.back());
        CHECK(&line_for(table, size_of(shape(1, 16, 65536))) == &table.back());
        if (target.is_host()) CHECK(table.size() == 1);
      }
    }
  }
}

TEST_CASE("few CTAs of work get smaller tiles where an SM would else have nothing to do",
          "[schedule][bucket]") {
  for (const char* name : {"t4", "a100", "l4", "rtx4090"}) {
    const Target& target = find_target(name);
    const CheckedSpec spec = plain_spec(64, 0, DType::f16);
    const PlanTable table = table_for(spec, target);
    CAPTURE(name);
    REQUIRE(table.size() >= 2);
    const PlanOfBucket& few = line_for(table, size_of(shape(1, 4, 512)));  // 16 CTAs of work
    CHECK(few.choice.plan.tile_q < table.back().choice.plan.tile_q);
    CHECK(predict(few.choice.plan, spec, {}, target, shape(1, 4, 512)).ms * kLeastGain <
          predict(table.back().choice.plan, spec, {}, target, shape(1, 4, 512)).ms);
    CHECK(&line_for(table, size_of(shape(32, 16, 512))) == &table.back());
  }
}

TEST_CASE("where no other plan promises enough there is one bucket", "[schedule][bucket]") {
  // Its only plan for d128 has 64 rows already.
  CHECK(table_for(plain_spec(128, 0, DType::f16), find_target("t4")).size() == 1);
}

TEST_CASE("most kernels need one or two cubins", "[schedule][bucket]") {
  int tables = 0, small = 0;
  std::string sizes;
  for (const Target& target : all_targets()) {
    if (target.is_host()) continue;
    for (const int head_dim : {64, 128, 256}) {
      for (const DType dtype : {DType::f16, DType::f32}) {
        const CheckedSpec spec = plain_spec(head_dim, 0, dtype);
        const PlanTable table = table_for(spec, target);
        std::set<std::string> plans;
        for (const PlanOfBucket& line : table) plans.insert(line.choice.plan.print());
        ++tables;
        small += plans.size() <= 2;
        sizes += fmt::format("{} d{} {}: {}\n", target.name, head_dim, dtype == DType::f32 ? "f32" : "f16",
                             plans.size());
      }
    }
  }
  INFO(sizes);
  CHECK(small * 4 >= tables * 3);
}

TEST_CASE("a forced plan is the only one", "[schedule][bucket]") {
  const Spec spec = Spec::parse("attention a\nhead_dim 64\ndtype f16\n");
  CHECK(compile_front_end(spec.checked(), find_target("a100")).plans.size() > 1);
  const Compiled forced = compile_front_end(spec.checked(), find_target("a100"), "tile_q=64 tile_kv=64");
  CHECK(forced.plans.size() == 1);
  CHECK(forced.plans.front().bucket == Bucket{});
}

TEST_CASE("the sources of a table are emitted once for each plan", "[schedule][bucket]") {
  const Spec spec = Spec::parse("attention a\nhead_dim 64\ndtype f16\nmask_mod = q_idx >= kv_idx\n");
  const Target& target = find_target("a100");
  Compiled compiled = compile_front_end(spec.checked(), target);
  const std::string of_large = compiled.source->text;
  const PlanTable plans = compiled.plans;
  REQUIRE(plans.size() >= 2);
  compiled.plans.insert(compiled.plans.begin(), plans.front());  // a second bucket with the same plan
  compiled.plans.front().bucket.group_size.least = 8;
  const TableSources sources = take_sources(spec.checked(), compiled, target);
  REQUIRE(sources.of_line.size() == plans.size() + 1);
  CHECK(sources.of_line[0] == sources.of_line[1]);
  CHECK(sources.of_line.back() == 0);
  CHECK(sources.sources[0].text == of_large);
  for (std::size_t line = 0; line < sources.of_line.size(); ++line)
    CHECK(sources.sources[sources.of_line[line]].text ==
          compile_front_end(spec.checked(), target, compiled.plans[line].choice.plan.print()).source->text);
}
