// `facet bench` and `facet cache`.
#include <array>
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

TEST_CASE("bench without a spec times plain attention, and writes records by other benchmarks' names") {
  const TemporaryFolder folder;
  const std::vector<std::string> point = {"bench",        "--device",  "host",        "--time", "1",
                                          "--batch-size", "2",         "--num-heads", "3",      "--emb-dim",
                                          "96",           "--seq-len", "17,40"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> words = point;
    words.insert(words.end(), more.begin(), more.end());
    return facet(words);
  };
  const auto result = with({"--causal", "--backward", "--record", folder.file("list.json")});
  CHECK(result.err == "");
  REQUIRE(result.status == 0);
  const json list = json::parse(read_file(folder.file("list.json")));
  REQUIRE(list.size() == 2);
  const json& first = list[0];
  CHECK(first["spec"] == "causal");
  CHECK(first["causal"] == true);
  CHECK(first["batch_size"] == 2);
  CHECK(first["seq_len"] == 17);
  CHECK(first["num_heads"] == 3);
  CHECK(first["emb_dim"] == 96);
  // Causal over 17 keys keeps 17 * 18 / 2 scores of each of the 6 heads, two products of 32, 2 FLOPs each.
  const double flops = 6.0 * 2 * 2 * 32 * (17 * 18 / 2);
  for (const auto& [pass, times] :
       {std::pair{"forward", 1.0}, {"backward", 2.5}, {"forward_backward", 3.5}}) {
    INFO(pass);
    const double seconds = first[pass]["time(s)"], rate = first[pass]["FLOPS(TFLOPs/s)"];
    CHECK(seconds > 0);
    CHECK(rate * seconds == Approx(1e-12 * times * flops));
  }
  // q, k, v, o and the four gradients in bf16 at least.
  CHECK(first["peak_memory_usage(MB)"] > 8.0 * 2 * 3 * 17 * 32 * 2 / (1 << 20));

  REQUIRE(with({"--dtype", "f32", "--record", folder.file("points/")}).status == 0);
  const json dense = json::parse(read_file(folder.file("points/full_facet_f32_B2_H3_N40_D32.json")));
  CHECK(dense["causal"] == false);
  CHECK_FALSE(dense.contains("backward"));
  CHECK(std::filesystem::exists(folder.file("points/full_facet_f32_B2_H3_N17_D32.json")));
}

TEST_CASE("bench says which of its options exclude each other, before it times anything") {
  const TemporaryFolder folder;
  const auto refusal = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"bench", "--device", "host", "--time", "1", "--q-len", "8"};
    words.insert(words.end(), more.begin(), more.end());
    const auto result = facet(words);
    CHECK(result.status == 2);
    CHECK(result.out == "");
    return result.err;
  };
  CHECK(missing(refusal({causal_path(), "--causal"}), {"--causal", "leave out"}) == "");
  CHECK(missing(refusal({"--emb-dim", "96", "--head-dim", "32"}), {"--emb-dim and --head-dim"}) == "");
  CHECK(missing(refusal({"--emb-dim", "97", "--num-heads", "4"}), {"97", "4 heads"}) == "");
  CHECK(missing(refusal({"--plans", "all", "--record", folder.file("r")}), {"--record", "--json"}) == "");
  CHECK(missing(refusal({causal_path(), "--record", causal_path()}), {"--record", "SPEC"}) == "");
  CHECK(missing(refusal({"--record", folder.file("r"), "--json", folder.file("r")}),
                {"--record", "--json"}) == "");
  CHECK(missing(refusal({"--record", ""}), {"--record", "empty"}) == "");
  CHECK(missing(refusal({"--sweep", "tile_kw"}), {"'tile_kw' (did you mean tile_kv?)"}) == "");
  CHECK(missing(refusal({"--sweep", "tile_kv=32,32"}), {"32 stands twice"}) == "");
  CHECK(missing(refusal({"--sweep", "tile_kv", "--plans", "all"}),
                {"--sweep", "--plans all", "one of the two"}) == "");
  CHECK(missing(refusal({"--sweep", "tile_kv", "--plan", "tile_kv=64"}),
                {"--sweep tile_kv and --plan \"tile_kv=64\" both say"}) == "");
  const auto from_environment =
      run_program("facet", {"bench", "--device", "host", "--sweep", "tile_kv"}, {"FA_PLAN=tile_kv=64"});
  CHECK(from_environment.status == 2);
  CHECK(missing(from_environment.err, {"--sweep tile_kv and FA_PLAN='tile_kv=64' both say"}) == "");
  const auto no_field =
      facet({"bench", "--device", "host", "--time", "1", "--q-len", "8", "--sweep", "warps"});
  CHECK(no_field.status == 2);
  CHECK(missing(no_field.err, {"--sweep warps: plans of host kernels have no such field"}) == "");
  const auto twice = facet({"bench", causal_path(), causal_path(), "--device", "host", "--time", "1",
                            "--q-len", "8", "--record", folder.file("all/")});
  CHECK(twice.status == 2);
  CHECK(missing(twice.err, {"two results", "name a file"}) == "");
  const auto nowhere =
      facet({"bench", "--device", "host", "--time", "1", "--q-len", "8", "--record", "/dev/null/all/"});
  CHECK(nowhere.status == 1);
  CHECK(nowhere.out == "");  // before anything is timed
  CHECK(missing(nowhere.err, {"/dev/null/all/", "cannot be made"}) == "");
  for (const char* option : {"--record", "--json"}) {
    INFO(option);
    const auto no_folder = facet(
        {"bench", "--device", "host", "--time", "1", "--q-len", "8", option, folder.file("none/b.json")});
    CHECK(no_folder.status == 1);
    CHECK(no_folder.out == "");
    CHECK(missing(no_folder.err, {folder.file("none/b.json") + ": cannot be written: " + folder.file("none") +
                                  ": No such file or directory"}) == "");
  }
}

