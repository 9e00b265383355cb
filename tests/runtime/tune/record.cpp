// Lines of the store as values: what is written is read back, junk is skipped, merging loses nothing.
#include "runtime/tune/record.h"

#include <random>

#include "tests/catch.h"

using namespace fa;

namespace {

TunedPlan tuned(const std::string& spec, const std::string& problem, const std::string& plan,
                std::int64_t date) {
  return {.key = {.spec = spec, .code = "c", .device = "host zen \"4\"", .compiler = "LLVM 19"},
          .label = "causal f32 d64 host",
          .problem = problem,
          .plan = plan,
          .ms = 1.25,
          .gain = 1.5,
          .default_plan = "host q_outer tile_q=96 tile_kv=64",
          .timed = 8,
          .of = 35,
          .finished = true,
          .date = date};
}

}  // namespace

TEST_CASE("a record comes back as it was written, in one line", "[tune][store]") {
  const TunedPlan plan = tuned("s", "B1 H8 N1024,\n\"x\"", "p", 1700000000);
  CHECK(encode(plan).find('\n') == std::string::npos);
  CHECK(decode_plan(encode(plan)) == plan);
  TunedTiming timing{.key = plan.key, .problem = "b", .plan = "p", .runs = 3, .ratio = 0.5, .ms = 2};
  CHECK(decode_timing(encode(timing)) == timing);
  timing = {.key = plan.key, .problem = "b", .plan = "p", .failed = true};
  CHECK(decode_timing(encode(timing)) == timing);
  TunedPlan odd = plan;
  odd.label = "caf\xe9";  // no UTF-8: it is written as U+FFFD, and the line is still read
  CHECK(decode_plan(encode(odd)).has_value());
}

TEST_CASE("lines that are torn, changed or of another kind are no records", "[tune][store]") {
  const std::string line = encode(tuned("s", "a", "p", 5));
  for (std::size_t end = 0; end < line.size(); ++end)
    CHECK_FALSE(decode_plan(line.substr(0, end)).has_value());
  for (const char* junk :
       {"", "{}", "[]", "null", "7", "\"x\"", "{\"format\":1}", "{\"format\":\"1\"}", "\xff\xfe"})
    CHECK_FALSE(decode_plan(junk).has_value());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = line;
    REQUIRE(changed.find(from) != std::string::npos);
    return decode_plan(changed.replace(changed.find(from), from.size(), to)).has_value();
  };
  CHECK(with("\"ms\":1.25", "\"ms\":2"));
  for (const char* to : {"\"ms\":0", "\"ms\":-1", "\"ms\":\"1\"", "\"ms\":1e999", "\"ms\":null"})
    CHECK_FALSE(with("\"ms\":1.25", to));
  CHECK_FALSE(with("\"format\":1", "\"format\":2"));
  CHECK_FALSE(with("\"timed\":8", "\"timed\":8.5"));
  CHECK_FALSE(with("\"timed\":8", "\"timed\":9999999999"));
  CHECK_FALSE(with("\"finished\":true", "\"finished\":1"));
  CHECK_FALSE(decode_timing(line).has_value());
}

TEST_CASE("a prediction is a plan that says so", "[tune][store]") {
  TunedPlan plan = tuned("s", "a", "p", 5);
  CHECK(encode(plan).find("predicted") == std::string::npos);  // measured lines are as they always were
  plan.predicted = true;
  plan.worth_timing = {"p", "q"};
  CHECK(decode_plan(encode(plan)) == plan);
  std::string line = encode(plan);
  line.replace(line.find("[\"p\",\"q\"]"), 9, "[\"p\",7]");
  CHECK_FALSE(decode_plan(line).has_value());
}

TEST_CASE("a plan of one size says which", "[tune][store]") {
  TunedPlan plan = tuned("s", "a", "p", 5);
  CHECK(encode(plan).find("size") == std::string::npos);  // lines of no single size are as they always were
  plan.size = {.batch = 2, .num_q_heads = 16, .num_kv_heads = 4, .q_len = 512, .kv_len = 1024};
  CHECK(decode_plan(encode(plan)) == plan);
  const std::string line = encode(plan);
  for (const char* to :
       {"\"q_len\":0", "\"q_len\":-1", "\"q_len\":1.5", "\"q_len\":9999999999", "\"other\":512"}) {
    std::string changed = line;
    changed.replace(changed.find("\"q_len\":512"), 11, to);
    CHECK_FALSE(decode_plan(changed).has_value());
  }
}

