// Plans that were tuned at two lengths, from the store to the launch: processes with a driver that has no GPU
// (tests/programs/fake_libcuda.cpp). Needs NVRTC.
#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/catch.h"
#include "tests/runtime/system/temporary.h"
#include "tests/skip.h"
#include "tests/tools/command/command.h"

using namespace fa;
using namespace fa::tests;
using namespace fa::tools;
using nlohmann::json;

namespace {

constexpr const char* kShort =
    "sm75 q_outer tile_q=64 tile_kv=32 warps=4 stages=1 q_in_registers=0 min_ctas=2";
constexpr const char* kLong =
    "sm75 q_outer tile_q=128 tile_kv=32 warps=4 stages=1 q_in_registers=0 min_ctas=2";
const std::vector<std::string> kSpec = {"--head-dim", "64", "--dtype", "f16"};

/// A machine with a T4 that computes nothing: folders of its own, and a log of what reaches the driver.
class FakeMachine {
 public:
  CommandResult facet(std::vector<std::string> words, const std::string& program = "facet") const {
    return run_program(program, words,
                       {"FA_LIBCUDA=" + program_path("fake_libcuda.so"), "FAKE_CUDA_LOG=" + log(),
                        "FA_TUNE_DIR=" + (folder_ / "tuned"), "FA_CACHE_DIR=" + (folder_ / "cache")});
  }

  CommandResult of_causal(const std::string& command, std::vector<std::string> more) const {
    more.insert(more.begin(), {command, causal_path()});
    more.insert(more.end(), kSpec.begin(), kSpec.end());
    return facet(std::move(more));
  }

  /// `facet run` at 4 x 16 heads, which is many CTAs of work at every length here.
  json run(int length) const {
    const CommandResult ran =
        of_causal("run", {"--device", "cuda", "--batch", "4", "--heads", "16", "--q-len",
                          std::to_string(length), "--repeat", "1", "--json"});
    INFO(ran.err);
    REQUIRE(ran.status == 0);
    return json::parse(ran.out);
  }

  /// Modules, by hash, that were loaded since the last call, and the one that was launched last.
  struct Seen {
    std::set<std::string> loaded;
    std::string launched;
  };
  Seen seen() {
    const std::string all = read_file(log());
    Seen seen;
    for (std::size_t at = read_; at < all.size();) {
      const std::size_t end = all.find('\n', at);
      const std::string line = all.substr(at, end - at);
      constexpr std::string_view kLaunch = "launch facet_forward ";
      if (line.starts_with("load ")) seen.loaded.insert(line.substr(5));
      if (line.starts_with(kLaunch))
        seen.launched = line.substr(kLaunch.size(), line.find(" blocks") - kLaunch.size());
      at = end + 1;
    }
    read_ = all.size();
    return seen;
  }

  /// Makes the store remember plans that were measured here at a length each.
  void remember(const std::vector<std::pair<int, std::string>>& plans) const {
    REQUIRE(of_causal("tune", {"--gpu", "t4", "--budget", "0.001"}).status == 0);
    REQUIRE(facet({"tune", "--export", folder_ / "one.jsonl"}).status == 0);
    json record = json::parse(read_file(folder_ / "one.jsonl"));
    REQUIRE(facet({"tune", "--forget"}).status == 0);
    record.erase("predicted");
    record["device"] = "Fake T4 as t4";
    std::string lines;
    for (const auto& [length, plan] : plans) {
      record["problem"] = fmt::format("B4 H16 N{}", length);
      record["size"] = {{"batch", 4}, {"heads", 16}, {"kv_heads", 16}, {"q_len", length}, {"kv_len", length}};
      record["plan"] = plan;
      lines += record.dump() + "\n";
    }
    write_file(folder_ / "measured.jsonl", lines);
    REQUIRE(facet({"tune", "--import", folder_ / "measured.jsonl"}).status == 0);
  }

  const TemporaryFolder& folder() const { return folder_; }

 private:
  std::string log() const { return folder_ / "log"; }

  TemporaryFolder folder_;
  std::size_t read_ = 0;
};

}  // namespace

