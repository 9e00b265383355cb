// `facet explain` and `facet emit`: what each stage prints.
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/tools/command/command.h"
#include "tests/tools/temporary.h"

using namespace fa::tools;
using nlohmann::json;

TEST_CASE("explain tells facts, plan and traffic, for a GPU that is not there") {
  const auto result = facet({"explain", source_path("specs/softcap.fa"), "--gpu", "a100", "--q-len", "8192"});
  CHECK(result.status == 0);
  CHECK(without_start(first_line(result.out), "softcap  bf16, head_dim 128, for a100: ") == "");
  for (const char* part : {"facts", "plan", "why", "shared memory", "registers", "standard attention",
                           "fused kernel", "bound", "predicted", "q_len 8192, kv_len 8192"}) {
    CHECK(missing(result.out, {part}) == "");
  }
  const json report = json::parse(facet({"explain", causal_path(), "--gpu", "h100", "--json"}).out);
  CHECK(report["target"] == "h100");
  CHECK(report["shared_memory"] > 0);
  CHECK(report["bytes"]["standard"] > report["bytes"]["fused"]);
  const auto host = facet({"explain", causal_path(), "--gpu", "host", "--dtype", "f32"});
  CHECK(host.status == 0);
  CHECK(missing(host.out, {"products             vectors of ", " floats; panels of "}) == "");
}

TEST_CASE("explain says which tiles are visited") {
  const auto tiles = [](const char* spec) {
    return facet({"explain", source_path(std::string("specs/") + spec + ".fa"), "--gpu", "host"}).out;
  };
  CHECK(missing(tiles("full"), {"every one: nothing is masked"}) == "");
  CHECK(missing(tiles("causal"), {"by the mask's class: empty ones are left out, full ones run no mask\n"}) ==
        "");
  CHECK(missing(tiles("document"),
                {"full ones run no mask; a pass before finds the classes, from 2 one-sided parts and "
                 "elements where those do not tell\n"}) == "");
}

TEST_CASE("explain for a T4 names its kernels, and what to do about bf16") {
  const auto f16 = facet({"explain", causal_path(), "--gpu", "t4", "--dtype", "f16"});
  CHECK(missing(f16.out, {"sm75 q_outer", "products             tensor cores: f16 times f16"}) == "");
  CHECK(missing(facet({"explain", causal_path(), "--gpu", "t4", "--dtype", "f32"}).out, {"FFMA"}) == "");
  const auto bf16 = facet({"explain", causal_path(), "--gpu", "t4"});
  CHECK(bf16.status != 0);
  CHECK(missing(
            bf16.err,
            {"error: dtype bf16 is more than t4 has: its tensor cores multiply f16",
             "help: write `dtype f16` (facet: --dtype f16) and convert q, k and v, or run it on the host"}) ==
        "");
}

TEST_CASE("the plans by call in docs/tuning.md are those of this compiler", "[slow]") {
  std::ifstream file(source_path("bench/results/predicted_buckets.json"));
  const json record = json::parse(file);
  const std::string spec = source_path("specs/" + record.at("spec").get<std::string>() + ".fa");
  REQUIRE(record.at("rows").size() >= 15);
  for (const json& row : record["rows"]) {
    const std::string dim = std::to_string(row.at("head_dim").get<int>());
    const std::string gpu = row.at("gpu"), dtype = row.at("dtype");
    const auto result =
        run_program("facet", {"explain", spec, "--gpu", gpu, "--dtype", dtype, "--head-dim", dim, "--json"},
                    {"FA_TUNE=never"});
    INFO(gpu << " " << dtype << " d" << dim
             << ": where the model has changed, run bench/tuning/buckets.py and bench/tables.py");
    CHECK(json::parse(result.out).at("compile_takes").at("plans") == row.at("plans"));
  }
}

