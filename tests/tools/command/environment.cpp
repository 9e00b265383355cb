// FA_* variables take effect in every command that they concern, and the message about a bad one names it.
#include "runtime/build/device_target.h"
#include "runtime/host/jit.h"
#include "tests/catch.h"
#include "tests/skip.h"
#include "tests/tools/command/command.h"
#include "tests/tools/temporary.h"

using namespace fa;
using namespace fa::tools;

namespace {

const std::vector<std::string> kRun = {"run", source_path("specs/causal.fa"), "--q-len", "64"};

CommandResult facet_with(const std::string& setting, std::vector<std::string> words,
                         const std::vector<std::string>& more = {}) {
  words.insert(words.end(), more.begin(), more.end());
  return run_program("facet", words, {setting});
}

}  // namespace

TEST_CASE("FA_PLAN and FA_TARGET reach explain and emit", "[tools][options]") {
  const std::vector<std::string> explain = {"explain", source_path("specs/causal.fa")};
  const std::vector<std::string> emit = {"emit", source_path("specs/causal.fa"), "--stage", "plan"};
  for (const auto& words : {explain, emit}) {
    CHECK(missing(facet_with("FA_PLAN=tile_q=64", words, {"--gpu", "a100"}).out, {"tile_q=64 "}) == "");
    const auto both = facet_with("FA_PLAN=tile_q=64", words, {"--gpu", "a100", "--plan", "tile_q=128"});
    CHECK(missing(both.out, {"tile_q=128 "}) == "");
  }
  CHECK(missing(facet_with("FA_TARGET=l4", explain).out, {"for l4"}) == "");
}

TEST_CASE("FA_PLAN reaches build", "[tools][options]") {
  if (tests::skip_without_nvrtc()) return;
  const TemporaryFolder folder;
  const auto built = facet_with("FA_PLAN=tile_q=64 tile_kv=32", {"build", source_path("specs/causal.fa"),
                                                                 "--arch", "sm_80", "-o", folder.file("x")});
  CHECK(built.status == 0);
  CHECK(missing(facet({"bundle", folder.file("x")}).out, {"tile_q=64 tile_kv=32 "}) == "");
}

TEST_CASE("FA_BACKWARD_PLAN and --backward-plan reach explain and emit", "[tools][options][backward]") {
  const std::vector<std::string> explain = {"explain", source_path("specs/causal.fa"), "--gpu", "a100"};
  const std::vector<std::string> emit = {"emit", source_path("specs/causal.fa"), "--gpu", "a100", "--stage",
                                         "plan"};
  constexpr const char* kOneStage = "FA_BACKWARD_PLAN=keys(stages=1)";
  for (const auto& words : {explain, emit}) {
    CHECK(missing(facet_with(kOneStage, words, {"--backward"}).out, {"parts=1 stages=1) queries("}) == "");
    const auto both = facet_with(kOneStage, words, {"--backward", "--backward-plan", "keys(tile_q=32)"});
    CHECK(missing(both.out, {"keys(tile_q=32 ", "stages=2) queries("}) == "");
    CHECK(facet_with(kOneStage, words).status == 0);
    const auto alone = facet_with("FA_TUNE=never", words, {"--backward-plan", "keys(stages=1)"});
    CHECK(alone.status == 2);
    CHECK(missing(alone.err, {"--backward-plan", "add --backward"}) == "");
    const auto junk = facet_with("FA_BACKWARD_PLAN=junk", words, {"--backward"});
    CHECK(junk.status == 2);
    CHECK(missing(junk.err, {"FA_BACKWARD_PLAN='junk'", "'junk' is neither name=number"}) == "");
    const auto illegal =
        facet_with("FA_TUNE=never", words, {"--backward", "--backward-plan", "keys(stages=3)"});
    CHECK(illegal.status == 2);
    CHECK(missing(illegal.err, {"--backward-plan \"keys(stages=3)\"", "sm80 kernels take 1 or 2"}) == "");
  }
}

TEST_CASE("a backward plan that cannot be read is an error on the host, too", "[tools][options][backward]") {
  const std::vector<std::string> run = {
      "run",       source_path("specs/causal.fa"), "--device", "host", "--q-len", "8", "--dtype", "f32",
      "--backward"};
  const auto junk = facet_with("FA_BACKWARD_PLAN=junk", run);
  CHECK(junk.status == 2);
  CHECK(missing(junk.err, {"backward plan", "'junk' is neither name=number"}) == "");
  CHECK(facet_with("FA_BACKWARD_PLAN=sm75 keys(stages=1)", run).status == 0);
}

TEST_CASE("FA_DETERMINISTIC reaches what builds or shows a backward pass", "[tools][options][backward]") {
  const std::vector<std::string> explain = {"explain", source_path("specs/causal.fa"), "--gpu", "a100"};
  const std::vector<std::string> emit = {"emit", source_path("specs/causal.fa"), "--gpu", "a100", "--stage",
                                         "plan"};
  for (const auto& words : {explain, emit}) {
    CHECK(missing(facet_with("FA_DETERMINISTIC=1", words, {"--backward"}).out, {"deterministic=1"}) == "");
    CHECK(facet_with("FA_DETERMINISTIC=0", words, {"--backward"}).out.find("deterministic=1") ==
          std::string::npos);
    CHECK(facet_with("FA_DETERMINISTIC=1", words).status == 0);  // forward alone has nothing that differs
    CHECK(missing(facet_with("FA_DETERMINISTIC=0", words, {"--deterministic"}).err, {"add --backward"}) ==
          "");
  }
  if (tests::skip_without_nvrtc()) return;
  const TemporaryFolder folder;
  const std::vector<std::string> build = {"build", source_path("specs/causal.fa"), "--arch",    "sm_80",
                                          "-o",    folder.file("b.facet"),         "--backward"};
  const CommandResult built = facet_with("FA_DETERMINISTIC=1", build);
  INFO(built.err);
  REQUIRE(built.status == 0);
  CHECK(missing(facet({"bundle", folder.file("b.facet")}).out, {"deterministic=1"}) == "");
}

