// `facet bench` and `facet cache`.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/tools/command/command.h"
#include "tests/tools/temporary.h"

using namespace fa::tools;
using nlohmann::json;

TEST_CASE("bench times sizes and plans, and writes JSON that says how") {
  const TemporaryFolder folder;
  const auto result =
      facet({"bench", causal_path(), source_path("specs/alibi.fa"), "--device", "host", "--head-dim", "16",
             "--q-len", "33,64", "--heads", "2", "--time", "1", "--verify", "--json", folder.file("b.json")});
  CHECK(result.status == 0);
  CHECK(missing(result.out, {"causal", "alibi", "N33", "verified"}) == "");
  const json report = json::parse(read_file(folder.file("b.json")));
  CHECK(report["results"].size() == 4);
  CHECK(missing(report["command"].get<std::string>(), {"bench", "--verify"}) == "");
  for (const char* key : {"date", "versions", "device", "layout"}) CHECK(report.contains(key));
  const json& line = report["results"][0];
  // Causal over 33 keys keeps 33 * 34 / 2 of 33 * 33 scores; 2 heads, 2 products of 16, 2 FLOPs each.
  CHECK(line["flops"] == 2.0 * 2 * 2 * 16 * (33 * 34 / 2));
  CHECK(line["flops_counted"] == "the scores kept");
  CHECK(line["verified"] == true);
  CHECK(line["time_ms"]["runs"] >= 5);

  const auto plans = facet({"bench", causal_path(), "--device", "host", "--head-dim", "16", "--q-len", "32",
                            "--heads", "1", "--time", "1", "--plans", "all", "--every-score", "--json", "-"});
  CHECK(plans.status == 0);
  const json timed = json::parse(plans.out)["results"];
  REQUIRE(timed.size() >= 1);
  CHECK(timed[0]["flops"] == 2.0 * 2 * 16 * 32 * 32);
  CHECK(timed[0]["flops_counted"] == "every score");

  const auto before = facet({"bench", "--device", "host", "--time", "1", "--q-len", "8,9", causal_path()});
  CHECK(before.status == 0);  // a list of lengths does not swallow the spec after it
  CHECK(facet({"bench", causal_path(), "--plans", "all", "--plan", "tile_q=64"}).status == 2);
  CHECK(facet({"bench", causal_path(), "--q-len", "1,2,3", "--kv-len", "1,2"}).status == 2);
}

TEST_CASE("bench reports a problem that cannot be timed, and times the others") {
  const TemporaryFolder folder;
  const std::string wide =
      folder.write("wide.fa",
                   "attention wide\nhead_dim 16\ndtype f32\ntensor t : f32[kv_len - 40]\n"
                   "score_mod = score + t[0]\n");
  const auto result = facet({"bench", wide, causal_path(), "--device", "host", "--head-dim", "16", "--q-len",
                             "33,64", "--heads", "1", "--time", "1", "--json", folder.file("b.json")});
  CHECK(result.status == 2);
  CHECK(missing(result.err, {wide + ":4:"}) == "");
  const json results = json::parse(read_file(folder.file("b.json")))["results"];
  REQUIRE(results.size() == 4);
  CHECK(results[0].contains("error"));  // 33 keys leave it no extent
  for (const int i : {1, 2, 3}) CHECK(results[i]["time_ms"]["runs"] >= 1);
}

TEST_CASE("bench times the backward pass beside the forward pass, and holds both to the reference") {
  const TemporaryFolder folder;
  const auto result =
      facet({"bench", causal_path(), "--device", "host", "--head-dim", "16", "--q-len", "33,70", "--heads",
             "2", "--time", "1", "--verify", "--backward", "--json", folder.file("b")});
  CHECK(result.err == "");
  REQUIRE(result.status == 0);
  CHECK(missing(result.out, {"verified", "\n                       backward ", "workspace ",
                             "\n                       forward and backward "}) == "");
  const json report = json::parse(read_file(folder.file("b")));
  CHECK(report["results"].size() == 2);
  for (const json& line : report["results"]) {
    CHECK(line["verified"] == true);
    const json& backward = line["backward"];
    CHECK(backward["flops"] == 2.5 * line["flops"].get<double>());
    CHECK(backward["time_ms"]["runs"] >= 3);
    CHECK(line["forward_backward"]["time_ms"]["median"] > backward["time_ms"]["best"]);
    CHECK(backward.contains("workspace_bytes"));
  }
}

TEST_CASE("cache shows, lists and empties what runs have kept") {
  CHECK(facet({"cache", "clear"}).status == 0);
  CHECK(facet(small_run({causal_path()}, {"--repeat", "1"})).status == 0);
  const json stats = json::parse(facet({"cache", "--json"}).out);
  CHECK(stats["entries"] == 1);
  CHECK(stats["bytes"] > 0);
  CHECK(missing(facet({"cache", "list"}).out, {"causal bf16 d16 host"}) == "");
  CHECK(first_line(facet({"cache", "path"}).out) == stats["folder"].get<std::string>());
  CHECK(missing(facet({"cache", "stats"}).out, {"entries  1"}) == "");
  std::string entry;
  for (const auto& file : std::filesystem::directory_iterator(stats["folder"].get<std::string>()))
    if (file.is_regular_file() && file.file_size() > 1000) entry = file.path().string();
  REQUIRE(!entry.empty());
  std::fstream(entry, std::ios::in | std::ios::out | std::ios::binary).seekp(300) << "damage";
  CHECK(missing(facet({"cache", "stats"}).out,
                {"entries  1, 1 of them of no use: `facet cache list` says why"}) == "");
  CHECK(json::parse(facet({"cache", "--json"}).out)["unusable"] == 1);
  CHECK(facet({"cache", "clear"}).out == "removed 1 entry\n");
  CHECK(json::parse(facet({"cache", "--json"}).out)["entries"] == 0);
  CHECK(facet({"cache", "burn"}).status == 2);
}
