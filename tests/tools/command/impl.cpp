// --impl: a baseline in the place of Facet's own kernel (docs/baselines.md), as commands take, show and refuse it.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/runtime/system/temporary.h"
#include "tests/skip.h"
#include "tests/tools/command/command.h"

using namespace fa;
using namespace fa::tools;
using nlohmann::json;

namespace {

using Words = std::vector<std::string>;

constexpr const char* kPlan =
    "sm80 standard tile_q=128 tile_kv=128 warps=4 stages=3 q_in_registers=0 min_ctas=1";

constexpr const char* kFlash1Plan =
    "sm80 kv_outer tile_q=128 tile_kv=128 warps=8 stages=1 q_in_registers=0 min_ctas=1";

Words on_causal(const std::string& command, const Words& more) {
  Words words = {command, causal_path()};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// The first line of what a command that was refused says.
std::string refusal(const Words& words) {
  const CommandResult result = facet(words);
  CHECK(result.status == 2);
  CHECK(result.out == "");
  return first_line(result.err);
}

/// On a GPU whose launches compute nothing (tests/programs/fake_libcuda.cpp).
CommandResult on_fake_gpu(const Words& words, const std::string& folder) {
  return run_program("facet", words,
                     {"FA_LIBCUDA=" + program_path("fake_libcuda.so"), "FAKE_CUDA_LOG=" + folder + "/log",
                      "FA_CACHE_DIR=" + folder + "/cache", "FA_TUNE_DIR=" + folder + "/tuned"});
}

}  // namespace

TEST_CASE("explain and emit show the baseline that --impl names", "[tools][baseline]") {
  const auto explained = facet(on_causal("explain", {"--gpu", "a100", "--impl", "standard"}));
  CHECK(explained.status == 0);
  CHECK(missing(explained.out, {kPlan, "asked for; S and P pass through memory, and no tile is skipped",
                                "every one: baselines leave none out",
                                "workspace            2.0 MiB for batch 1, heads 4"}) == "");
  // What the model says of fused kernels would be wrong here.
  CHECK(explained.out.find("predicted") == std::string::npos);
  const json report =
      json::parse(facet(on_causal("explain", {"--gpu", "a100", "--impl", "standard", "--json"})).out);
  CHECK(report["plan"] == kPlan);
  CHECK(report["workspace_bytes"] == 4 * 512 * (512 * 2 + 4 * 4 + 2 * 4));
  CHECK_FALSE(report.contains("predicted_ms"));

  const auto stage = [](const std::string& name, const Words& more) {
    Words words = {"--gpu", "a100", "--stage", name};
    words.insert(words.end(), more.begin(), more.end());
    return facet(on_causal("emit", words)).out;
  };
  CHECK(first_line(stage("plan", {"--impl", "standard"})) == kPlan);
  CHECK(stage("plan", {"--plan", "standard"}) == stage("plan", {"--impl", "standard"}));
  CHECK(first_line(stage("plan", {"--impl", "standard", "--plan", "tile_kv=64"})).find("tile_kv=64") !=
        std::string::npos);
  CHECK(stage("plan", {"--impl", "facet"}) == stage("plan", {}));
  CHECK(first_line(stage("plan", {"--impl", "flash1"})) == kFlash1Plan);
  CHECK(stage("plan", {"--plan", "kv_outer"}) == stage("plan", {"--impl", "flash1"}));
  CHECK(missing(stage("source", {"--impl", "flash1"}), {"#include \"sm80/flash1.cuh\"", "facet_tiles"}) ==
        "");
  const json flash1 =
      json::parse(facet(on_causal("explain", {"--gpu", "a100", "--impl", "flash1", "--json"})).out);
  CHECK(flash1["plan"] == kFlash1Plan);
  CHECK(flash1["workspace_bytes"] == 4 * 512 * (128 + 2) * 4);
  CHECK(missing(stage("source", {"--impl", "standard"}),
                {"#include \"sm80/standard.cuh\"", "facet_softmax"}) == "");
}

TEST_CASE("an implementation that nobody knows is refused, as are two", "[tools][baseline]") {
  for (const char* command : {"run", "bench", "explain", "emit"}) {
    INFO(command);
    CHECK(missing(refusal(on_causal(command, {"--impl", "junk"})), {"--impl: junk not in {facet,standard"}) ==
          "");
  }
  for (const char* command : {"explain", "emit"}) {
    INFO(command);
    CHECK(missing(refusal(on_causal(command, {"--gpu", "a100", "--impl", "flash1", "--plan", "standard"})),
                  {"it is either kv_outer or standard: leave out one"}) == "");
    CHECK(missing(refusal(on_causal(command, {"--gpu", "a100", "--impl", "standard", "--plan", "q_outer"})),
                  {"it is either standard or q_outer: leave out one"}) == "");
  }
  // Of bundles, and of plans that are chosen.
  for (const Words& words : {on_causal("build", {"--arch", "sm_80", "-o", "none", "--impl", "standard"}),
                             on_causal("tune", {"--impl", "standard"})}) {
    INFO(words.front());
    CHECK(missing(refusal(words), {"not expected: --impl"}) == "");
  }
}

TEST_CASE("a baseline has no backward pass", "[tools][baseline]") {
  for (const Words& words : {on_causal("explain", {"--gpu", "a100", "--impl", "standard", "--backward"}),
                             on_causal("emit", {"--gpu", "a100", "--plan", "standard", "--backward"}),
                             small_run({causal_path()}, {"--impl", "standard", "--backward"})}) {
    INFO(words.front());
    CHECK(missing(refusal(words), {"standard attention has no backward pass: take Facet's", "--backward"}) ==
          "");
  }
}

TEST_CASE("a baseline's plan that cannot run is named by --impl", "[tools][baseline]") {
  CHECK(missing(refusal(small_run({causal_path()}, {"--impl", "standard", "--plan", "tile_kv=48"})),
                {"--impl standard --plan \"tile_kv=48\": plan 'host standard ",
                 "tile_kv=48 is not a multiple of 32"}) == "");
  const Words words = {"--gpu", "a100", "--impl", "flash1", "--plan", "stages=2"};
  CHECK(missing(refusal(on_causal("explain", words)),
                {"--impl flash1 --plan \"stages=2\": plan 'sm80 kv_outer ", "flash1 attention takes 1"}) ==
        "");
}

TEST_CASE("run, bench and explain have baselines on the host", "[tools][baseline]") {
  for (const auto& [impl, order] : {std::pair{"standard", "standard"}, {"flash1", "kv_outer"}}) {
    INFO(impl);
    const auto ran = facet(small_run({causal_path()}, {"--impl", impl, "--verify"}));
    CHECK(ran.status == 0);
    CHECK(missing(ran.out, {fmt::format("host {} tile_q=", order), "ok: 140 of 140 rows against fp64"}) ==
          "");
    CHECK(facet(small_run({causal_path()}, {"--plan", order})).out.find(fmt::format("host {} ", order)) !=
          std::string::npos);
    const auto asm_of = facet(on_causal("emit", {"--gpu", "host", "--impl", impl, "--stage", "ptx"}));
    CHECK(missing(asm_of.out, {"facet_host_pass_0:", "facet_host_pass_1:"}) == "");
    CHECK(asm_of.out.find("facet_host_step:") == std::string::npos);
  }
  const Words host = {"--gpu",      "host", "--dtype", "f32",
                      "--head-dim", "64",   "--plan",  "tile_q=64 tile_kv=64"};
  const auto explained = [&](const Words& more) {
    Words words = on_causal("explain", host);
    words.insert(words.end(), more.begin(), more.end());
    return facet(words).out;
  };
  CHECK(missing(explained({"--impl", "standard"}),
                {"host standard tile_q=64 tile_kv=64", "every one: baselines leave none out",
                 "workspace            4.0 MiB for batch 1, heads 4", "to and from memory"}) == "");
  const json standard = json::parse(explained({"--impl", "standard", "--json"}));
  const json flash1 = json::parse(explained({"--impl", "flash1", "--json"}));
  // S and P in f32, in bytes that calls are really asked for.
  CHECK(standard["workspace_bytes"] >= 4 * 512 * (512 + 2) * 4);
  CHECK(standard["workspace_bytes"] < 4 * 512 * (512 + 2) * 4 * 1.3);
  CHECK(flash1["workspace_bytes"] >= 4 * 512 * (64 + 2) * 4);
  CHECK(flash1["workspace_bytes"] < 4 * 512 * (64 + 2) * 4 * 1.3);
  CHECK(standard["bytes"]["baseline"] > 4.0 * 4 * 512 * 512 * 4);

  const auto bench =
      facet(on_causal("bench", {"--device", "host", "--dtype", "f32", "--head-dim", "64", "--q-len", "512",
                                "--heads", "4", "--plan", "tile_q=64 tile_kv=64", "--time", "1", "--verify",
                                "--impl", "facet,standard,flash1", "--json", "-"}));
  CHECK(bench.status == 0);
  const json lines = json::parse(bench.out)["results"];
  REQUIRE(lines.size() == 3);
  CHECK(lines[0]["impl"] == "facet");
  CHECK(lines[0]["workspace_bytes"] == 0);
  CHECK(lines[1]["impl"] == "standard");
  CHECK(lines[1]["workspace_bytes"] == standard["workspace_bytes"]);
  CHECK(lines[2]["impl"] == "flash1");
  CHECK(lines[2]["workspace_bytes"] == flash1["workspace_bytes"]);
  CHECK(missing(refusal(on_causal("bench", {"--impl", "standard", "--plans", "all"})),
                {"--plans all times every plan of facet, baselines have none"}) == "");
}

#ifndef FA_SANITIZED  // sanitizers map terabytes
TEST_CASE("what cannot be timed on the host costs one line", "[tools][baseline]") {
  // S of 16,384 rows takes 1 GiB.
  const auto bench = shell(
      "ulimit -v 800000; exec \"$FACET\" bench \"$SPECS\"/causal.fa --device host --threads 1 --head-dim 16 "
      "--q-len 16384 "
      "--heads 1 --time 1 --impl standard,facet --json -");
  CHECK(bench.status == 1);
  const json lines = json::parse(bench.out)["results"];
  REQUIRE(lines.size() == 2);
  CHECK(missing(lines[0]["error"],
                {"the call's workspace of 1", "there is not so much memory; shorter sequences",
                 "fused kernels (--impl facet) next to nothing"}) == "");
  CHECK(lines[1]["impl"] == "facet");
  CHECK_FALSE(lines[1].contains("error"));
}
#endif

TEST_CASE("a bundle holds no baseline", "[tools][baseline]") {
  const tests::TemporaryFolder folder;
  const auto built = run_program("facet", on_causal("build", {"--arch", "sm_80", "-o", folder / "out"}),
                                 {"FA_PLAN=standard"});
  CHECK(built.status == 2);
  CHECK(missing(built.err, {"a bundle holds fused kernels, no baselines: unset FA_PLAN"}) == "");
}

TEST_CASE("run and bench launch a baseline's passes, and say what its workspace takes",
          "[tools][baseline][nvrtc]") {
  if (tests::skip_without_nvrtc()) return;
  const tests::TemporaryFolder folder;
  const Words size = {"--device", "cuda", "--dtype", "f16", "--head-dim", "64", "--heads", "1"};
  const auto with = [&](const std::string& command, const Words& more) {
    Words words = on_causal(command, size);
    words.insert(words.end(), more.begin(), more.end());
    return on_fake_gpu(words, folder.path());
  };
  const auto ran = with("run", {"--q-len", "300", "--repeat", "1", "--impl", "standard"});
  INFO(ran.out << ran.err);
  REQUIRE(ran.status == 0);
  const std::string log = tests::read_file(folder / "log");
  for (const char* pass : {"launch facet_scores ", "launch facet_softmax ", "launch facet_outputs "})
    CHECK(log.find(pass) != std::string::npos);
  CHECK(log.find("facet_forward") == std::string::npos);
  const auto ran_flash1 = with("run", {"--q-len", "300", "--repeat", "1", "--impl", "flash1"});
  INFO(ran_flash1.err);
  REQUIRE(ran_flash1.status == 0);
  const std::string both = tests::read_file(folder / "log");
  CHECK(missing(both.substr(log.size()), {"launch facet_tiles ", "launch facet_outputs "}) == "");

  const auto timed = with("bench", {"--q-len", "300", "--time", "1", "--impl", "standard", "--json", "-"});
  INFO(timed.err);
  REQUIRE(timed.status == 0);
  const json line = json::parse(timed.out)["results"][0];
  CHECK(line["impl"] == "standard");
  CHECK(line["workspace_bytes"] >= 300 * 300 * 2);

  // The fake GPU has 16 GiB: S of 131,072 rows would take 32.
  const auto large = with("run", {"--q-len", "131072", "--repeat", "1", "--impl", "standard"});
  CHECK(large.status == 1);
  CHECK(missing(large.err,
                {"the call's workspace of 3", "shorter sequences, fewer heads and fewer batch entries",
                 "fused kernels (--impl facet) next to nothing"}) == "");
}

TEST_CASE("a sweep counts the bytes that wider tiles of algorithm 1 save",
          "[tools][baseline][sweep][nvrtc]") {
  if (tests::skip_without_nvrtc()) return;
  const tests::TemporaryFolder folder;
  const auto swept =
      on_fake_gpu(on_causal("bench", {"--device", "cuda", "--dtype", "f16", "--head-dim", "64", "--heads",
                                      "1", "--q-len", "256", "--time", "1", "--impl", "flash1", "--sweep",
                                      "tile_kv=32,64,128,256", "--json", "-"}),
                  folder.path());
  INFO(swept.err);
  CHECK(swept.status == 1);
  const json lines = json::parse(swept.out)["results"];
  REQUIRE(lines.size() == 4);
  for (const std::size_t i : {0, 1, 2}) {
    const json& line = lines[i];
    INFO(line.dump());
    CHECK(line["impl"] == "flash1");
    CHECK(line["sweep"] == json{{"field", "tile_kv"}, {"value", 32 << i}, {"chosen", i == 2}});
    // Q, O and lse, K and V; Q again with every tile but the first, and O in f32 with two sums a row twice with each.
    const int tiles = 256 / (32 << i);
    CHECK(line["counted_bytes"]["baseline"] ==
          256 * (4 * 128 + 4) + 256 * ((tiles - 1) * 128 + 2 * tiles * (4 * 64 + 8)));
  }
  CHECK(missing(lines[3]["error"].get<std::string>(), {"cannot run", "shared memory"}) == "");
}