TEST_CASE("FA_CPU keeps host kernels from newer instructions", "[tools][options]") {
  if (!host_cpu().triple.starts_with("x86_64") || host_cpu().lanes < 8) {
    tests::skip("this CPU has no AVX2");
    return;
  }
  const std::vector<std::string> explain = {"explain", source_path("specs/causal.fa"), "--gpu", "host"};
  for (const char* dtype : {"f32", "bf16"}) {
    const std::vector<std::string> of_dtype = {"--dtype", dtype};
    CHECK(missing(facet_with("FA_CPU=avx2", explain, of_dtype).out, {"vectors of 8 floats"}) == "");
    const auto wide = facet_with("FA_CPU=avx512", explain, of_dtype);
    CHECK(missing(wide.out, {host_cpu().avx512 ? "vectors of 16 floats" : "vectors of 8 floats"}) == "");
    const auto pairs = facet_with("FA_CPU=avx512_bf16", explain, of_dtype);
    CHECK(pairs.out.find("AMX") == std::string::npos);
    const auto run = facet_with("FA_CPU=avx2", kRun, {"--device", "host", "--verify", "--dtype", dtype});
    CHECK(run.status == 0);
    CHECK(missing(run.out, {"ok: "}) == "");
  }
}

TEST_CASE("a variable that cannot be used is named, with status 2", "[tools][options]") {
  const auto plan = facet_with("FA_PLAN=junk", kRun, {"--device", "host"});
  CHECK(plan.status == 2);
  CHECK(missing(plan.err, {"FA_PLAN='junk'"}) == "");
  CHECK(plan.err.find("--plan") == std::string::npos);
  for (const char* command : {"explain", "emit"}) {
    const auto result = facet_with("FA_PLAN=junk", {command, source_path("specs/causal.fa")});
    CHECK(result.status == 2);
    CHECK(missing(result.err, {"FA_PLAN='junk'"}) == "");
  }
  for (const char* device : {"host", "auto"}) {
    const auto target = facet_with("FA_TARGET=junk", kRun, {"--device", device});
    CHECK(target.status == 2);
    CHECK(missing(target.err, {"'junk'", "FA_TARGET", "a100"}) == "");
  }
  const auto junk = facet_with("FA_TARGET=junk", kRun, {"--device", "host", "--plan", "tile_q=64"});
  CHECK(missing(junk.err, {"'junk'"}) == "");
  CHECK(junk.err.find("--plan") == std::string::npos);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"explain"}, {"explain", "--tiles"}, {"emit"}, {"emit", "--stage", "plan"}}) {
    std::vector<std::string> command = words;
    command.push_back(source_path("specs/causal.fa"));
    const auto unknown = facet_with("FA_TARGET=junk", command);
    CHECK(unknown.status == 2);
    CHECK(missing(unknown.err, {"FA_TARGET='junk'", "a100"}) == "");
  }
  const TemporaryFolder folder;
  const std::vector<std::string> build = {
      "build", source_path("specs/causal.fa"), "--arch", "sm_80", "--no-cache", "-o", folder.file("x")};
  for (const std::string variable : {"FA_NVRTC=/nope", "FA_TARGET=junk", "FA_TEMPLATE_DIR=/nope",
                                     "FA_NVRTC_FLAGS=--junk", "FA_PLAN=junk"}) {
    if (variable != "FA_NVRTC=/nope" && variable != "FA_TARGET=junk" && tests::skip_without_nvrtc()) continue;
    INFO(variable);
    const auto built = facet_with(variable, build);
    CHECK(built.status == 2);
    CHECK(missing(built.err, {variable.substr(0, variable.find('='))}) == "");
  }
  for (const char* device : {"auto", "cuda"}) {
    const auto driver = facet_with("FA_LIBCUDA=/nope", kRun, {"--device", device});
    CHECK(driver.status == 2);
    CHECK(missing(driver.err, {"FA_LIBCUDA='/nope'", "unset it"}) == "");
  }
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"tune", "--device", "host", "--budget", "1"},
        {"bench", "--device", "host", "--plans", "all"}}) {
    std::vector<std::string> command = words;
    command.push_back(source_path("specs/causal.fa"));
    const auto refused = facet_with("FA_PLAN=tile_q=64", command);
    CHECK(refused.status == 2);
    CHECK(missing(refused.err, {"FA_PLAN='tile_q=64'"}) == "");
  }
  const auto size = facet_with("FA_CACHE_SIZE=lots", kRun, {"--device", "host"});
  CHECK(size.status == 2);
  CHECK(missing(size.err, {"FA_CACHE_SIZE='lots'"}) == "");
}

TEST_CASE("another GPU's kernels are not quietly replaced by the host's", "[tools][options]") {
  const auto both = facet_with("FA_TARGET=", kRun, {"--gpu", "a100", "--device", "host"});
  CHECK(both.status == 2);
  CHECK(missing(both.err, {"--gpu", "--device host"}) == "");
  if (why_no_cuda(0).empty()) {
    tests::skip("what is said without a GPU: there is one");
    return;
  }
  const auto result = facet_with("FA_TARGET=", kRun, {"--gpu", "a100"});
  CHECK(result.status == 1);
  CHECK(missing(result.err, {"the kernels of target 'a100' need a GPU"}) == "");
  CHECK(result.out == "");
}
