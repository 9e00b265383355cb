// The lines of the tables that ship, and the tables under tuned/ themselves: a line that is stale or wrong fails here, by name.
#include "runtime/tune/shipped/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "compiler/target/target.h"
#include "runtime/tune/choice.h"
#include "runtime/tune/identity.h"
#include "tests/catch.h"
#include "tests/fastest.h"
#include "tests/runtime/tune/made_up_table.h"
#include "tools/tune/ship.h"

using namespace fa;
using namespace fa::tests;

namespace {

/// What is wrong with a line; empty where it is sound.
std::string problem_of(const std::string& line) {
  std::string problem;
  const auto plan = decode_shipped(line, "t4", problem);
  CHECK(plan.has_value() == problem.empty());
  return problem;
}

}  // namespace

TEST_CASE("a line of a table comes back as it was written", "[tune][shipped]") {
  for (const bool predicted : {false, true}) {
    ShippedPlan plan = made_up_plan(kShortPlan, 512, 1.25, predicted);
    std::string problem;
    const auto read = decode_shipped(encode(plan), "t4", problem);
    CHECK(problem == "");
    REQUIRE(read.has_value());
    CHECK(*read == plan);
    CHECK(encode(*read) == encode(plan));
    CHECK(encode(plan).find('\n') == std::string::npos);
    CHECK(read->tuned.label == "causal f16 d64 t4");
  }
}

TEST_CASE("a line that lacks a field, or has it wrong, is refused by the field's name", "[tune][shipped]") {
  const auto good = nlohmann::ordered_json::parse(encode(made_up_plan(kShortPlan, 512, 1.25)));
  REQUIRE(problem_of(good.dump()) == "");
  for (const auto& [name, value] : good.items()) {
    CAPTURE(name);
    auto changed = good;
    changed.erase(name);
    CHECK(problem_of(changed.dump()) == fmt::format("field '{}' is missing or wrong", name));
    changed = good;
    changed[name] = value.is_string() ? nlohmann::ordered_json(7) : nlohmann::ordered_json("x");
    CHECK(problem_of(changed.dump()) == fmt::format("field '{}' is missing or wrong", name));
  }
  using Change = std::pair<const char*, const char*>;
  for (const auto& [name, value] :
       {Change{"dtype", "i32"}, Change{"found", "guessed"}, Change{"date", "2026-02-30"},
        Change{"date", "26.11.2026"}, Change{"hash", "no hex"}, Change{"commit", ""}}) {
    CAPTURE(name, value);
    auto changed = good;
    changed[name] = value;
    CHECK(problem_of(changed.dump()) == fmt::format("field '{}' is missing or wrong", name));
  }
  for (const char* junk : {"", "{", "[]", "7", "null"}) CHECK(problem_of(junk) == "is no JSON object");
}

TEST_CASE("a table names the lines that cannot be read, and has the others", "[tune][shipped]") {
  const std::string good = encode(made_up_plan(kShortPlan, 512, 1.25));
  const ShippedTable table = read_table(good + "\njunk\n" + good + "\n", "t4", "tuned/t4.jsonl");
  CHECK(table.plans.size() == 2);
  CHECK(table.problems == std::vector<std::string>{"tuned/t4.jsonl:2: is no JSON object"});
  CHECK(read_table("", "t4", "f").plans.empty());
  CHECK(read_table("", "t4", "f").problems.empty());
  CHECK(read_table(good, "t4", "f").plans.size() == 1);  // without the last line's end
}

TEST_CASE("the tables under tuned/ are sound, of specs and GPUs that are there, with plans that can be built",
          "[tune][shipped]") {
  for (const EmbeddedTable& file : embedded_tables()) {
    const std::string path = fmt::format("tuned/{}", file.path);
    INFO(path);
    REQUIRE(file.path.ends_with(".jsonl"));
    const Target& target =
        find_target(file.path.substr(0, file.path.size() - 6));  // throws where there is no such GPU
    CHECK_FALSE(target.is_host());
    const ShippedTable table = read_table(file.text, target.name, path);
    CHECK(table.problems == std::vector<std::string>());
    CHECK(tools::print_table(tools::merge_shipped(table.plans, {})) ==
          file.text);  // sorted, nothing that is not worth it
    int number = 0;
    for (const ShippedPlan& plan : table.plans) {
      INFO(path << ":" << ++number << ": " << plan.tuned.label << " " << plan.tuned.problem);
      const std::string spec_path = fmt::format("{}/specs/{}.fa", FA_SOURCE_DIR, plan.spec);
      REQUIRE(std::filesystem::exists(spec_path));
      Spec spec = Spec::load(spec_path).with_dtype(plan.dtype);
      if (spec.head_dim() != plan.head_dim || spec.head_dim_v() != plan.head_dim_v)
        spec = spec.with_head_dim(plan.head_dim, plan.head_dim_v);
      CHECK(spec_hash(spec) == plan.tuned.key.spec);  // else the spec has changed: tune it again
      CHECK(why_unusable(plan.tuned.plan, spec.checked(), target) == "");
      CHECK(plan.tuned.shipped.size() == 40);  // a commit, with nothing changed since
      CHECK(plan.tuned.key.compiler.starts_with("NVRTC "));
    }
  }
  // Every file of the folder is built in, and no other.
  std::size_t files = 0;
  std::error_code none;  // git keeps no empty folder
  for (const auto& entry : std::filesystem::directory_iterator(FA_SOURCE_DIR "/tuned", none))
    files += entry.path().extension() == ".jsonl" ? 1 : 0;
  CHECK(files == embedded_tables().size());
}

TEST_CASE("a lookup decodes the lines of its spec alone: every first call of a spec makes one",
          "[tune][shipped]") {
  const ShippedPlan plan = made_up_plan(kShortPlan, 512, 1.25);
  const std::string torn(600, '{');  // a line that is decoded is reported
  const std::string text = torn + "\n" + encode(plan) + "\n" + torn + "\n";
  const ShippedTable found = read_table(text, "t4", "f", plan.tuned.key.spec);
  CHECK(found.plans.size() == 1);
  CHECK(found.problems.empty());
  CHECK(read_table(text, "t4", "f", std::string(32, '0')).plans.empty());
  CHECK(read_table(text, "t4", "f").problems.size() == 2);
}

TEST_CASE("to look for a plan that does not ship takes a small part of reading the table",
          "[tune][shipped]") {
  // A table as long as one of every spec at four sizes, in three head dims and two dtypes.
  std::string text;
  for (int line = 0; line < 600; ++line) text += encode(made_up_plan(kShortPlan, 512 + line, 1.25)) + "\n";
  const std::string hash(32, '0');
  const double all = fastest([&] { CHECK(read_table(text, "t4", "f").plans.size() == 600); }, 5);
  const double none = fastest([&] { CHECK(read_table(text, "t4", "f", hash).plans.empty()); });
  WARN(fmt::format("{} KiB of lines without one for the spec: {:.3f} ms, {:.1f} ms to read all",
                   text.size() / 1024, none * 1e3, all * 1e3));
  CHECK(none < all / 10);
}