TEST_CASE("a prediction never replaces a measurement, however late it comes", "[tune][store]") {
  const TunedPlan measured = tuned("s", "a", "measured", 5);
  TunedPlan predicted = tuned("s", "a", "predicted", 9);
  predicted.predicted = true;
  for (const auto& plans : {std::vector{measured, predicted}, std::vector{predicted, measured}}) {
    const auto merged = merge(plans);
    REQUIRE(merged.size() == 1);
    CHECK(merged[0].plan == "measured");
    CHECK(choose_tuned(plans, measured.key)->plan == "measured");
  }
  TunedPlan later = predicted;
  later.plan = "later";
  later.date = 10;
  CHECK(merge({later, predicted}).front().plan == "later");
  predicted.problem = "b";  // of another size
  CHECK(choose_tuned({measured, predicted}, measured.key)->plan == "measured");
}

TEST_CASE("what was built comes back as it was written", "[tune][store]") {
  TunedBuild build{.key = tuned("s", "", "", 0).key, .plan = "p", .built = {}, .mix = {}, .failure = {}};
  build.built = {.registers = 168, .shared_memory = 49152, .spill_bytes = 8, .looped_spills = 2};
  for (std::size_t kind = 0; kind < kNumSassKinds; ++kind) {
    build.mix.all[kind] = static_cast<int>(3 * kind);
    build.mix.in_loops[kind] = static_cast<int>(kind);
  }
  build.mix.unknown = 1;
  CHECK(decode_build(encode(build)) == build);
  CHECK_FALSE(decode_timing(encode(build)).has_value());
  const std::string line = encode(build);
  for (std::size_t end = 0; end < line.size(); ++end)
    CHECK_FALSE(decode_build(line.substr(0, end)).has_value());
  TunedBuild failed{.key = build.key, .plan = "p", .built = {}, .mix = {}, .failure = "no cubin"};
  CHECK(decode_build(encode(failed)) == failed);
}

TEST_CASE("junk lines are counted and the others kept", "[tune][store]") {
  const std::string good = encode(tuned("s", "a", "p", 5));
  const auto found =
      decode_plans("junk\n\n" + good + "\n{\"format\":1}\n" + good + "\n" + good.substr(0, 40));
  CHECK(found.records.size() == 2);
  CHECK(found.junk == 2);  // the last line has no end yet: somebody is writing it
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes = good + "\n" + good + "\n";
    for (int change = 0; change < 3; ++change) bytes[random() % bytes.size()] = static_cast<char>(random());
    CHECK(decode_plans(bytes).records.size() <= 4);
  }
}

TEST_CASE("of a key and a problem the latest plan counts, wherever it came from", "[tune][store]") {
  const TunedPlan old = tuned("s", "a", "old", 5), later = tuned("s", "a", "later", 6);
  const TunedPlan other = tuned("s", "b", "other", 4), third = tuned("t", "a", "third", 9);
  for (const auto& plans : {std::vector{old, later, other, third}, std::vector{later, third, other, old}}) {
    const auto merged = merge(plans);
    CHECK(merged.size() == 3);
    CHECK(choose_tuned(merged, old.key)->plan == "later");
    CHECK(merge(merged) == merged);
  }
  CHECK(choose_tuned({old, third}, {}) == nullptr);
  for (auto change : {&TuneKey::spec, &TuneKey::code, &TuneKey::device, &TuneKey::compiler}) {
    TuneKey key = old.key;
    key.*change = "else";
    CHECK(choose_tuned({old}, key) == nullptr);
  }
}

TEST_CASE("the last timing of each plan counts", "[tune][store]") {
  const TuneKey key = tuned("s", "", "", 0).key;
  const auto timing = [&](const std::string& problem, const std::string& plan, int runs) {
    return TunedTiming{.key = key, .problem = problem, .plan = plan, .runs = runs, .ratio = 1, .ms = 1};
  };
  const auto last = last_of_each(
      {timing("a", "p", 3), timing("b", "p", 9), timing("a", "q", 3), timing("a", "p", 6)}, key, "a");
  REQUIRE(last.size() == 2);
  CHECK(last[0].runs == 3);
  CHECK(last[1].runs == 6);
}