TEST_CASE("plans of two lengths become two cubins, and each is launched for its lengths",
          "[tools][tune][bucket][nvrtc]") {
  if (skip_without_nvrtc()) return;
  FakeMachine machine;
  machine.remember({{512, kShort}, {8192, kLong}});

  // The process that builds them: of few CTAs of work the model's own plan as well, a third.
  const json built = machine.run(512);
  CHECK(built["kernel"]["compile_ms"]["source"] == "compiled");
  CHECK(built["kernel"]["plan"] == kShort);
  CHECK(built["kernel"]["plan_calls"] == "kv_len up to 2048");
  CHECK(built["kernel"]["num_plans"] == 3);
  CHECK(missing(built["kernel"]["tuned"], {"B4 H16 N512", "; ", "B4 H16 N8192"}) == "");
  const FakeMachine::Seen first = machine.seen();
  CHECK(first.loaded.size() == 3);

  // Other processes find all of them, whatever the length, and build nothing.
  std::map<int, std::string> launched;
  for (const int length : {100, 512, 2048, 2049, 3000}) {
    const json ran = machine.run(length);
    CAPTURE(length);
    CHECK(ran["kernel"]["compile_ms"]["source"] == "disk cache");
    CHECK(ran["kernel"]["plan"] == (length <= 2048 ? kShort : kLong));
    CHECK(ran["kernel"]["plan_calls"] == (length <= 2048 ? "kv_len up to 2048" : "all other calls"));
    const FakeMachine::Seen seen = machine.seen();
    CHECK(seen.loaded == first.loaded);
    launched[length] = seen.launched;
  }
  CHECK(launched[512] == first.launched);
  CHECK(launched[100] == launched[2048]);
  CHECK(launched[2048] != launched[2049]);
  CHECK(launched[2049] == launched[3000]);

  // explain says the same, as text and as JSON.
  const CommandResult said = machine.of_causal("explain", {"--gpu", "t4"});
  CHECK(missing(said.out, {"plans by call, as compile takes them", "up to ", " CTAs of work: sm75",
                           std::string("kv_len up to 2048: ") + kShort, "why: 1.",
                           std::string("all other calls: ") + kLong, "with the plan for all other calls"}) ==
        "");
  const json plans =
      json::parse(machine.of_causal("explain", {"--gpu", "t4", "--json"}).out)["compile_takes"];
  CHECK(plans["source"] == "measured");
  REQUIRE(plans["plans"].size() == 3);
  CHECK(plans["plans"][1]["calls"] == "kv_len up to 2048");
  CHECK(plans["plans"][1]["plan"] == kShort);

  // A plan that is asked for is the only one, and comes from the same cache.
  const CommandResult forced =
      machine.of_causal("run", {"--device", "cuda", "--plan", kShort, "--repeat", "1", "--json"});
  const json kernel = json::parse(forced.out)["kernel"];
  CHECK(kernel["num_plans"] == 1);
  CHECK(kernel["compile_ms"]["source"] == "disk cache");
  const FakeMachine::Seen seen = machine.seen();
  CHECK(seen.loaded == std::set{launched[512]});

  // A bundle of that machine carries them, and a process without a compiler launches each.
  const std::string bundle = machine.folder() / "x.facet-bundle";
  const CommandResult bundled = machine.of_causal("build", {"--arch", "sm_75", "-o", bundle, "--json"});
  INFO(bundled.err);
  REQUIRE(bundled.status == 0);
  const json kernels = json::parse(bundled.out)["kernels"];
  REQUIRE(kernels.size() == 1);
  CHECK(kernels[0]["plan"] == kLong);
  REQUIRE(kernels[0]["buckets"].size() == 2);
  CHECK(kernels[0]["buckets"][1]["plan"] == kShort);
  CHECK(kernels[0]["buckets"][1]["calls"] == "kv_len up to 2048");
  CHECK(kernels[0]["from_disk"] == true);  // what `run` has built
  CHECK(missing(machine.facet({"bundle", bundle}).out,
                {kLong, std::string(kShort) + ", for kv_len up to 2048", ": 1 kernel, built by"}) == "");
}

TEST_CASE("facet bench says which plan ran", "[tools][tune][bucket][nvrtc]") {
  if (skip_without_nvrtc()) return;
  FakeMachine machine;
  const CommandResult ran = machine.of_causal(
      "bench", {"--device", "cuda", "--heads", "4", "--q-len", "256,2048", "--time", "1", "--json"});
  INFO(ran.err);
  REQUIRE(ran.status == 0);
  const json results = json::parse(ran.out)["results"];
  REQUIRE(results.size() == 2);
  CHECK(results[0]["plan"] != results[1]["plan"]);
  CHECK(missing(results[0]["plan_calls"], {"up to ", " CTAs of work"}) == "");
  CHECK(results[1]["plan_calls"] == "all other calls");
  CHECK(machine.seen().loaded.size() == 2);
}

TEST_CASE("facet tune finds a plan for each length on a GPU", "[tools][tune][bucket][nvrtc]") {
  if (skip_without_nvrtc()) return;
  FakeMachine machine;
  // Of head_dim 256 a T4 has few plans.
  const CommandResult tuned = machine.facet({"tune", causal_path(), "--device", "cuda", "--head-dim", "256",
                                             "--dtype", "f16", "--heads", "2", "--q-len", "128,2048",
                                             "--budget", "10m", "--json"});  // sanitizers are slow
  INFO(tuned.err);
  REQUIRE(tuned.status == 0);
  const json results = json::parse(tuned.out)["results"];
  REQUIRE(results.size() == 2);
  for (const int i : {0, 1}) {
    CHECK(results[i]["size"]["q_len"] == (i == 0 ? 128 : 2048));
    CHECK(results[i]["problem"] == (i == 0 ? "B1 H2 N128" : "B1 H2 N2048"));
    CHECK(results[i]["finished"] == true);
  }
  const json listed = json::parse(machine.facet({"tune", "--list", "--json"}).out);
  CHECK(listed["plans"].size() == 2);

  // A prediction has a plan for each as well, however short its time is; the builds serve both.
  const CommandResult predicted =
      machine.facet({"tune", causal_path(), "--gpu", "t4", "--head-dim", "256", "--dtype", "f16", "--q-len",
                     "128,2048", "--budget", "0.001", "--json"});
  INFO(predicted.err);
  const json guesses = json::parse(predicted.out)["results"];
  REQUIRE(guesses.size() == 2);
  for (const int i : {0, 1}) {
    CHECK(guesses[i]["size"]["kv_len"] == (i == 0 ? 128 : 2048));
    CHECK(guesses[i]["predicted"] == true);
  }
  CHECK(guesses[0]["builds"] == guesses[1]["builds"]);
}
