// Tables that ship: how they are written (facet tune --ship), and that every process takes their plans.
#include "tools/tune/ship.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>

#include "runtime/tune/shipped/tables.h"
#include "tests/catch.h"
#include "tests/golden.h"
#include "tests/runtime/system/temporary.h"
#include "tests/runtime/tune/made_up_table.h"
#include "tests/skip.h"
#include "tests/tools/command/command.h"

using namespace fa;
using namespace fa::tests;
using namespace fa::tools;
using nlohmann::json;

namespace {

std::vector<int> lengths_of(const std::vector<ShippedPlan>& table) {
  std::vector<int> lengths;
  for (const ShippedPlan& plan : table) lengths.push_back(plan.tuned.size->q_len);
  return lengths;
}

ShippedPlan of_spec(ShippedPlan plan, const std::string& spec) {
  plan.spec = spec;
  return plan;
}

/// A folder with a table for the T4, and a store of its own.
class Shipped {
 public:
  explicit Shipped(const std::vector<ShippedPlan>& table) {
    REQUIRE(run_program("facet", {"--version"}).status == 0);
    write(print_table(table));
  }
  void write(const std::string& text) const { write_file(folder_ / "t4.jsonl", text); }
  std::string text() const { return read_file(folder_ / "t4.jsonl"); }
  const TemporaryFolder& folder() const { return folder_; }

