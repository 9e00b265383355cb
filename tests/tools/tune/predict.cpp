// facet tune --gpu: plans for GPUs that are elsewhere. Needs NVRTC and no GPU.
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/runtime/system/temporary.h"
#include "tests/skip.h"
#include "tests/tools/command/command.h"

using namespace fa;
using namespace fa::tests;
using namespace fa::tools;
using nlohmann::json;

namespace {

// Of head_dim 256 a T4 has few plans.
const std::vector<std::string> kFew = {"--head-dim", "256", "--dtype", "f16"};

CommandResult in_folder(const TemporaryFolder& folder, const std::vector<std::string>& words,
                        std::vector<std::string> settings = {}) {
  settings.push_back("FA_TUNE_DIR=" + (folder / "tuned"));
  return run_program("facet", words, settings);
}

CommandResult predict(const TemporaryFolder& folder, const std::string& gpus,
                      const std::vector<std::string>& more) {
  std::vector<std::string> words{"tune", causal_path(), "--gpu", gpus};
  words.insert(words.end(), kFew.begin(), kFew.end());
  words.insert(words.end(), more.begin(), more.end());
  return in_folder(folder, words);
}

json explain(const TemporaryFolder& folder, const std::string& gpu, std::vector<std::string> settings = {}) {
  std::vector<std::string> words{"explain", causal_path(), "--gpu", gpu, "--json"};
  words.insert(words.end(), kFew.begin(), kFew.end());
  const CommandResult said = in_folder(folder, words, std::move(settings));
  INFO(said.err);
  REQUIRE(said.status == 0);
  return json::parse(said.out);
}

}  // namespace

TEST_CASE("a plan is predicted from what every plan takes as built, and goes on from there",
          "[tools][tune][predict][nvrtc]") {
  if (skip_without_nvrtc()) return;
  const TemporaryFolder folder;
  // The first run is stopped early, the second one builds what is left.
  const CommandResult begun = predict(folder, "t4", {"--budget", "0.01", "--threads", "2", "--json"});
  INFO(begun.err);
  const json first = json::parse(begun.out)["results"][0];
  const auto num_first = first["builds"].size();
  CHECK(num_first >= 1);
  CHECK(num_first <= 2);  // what the threads had begun
  CHECK(first["resumed"] == 0);

  const CommandResult ended = predict(folder, "t4", {"--json"});
  INFO(ended.err);
  REQUIRE(ended.status == 0);
  const json result = json::parse(ended.out)["results"][0];
  CHECK(result["resumed"] == num_first);
  CHECK(result["predicted"] == true);
  CHECK(result["finished"] == true);
  CHECK(result["label"] == "causal f16 d256 t4");
  CHECK(result["problem"] == "B2 H16 N8192");
  CHECK(result["not_kept"] == "");
  CHECK(result["device"] == "any t4");
  CHECK(result["of"] == result["builds"].size() + result["not_needed"].size());
  CHECK(first["builds"].size() < result["builds"].size());
  CHECK(result["gain"].get<double>() >= 1);
  CHECK(result["worth_timing"].size() <= 8);
  CHECK(result["builds"][0]["plan"] == result["default_plan"]);
  bool has_best = false;
  for (const json& build : result["builds"]) {
    INFO(build.dump());
    REQUIRE(build["failure"] == "");
    CHECK(build["registers"].get<int>() >= 32);
    CHECK(build["registers"].get<int>() <= 255);
    CHECK(build["shared_memory"].get<int>() > 0);
    CHECK(build["instructions"]["mma"].get<int>() >= 128);
    CHECK_FALSE(build["instructions"].contains("async_copy"));  // that GPU has none
    CHECK(build["unknown"] == 0);
    has_best = has_best || build["plan"] == result["plan"];
    // The compiler's own choice stays even so where the model finds nothing better.
    if (build["plan"] == result["plan"] && result["plan"] != result["default_plan"])
      CHECK(build["looped_spills"] == 0);
  }
  CHECK(has_best);

  const CommandResult list = in_folder(folder, {"tune", "--list"});
  CHECK(missing(list.out, {"causal f16 d256 t4  B2 H16 N8192  predicted ", "any t4, NVRTC "}) == "");
  const json again = json::parse(predict(folder, "t4", {"--json"}).out)["results"][0];
  CHECK(again["resumed"] == result["builds"].size());
  CHECK(again["plan"] == result["plan"]);

  // All plans, built whether they can be the best or not, come to the same.
  const json all = json::parse(predict(folder, "t4", {"--exhaustive", "--json"}).out)["results"][0];
  CHECK(all["of"] == all["builds"].size());
  CHECK(all["not_needed"].empty());
  CHECK(all["plan"] == result["plan"]);
  CHECK(all["worth_timing"] == result["worth_timing"]);

  // What explain says compile would take, and what the compiler would choose by itself.
  const json said = explain(folder, "t4");
  CHECK(said["compile_takes"]["source"] == "predicted");
  CHECK(said["compile_takes"]["plan"] == result["plan"]);
  CHECK(missing(said["compile_takes"]["why"], {"predicted, not timed: ", "built plans on 20"}) == "");
  CHECK(said["plan"] == result["default_plan"]);
  CHECK(explain(folder, "a100")["compile_takes"]["source"] == "compiler");
  CHECK(explain(folder, "t4", {"FA_TUNE=never"})["compile_takes"]["source"] == "compiler");
  CHECK(explain(folder, "t4", {"FA_PLAN=tile_kv=16"})["compile_takes"]["source"] == "asked for");

  // A measured line for such a GPU, wherever it was measured, comes before the prediction.
  REQUIRE(in_folder(folder, {"tune", "--export", folder / "plans.jsonl"}).status == 0);
  json measured = json::parse(read_file(folder / "plans.jsonl"));
  CHECK(measured["predicted"] == true);
  measured.erase("predicted");
  measured["device"] = "Tesla T4 as t4";
  measured["gain"] = 1.25;
  write_file(folder / "measured.jsonl", measured.dump() + "\n");
  REQUIRE(in_folder(folder, {"tune", "--import", folder / "measured.jsonl"}).status == 0);
  const json measured_said = explain(folder, "t4");
  CHECK(measured_said["compile_takes"]["source"] == "measured");
  CHECK(missing(measured_said["compile_takes"]["why"], {"1.25x", ", timed 20", "Tesla T4"}) == "");
  REQUIRE(predict(folder, "t4", {}).status == 0);
  CHECK(explain(folder, "t4")["compile_takes"]["source"] == "measured");

  // `emit` prints what the compiler chooses by itself.
  const CommandResult plan = in_folder(folder, {"emit", causal_path(), "--stage", "plan", "--gpu", "t4",
                                                "--head-dim", "256", "--dtype", "f16"});
  CHECK(missing(plan.out, {result["default_plan"].get<std::string>()}) == "");
}