TEST_CASE("emit prints every stage that needs no NVRTC, to stdout or to a file") {
  const TemporaryFolder folder;
  const auto stage = [&](const std::string& name, const std::string& gpu) {
    const auto result = facet({"emit", causal_path(), "--stage", name, "--gpu", gpu});
    CHECK(result.status == 0);
    CHECK(result.err.empty());
    return result.out;
  };
  CHECK(missing(stage("ast", "a100"), {"mask_mod"}) == "");
  CHECK(missing(stage("ir", "a100"), {"define", "@mask_mod"}) == "");
  CHECK(missing(stage("facts", "a100"), {"mask"}) == "");
  CHECK(missing(stage("derive", "a100"), {"; d score_mod / d score: 1, no code"}) == "");
  CHECK(without_start(stage("plan", "a100"), "sm80 q_outer tile_q=") == "");
  CHECK(missing(stage("source", "a100"), {"extern \"C\""}) == "");
  CHECK(missing(stage("source", "host"), {"define"}) == "");
  CHECK(missing(stage("ptx", "host"), {".text"}) == "");
  CHECK(facet({"emit", causal_path(), "--stage", "plan", "--gpu", "a100", "-o", folder.file("plan.txt")})
            .out.empty());
  CHECK(read_file(folder.file("plan.txt")) == stage("plan", "a100"));
  CHECK(facet({"emit", causal_path(), "-o", folder.file("none/x.cu"), "--gpu", "a100"}).status == 1);

  const auto printed = facet({"emit", causal_path(), "--stage", "plan", "--gpu", "a100", "--json"});
  const json report = json::parse(printed.out);
  CHECK(report["spec"] == "causal");
  CHECK(report["stage"] == "plan");
  CHECK(report["text"] == stage("plan", "a100"));
  const auto beside =
      facet({"emit", causal_path(), "--stage", "plan", "--gpu", "a100", "--json", folder.file("plan.json")});
  CHECK(beside.out == stage("plan", "a100"));
  CHECK(json::parse(read_file(folder.file("plan.json"))) == report);
  CHECK(facet({"emit", causal_path(), "-o", folder.file("p"), "--json", folder.file("p")}).status == 2);
}

TEST_CASE("explain --backward prints the backward pass's plan and its workspace") {
  const TemporaryFolder folder;
  const std::string spec =
      folder.write("a.fa",
                   "attention a\nhead_dim 64\ndtype bf16\ntensor bias : f32[num_q_heads, kv_len] grad\n"
                   "score_mod = score + bias[h, kv_idx]\n");
  const auto backward = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"explain", spec,       "--json", "--gpu",   "a100", "--q-len",
                                   "128",     "--kv-len", "100",    "--heads", "2"};
    words.insert(words.end(), more.begin(), more.end());
    return nlohmann::json::parse(facet(words).out);
  };
  constexpr int kCounts = 4 * (2 + 2);  // of heads of q and kv heads
  constexpr int kStats = 2 * 4 * 128 * 2 + kCounts, kQuerySums = 4 * 128 * 64 * 2, kExactSums = 104 * 2 * 100;
  CHECK_FALSE(backward({}).contains("backward"));
  const nlohmann::json fast = backward({"--backward"})["backward"];
  CHECK(missing(fast["plan"].get<std::string>(), {"dq_by_sums=1 delays_dq=1 deterministic=0"}) == "");
  CHECK(fast["workspace_bytes"] == kStats + kQuerySums);
  const nlohmann::json repeats = backward({"--backward", "--deterministic"})["backward"];
  CHECK(missing(repeats["plan"].get<std::string>(), {"dq_by_sums=0 delays_dq=0 deterministic=1"}) == "");
  CHECK(repeats["workspace_bytes"] == kStats + kExactSums);
  CHECK(first_line(facet({"explain", spec, "--deterministic"}).err) ==
        "facet: error: --deterministic is about gradients: add --backward, or leave it out");
}

TEST_CASE("run --deterministic says what the host does anyway") {
  const auto ran = facet({"run", causal_path(), "--device", "host", "--q-len", "64", "--repeat", "1",
                          "--backward", "--deterministic"});
  CHECK(missing(ran.out, {"repeats    every gradient has the same bits in every run, as the host's always "
                          "have"}) == "");
}

TEST_CASE("emit prints the backward pass's plan and source") {
  const auto backward = [&](const std::string& stage, const std::string& gpu, const std::string& dtype) {
    return facet({"emit", causal_path(), "--stage", stage, "--gpu", gpu, "--dtype", dtype, "--backward"});
  };
  CHECK(without_start(backward("plan", "a100", "bf16").out, "sm80 keys(tile_q=") == "");
  CHECK(missing(backward("source", "t4", "f16").out, {"sm75/backward.cuh", "facet_d_kv", "facet_d_q"}) == "");
  CHECK(missing(backward("source", "host", "f32").out, {"define"}) == "");
  CHECK(missing(backward("source", "a100", "f32").out, {"using Element = Tf32x3"}) == "");
}