  CommandResult facet(const std::vector<std::string>& words, std::vector<std::string> settings = {}) const {
    settings.push_back("FA_SHIPPED_DIR=" + folder_.path());
    settings.push_back("FA_TUNE_DIR=" + (store_ / "tuned"));
    return run_program("facet", words, settings);
  }
  json taken(const std::string& gpu, std::vector<std::string> more = {},
             const std::vector<std::string>& settings = {}) const {
    std::vector<std::string> words{"explain", causal_path(), "--gpu", gpu,     "--head-dim",
                                   "64",      "--dtype",     "f16",   "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult said = facet(words, settings);
    INFO(said.err);
    REQUIRE(said.status == 0);
    return json::parse(said.out)["compile_takes"];
  }

 private:
  TemporaryFolder folder_, store_;
};

}  // namespace

TEST_CASE("a table is the same in whatever order its plans were found", "[tools][tune][shipped]") {
  std::vector<ShippedPlan> found{
      made_up_plan(kLongPlan, 8192, 1.1),           made_up_plan(kShortPlan, 512, 1.25),
      made_up_plan(kShortPlan, 1024, 1.02, true),   of_spec(made_up_plan(kLongPlan, 512, 1.3), "alibi"),
      of_spec(made_up_plan(kLongPlan, 64, 1), "b"),
  };
  const std::string text = print_table(merge_shipped({}, found));
  const ShippedTable read = read_table(text, "t4", "f");
  CHECK(read.problems.empty());
  CHECK(print_table(read.plans) == text);
  CHECK(lengths_of(read.plans) == std::vector{512, 512, 1024, 8192});
  CHECK(read.plans[0].spec == "alibi");
  std::mt19937 random(1);
  for (int turn = 0; turn < 20; ++turn) {
    std::ranges::shuffle(found, random);
    CHECK(print_table(merge_shipped({}, found)) == text);
    CHECK(print_table(merge_shipped(read.plans, found)) == text);
    CHECK(print_table(merge_shipped(read.plans, {found[0]})) == text);
  }
  CHECK(print_table(merge_shipped({}, {})) == "");
}

TEST_CASE("a table has plans that are worth it, and the compiler's own where they bound others",
          "[tools][tune][shipped]") {
  CHECK(is_worth_shipping(made_up_plan(kShortPlan, 512, 1.03).tuned));
  CHECK_FALSE(is_worth_shipping(made_up_plan(kShortPlan, 512, 1.02).tuned));
  CHECK_FALSE(is_worth_shipping(made_up_plan(kDefaultPlan, 512, 1.5).tuned));
  CHECK(merge_shipped({}, {made_up_plan(kShortPlan, 512, 1.02)}).empty());

  // Without a line for N8192 the plan of N512 would be that of every call.
  const auto table =
      merge_shipped({}, {made_up_plan(kLongPlan, 8192, 1.01), made_up_plan(kShortPlan, 512, 1.25)});
  REQUIRE(lengths_of(table) == std::vector{512, 8192});
  CHECK(table[1].tuned.plan == kDefaultPlan);
  CHECK(table[1].tuned.gain == 1);
  CHECK(table[1].tuned.ms == 4.04);

  // A later run takes a line's place, and the last good one takes the kernel's others with it.
  const auto better = merge_shipped(table, {made_up_plan(kLongPlan, 8192, 1.5)});
  CHECK(better[1].tuned.plan == kLongPlan);
  CHECK(merge_shipped(table, {made_up_plan(kShortPlan, 512, 1.01)}).empty());

  // Predictions leave measurements alone, measurements replace them.
  const auto guessed = merge_shipped({}, {made_up_plan(kLongPlan, 512, 1.9, true)});
  CHECK(guessed.size() == 1);
  CHECK(merge_shipped(table, {made_up_plan(kLongPlan, 512, 1.9, true)}) == table);
  CHECK(merge_shipped(guessed, {made_up_plan(kShortPlan, 512, 1.25)})[0].tuned.plan == kShortPlan);

  // The spec has changed: what was found for it before is of no use, at whatever size.
  ShippedPlan changed = made_up_plan(kShortPlan, 2048, 1.25);
  changed.tuned.key.spec = "abc";
  CHECK(lengths_of(merge_shipped(table, {changed})) == std::vector{2048});
}

TEST_CASE("every process takes the plans that ship for its GPU", "[tools][tune][shipped]") {
  const Shipped shipped({made_up_plan(kShortPlan, 512, 1.25), made_up_plan(kLongPlan, 8192, 1.1)});
  const json taken = shipped.taken("t4");
  CHECK(taken["source"] == "shipped");
  CHECK(taken["plan"] == kLongPlan);
  CHECK(missing(taken["why"],
                {"1.10x the default plan's speed at B4 H16 N8192, timed 2026-09-21, shipped with Facet "
                 "(commit 0123456789ab, NVRTC 13.0, Fake T4 as t4)",
                 "; 1.25x"}) == "");
  bool has_short = false;
  for (const json& line : taken["plans"]) has_short = has_short || line["plan"] == kShortPlan;
  CHECK(has_short);
  CHECK(shipped.taken("a100")["source"] == "compiler");
  CHECK(shipped.taken("t4", {"--head-dim-v", "32"})["source"] == "compiler");  // of another kernel
  CHECK(shipped.taken("t4", {}, {"FA_TUNE=never"})["source"] == "compiler");
  CHECK(shipped.taken("t4", {}, {"FA_PLAN=tile_kv=16"})["source"] == "asked for");
  CHECK(shipped.taken("t4", {"--plan", "tile_kv=16"})["source"] == "asked for");

  const CommandResult listed = shipped.facet({"tune", "--list"});
  CHECK(missing(listed.out, {"no plans in ", "2 plans ship with this Facet: facet tune --list --shipped"}) ==
        "");
  const CommandResult all = shipped.facet({"tune", "--list", "--shipped"});
  CHECK(missing(all.out, {"2026-09-21  causal f16 d64 t4  B4 H16 N512  4 ms", kShortPlan,
                          ": 1.25x the default", "Fake T4 as t4, NVRTC 13.0, commit 0123456789ab"}) == "");
  CHECK(json::parse(shipped.facet({"tune", "--list", "--shipped", "--json"}).out)["shipped"].size() == 2);
  CHECK(missing(shipped.facet({"tune", "--list", "--shipped", "--gpu", "a100"}).out, {"no plans ship"}) ==
        "");
  CHECK(missing(shipped.facet({"tune", "--list", "--shipped", source_path("specs/alibi.fa")}).out,
                {"no plans ship"}) == "");
  const CommandResult forgot = shipped.facet({"tune", "--forget"});
  CHECK(forgot.out ==
        "forgot 0 plans\n2 plans ship with this Facet, which stay: FA_TUNE=never leaves them out\n");
  CHECK(shipped.taken("t4")["source"] == "shipped");
}

TEST_CASE("a line that bounds others names the compiler's choice of today", "[tools][tune][shipped]") {
  ShippedPlan bound =
      made_up_plan(kLongPlan, 8192, 1);  // once the compiler's own choice, which is another one now
  bound.tuned.default_plan = bound.tuned.plan;
  const Shipped shipped({made_up_plan(kShortPlan, 512, 1.25), bound});
  const json taken = shipped.taken("t4");
  CHECK(taken["plan"] == kDefaultPlan);
  CHECK(missing(taken["why"],
                {"the compiler's own choice at B4 H16 N8192, timed 2026-09-21, shipped with Facet",
                 "1.25x the default plan's speed at B4 H16 N512"}) == "");
  bool has_short = false;
  for (const json& line : taken["plans"]) has_short = has_short || line["plan"] == kShortPlan;
  CHECK(has_short);

  // Nor does it matter whether what it was then can still be built.
  bound.tuned.plan = bound.tuned.default_plan = "sm75 q_outer tile_q=1000 tile_kv=64";
  shipped.write(print_table({made_up_plan(kShortPlan, 512, 1.25), bound}));
  const json later = shipped.taken("t4");
  CHECK(later["plan"] == kDefaultPlan);
  CHECK(missing(later["why"], {"not used"}) != "");
}

TEST_CASE("a GPU without plans of its own takes those of one that computes alike", "[tools][tune][shipped]") {
  const auto of_sm80 = [](ShippedPlan plan) {
    plan.tuned.plan.replace(0, 4, "sm80");
    return plan;
  };
  const ShippedPlan measured = of_sm80(made_up_plan(kLongPlan, 8192, 1.1));
  const ShippedPlan own = of_sm80(made_up_plan(kShortPlan, 8192, 1.3));
  const Shipped shipped({});
  write_file(shipped.folder() / "h100.jsonl", print_table({measured}));
  CHECK(shipped.taken("h100")["plan"] == measured.tuned.plan);
  const json taken = shipped.taken("h200");
  CHECK(taken["source"] == "shipped");
  CHECK(taken["plan"] == measured.tuned.plan);
  CHECK(shipped.taken("a100")["source"] == "compiler");
  CHECK(shipped.taken("h200:sm80")["source"] == "compiler");  // as it would be with other kernels

  CHECK(missing(shipped.facet({"tune", "--list", "--shipped", "--gpu", "h200"}).out,
                {"no plans ship",
                 "where no plan ships for h200, those of h100 count: --list --shipped --gpu h100"}) == "");

  // One line of its own is enough.
  write_file(shipped.folder() / "h200.jsonl", print_table({own}));
  CHECK(shipped.taken("h200")["plan"] == own.tuned.plan);
  CHECK(shipped.taken("h100")["plan"] == measured.tuned.plan);
}

TEST_CASE("a compile launches the shipped plan", "[tools][tune][shipped][nvrtc]") {
  if (skip_without_nvrtc()) return;
  const Shipped shipped({made_up_plan(kLongPlan, 8192, 1.1)});
  const std::vector<std::string> words{"run",     causal_path(), "--device", "cuda", "--head-dim", "64",
                                       "--dtype", "f16",         "--batch",  "4",    "--heads",    "16",
                                       "--q-len", "4096",        "--repeat", "1",    "--json"};
  const std::vector<std::string> gpu{"FA_LIBCUDA=" + program_path("fake_libcuda.so")};
  const CommandResult ran = shipped.facet(words, gpu);
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  const json kernel = json::parse(ran.out)["kernel"];
  CHECK(kernel["plan"] == kLongPlan);
  CHECK(missing(kernel["tuned"],
                {"1.10x the default plan's speed at B4 H16 N8192", ", shipped with Facet"}) == "");
  std::vector<std::string> never = gpu;
  never.push_back("FA_TUNE=never");
  CHECK(json::parse(shipped.facet(words, never).out)["kernel"]["plan"] != kLongPlan);
}

TEST_CASE("a table that cannot be read takes nothing from a compile, and is named by who looks at it",
          "[tools][tune][shipped]") {
  const Shipped shipped({made_up_plan(kLongPlan, 8192, 1.1)});
  shipped.write(shipped.text() + "junk\n");
  CHECK(shipped.taken("t4")["source"] == "shipped");
  const CommandResult listed = shipped.facet({"tune", "--list", "--shipped"});
  CHECK(listed.status == 1);
  CHECK(missing(listed.err, {"t4.jsonl:2: is no JSON object"}) == "");
  CHECK(missing(listed.out, {kLongPlan}) == "");

  const json elsewhere = shipped.taken("t4", {}, {"FA_SHIPPED_DIR=" + (shipped.folder() / "nowhere")});
  CHECK(elsewhere["source"] == "compiler");
  CHECK(missing(elsewhere["why"], {"nowhere: is no folder of tables (FA_SHIPPED_DIR)"}) == "");
}

TEST_CASE("tune --ship writes what a second process takes", "[tools][tune][shipped][nvrtc]") {
  if (skip_without_nvrtc()) return;
  // The table has a plan that was found elsewhere; this run finds out about another size of the same kernel.
  const Shipped shipped({made_up_plan(kLongPlan, 8192, 1.1)});
  const std::string before = shipped.text();
  const std::vector<std::string> words{
      "tune", causal_path(), "--gpu", "t4",       "--dtype", "f16",    "--head-dim",
      "64",   "--q-len",     "512",   "--budget", "1",       "--ship", shipped.folder().path()};
  const CommandResult refused = shipped.facet(words, {"FA_NVRTC_FLAGS=-lineinfo"});
  CHECK(refused.status == 2);
  CHECK(missing(refused.err, {"--ship: ", "pass --ship-unclean"}) == "");
  CHECK(shipped.text() == before);

  std::vector<std::string> anyhow = words;
  anyhow.push_back("--ship-unclean");
  const CommandResult ran = shipped.facet(anyhow);
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  CHECK(missing(ran.out, {"  ships: in ", "t4.jsonl"}) == "");
  const ShippedTable table = read_table(shipped.text(), "t4", "t4.jsonl");
  CHECK(table.problems.empty());
  REQUIRE(lengths_of(table.plans) == std::vector{512, 8192});
  CHECK(table.plans[0].tuned.predicted);
  CHECK(encode(table.plans[1]) + "\n" == before);
  CHECK(shipped.facet(anyhow).status == 0);
  CHECK(read_table(shipped.text(), "t4", "t4.jsonl").plans.size() == 2);

  // What a mask makes of one user's tensors says little about another's.
  std::vector<std::string> documents = anyhow;
  documents[1] = test::spec_path("document");
  const CommandResult left_out = shipped.facet(documents);
  CHECK(left_out.status == 0);
  CHECK(missing(left_out.out, {"  ships: not in ", "the mask reads document_id"}) == "");
  CHECK(read_table(shipped.text(), "t4", "t4.jsonl").plans.size() == 2);

  shipped.write(before + "junk\n");
  const CommandResult torn = shipped.facet(anyhow);
  CHECK(torn.status == 2);
  CHECK(missing(torn.err, {"t4.jsonl:2: is no JSON object", "mend the line, or delete it"}) == "");
  CHECK(shipped.text() == before + "junk\n");
}

TEST_CASE("tune --ship writes what was measured on this machine's GPU", "[tools][tune][shipped][nvrtc]") {
  if (skip_without_nvrtc()) return;
  const Shipped shipped({});  // an empty table
  // Of head_dim 256 a T4 has few plans. This driver computes nothing, so that any of them may be the fastest.
  const CommandResult ran = shipped.facet(
      {"tune", causal_path(), "--device", "cuda", "--head-dim", "256", "--dtype", "f16", "--heads", "2",
       "--q-len", "128,2048", "--ship", shipped.folder().path(), "--ship-unclean"},
      {"FA_LIBCUDA=" + program_path("fake_libcuda.so")});
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  CHECK(missing(ran.out, {"B1 H2 N128", "  ships: ", "B1 H2 N2048", "  ships: "}) == "");
  const ShippedTable table = read_table(shipped.text(), "t4", "t4.jsonl");
  CHECK(table.problems.empty());
  const auto is_shipped = [](const ShippedPlan& plan) { return is_worth_shipping(plan.tuned); };
  // Both sizes, or none where the compiler's own choice was the fastest at both.
  CHECK(table.plans.size() == (std::ranges::any_of(table.plans, is_shipped) ? 2U : 0U));
  CHECK((ran.out.find("  ships: in ") != std::string::npos) == !table.plans.empty());
  for (const ShippedPlan& plan : table.plans) {
    CHECK_FALSE(plan.tuned.predicted);
    CHECK(plan.tuned.key.device == "Fake T4 as t4");
    CHECK(plan.head_dim == 256);
  }
}

TEST_CASE("--ship and --shipped say where they have no sense", "[tools][tune][shipped]") {
  const TemporaryFolder folder;
  const auto refused = [](const std::vector<std::string>& words, const std::vector<std::string>& parts) {
    const CommandResult ran = run_program("facet", words);
    CHECK(ran.status == 2);
    return missing(ran.err, parts);
  };
  CHECK(refused({"tune", "--shipped"}, {"write --list --shipped"}) == "");
  CHECK(refused({"tune", "--list", "--ship", folder.path()},
                {"--ship puts into a table what a search finds"}) == "");
  CHECK(refused({"tune", causal_path(), "--device", "host", "--ship", folder.path(), "--ship-unclean"},
                {"tables are for GPUs"}) == "");
  CHECK(refused({"tune", causal_path(), "--device", "host", "--ship-unclean"}, {"name its folder"}) == "");
  CHECK(refused({"tune", causal_path(), "--ship", ""}, {"the folder's name is empty"}) == "");
}