TEST_CASE("bench gives a field of the plan one value after the other", "[tools][sweep]") {
  const TemporaryFolder folder;
  const auto sweep = [&](std::vector<std::string> more) {
    std::vector<std::string> words = {"bench",      causal_path(), "--device", "host", "--dtype", "f32",
                                      "--head-dim", "16",          "--heads",  "1",    "--time",  "1"};
    words.insert(words.end(), more.begin(), more.end());
    return facet(words);
  };
  const auto all = sweep({"--q-len", "40,70", "--sweep", "tile_kv", "--verify", "--record",
                          folder.file("points/"), "--json", folder.file("b.json")});
  INFO(all.out << all.err);
  REQUIRE(all.status == 0);
  CHECK(missing(all.out, {"* what the call takes without --sweep", "counted, not measured",
                          "causal, B1 H1 N40 D16 f32", "tile_kv", "GB counted", "\n  * ", "verified",
                          "causal, B1 H1 N70 D16 f32"}) == "");
  const json results = json::parse(read_file(folder.file("b.json")))["results"];
  REQUIRE(results.size() == 10);  // the host's five widths, at two lengths
  int chosen = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const json& line = results[i];
    INFO(line.dump());
    const int length = i < 5 ? 40 : 70, value = line["sweep"]["value"];
    CHECK(line["size"]["q_len"] == length);
    CHECK(line["sweep"]["field"] == "tile_kv");
    CHECK(value == 32 << (i % 5));
    CHECK(line["plan"].get<std::string>().ends_with(" tile_kv=" + std::to_string(value)));
    CHECK(line["verified"] == true);
    // q, k, v and o of 16 floats a row, and lse.
    CHECK(line["counted_bytes"]["hbm"] == length * (4 * 16 + 1) * 4);
    if (line["sweep"]["chosen"] == true) ++chosen;
    const json record =
        json::parse(read_file(folder.file("points/causal_facet_f32_B1_H1_N" + std::to_string(length) +
                                          "_D16_tile_kv" + std::to_string(value) + ".json")));
    CHECK(record["plan"] == line["plan"]);
    CHECK(record["sweep"] == line["sweep"]);
    CHECK(record["forward"]["time(s)"] > 0);
  }
  CHECK(chosen == 2);

  // Values of its own, one of which no plan can have, around a plan that is asked for in part.
  const auto some = sweep({"--q-len", "40", "--plan", "tile_q=48", "--sweep", "tile_kv=64,40,16", "--record",
                           folder.file("list.json")});
  INFO(some.out << some.err);
  CHECK(some.status == 1);
  CHECK(missing(some.out,
                {" 64 ", " 40 ", "failed", "cannot run: tile_kv=40 is not a multiple of 16", " 16 "}) == "");
  const json list = json::parse(read_file(folder.file("list.json")));
  REQUIRE(list.size() == 3);
  CHECK(list[0]["plan"] == "host q_outer tile_q=48 tile_kv=64");
  CHECK(list[0]["forward"]["time(s)"] > 0);
  CHECK(list[1].contains("error"));
  CHECK(list[1]["sweep"] == json{{"field", "tile_kv"}, {"value", 40}, {"chosen", false}});
  CHECK(list[2]["plan"] == "host q_outer tile_q=48 tile_kv=16");
}

TEST_CASE("a sweep of baselines times what they can run", "[tools][sweep][baseline]") {
  const auto swept = facet({"bench", "--device", "host", "--q-len", "32", "--heads", "1", "--time", "1",
                            "--impl", "facet,standard,flash1", "--sweep", "tile_kv=48,64", "--json", "-"});
  CHECK(swept.status == 1);
  const json lines = json::parse(swept.out)["results"];
  REQUIRE(lines.size() == 6);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const json& line = lines[i];
    INFO(line.dump());
    CHECK(line["impl"] == std::array{"facet", "standard", "flash1"}[i / 2]);
    CHECK(line["sweep"]["value"] == (i % 2 == 0 ? 48 : 64));
    CHECK(line.contains("error") == (i == 2));
  }
  CHECK(missing(lines[2]["error"], {"tile_kv=48 is not a multiple of 32"}) == "");
  CHECK(lines[4]["plan"].get<std::string>().ends_with("tile_kv=48"));
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