TEST_CASE("a GPU that cannot run a spec is named, and the others are predicted",
          "[tools][tune][predict][nvrtc]") {
  if (skip_without_nvrtc()) return;
  const TemporaryFolder folder;
  const CommandResult both = in_folder(folder, {"tune", causal_path(), "--gpu", "t4,a100", "--dtype", "bf16",
                                                "--head-dim", "256", "--budget", "0.01"});
  CHECK(both.status == 2);
  CHECK(missing(both.err, {"bf16", "causal bf16 d256 t4: nothing is predicted"}) == "");
  CHECK(missing(both.out,
                {"causal bf16 d256 a100  ", " plans built in ", "not to the end", "in its loops "}) == "");
}

TEST_CASE("Ctrl-C keeps what is built", "[tools][tune][predict][nvrtc]") {
  if (skip_without_nvrtc()) return;
  const TemporaryFolder folder;
  const pid_t child = fork();
  REQUIRE(child >= 0);  // kill(-1) would reach every process
  if (child == 0) {
    setenv("FA_TUNE_DIR", (folder / "tuned").c_str(), 1);
    if (freopen("/dev/null", "w", stdout) == nullptr || freopen("/dev/null", "w", stderr) == nullptr)
      _exit(9);
    execl(program_path("facet").c_str(), "facet", "tune", causal_path().c_str(), "--gpu", "a100", "--dtype",
          "f16", nullptr);
    _exit(9);
  }
  const std::string builds = folder / "tuned/builds.jsonl";
  for (int i = 0; i < 6000 && std::ranges::count(read_file(builds), '\n') < 2; ++i) usleep(10000);
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(std::ranges::count(read_file(builds), '\n') >= 2);
  const json plans = json::parse(in_folder(folder, {"tune", "--list", "--json"}).out)["plans"];
  REQUIRE(plans.size() == 1);
  CHECK(plans[0]["finished"] == false);
  CHECK(plans[0]["predicted"] == true);
}

TEST_CASE("tune --gpu refuses what it cannot do", "[tools][tune][predict]") {
  const TemporaryFolder folder;
  CHECK(missing(predict(folder, "a100,b300", {}).err, {"b300", "a100"}) == "");
  CHECK(predict(folder, "a100,b300", {}).status == 2);
  CHECK(predict(folder, "host", {}).status == 2);
  CHECK(predict(folder, "a100", {"--plan", "tile_q=64"}).status == 2);
  CHECK(predict(folder, "a100", {"--device", "host"}).status == 2);
  CHECK(predict(folder, "a100", {"--budget", "soon"}).status == 2);
}
