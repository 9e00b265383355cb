// Ctrl-C: finished results are kept and reported, and the status is 130.
#include "tools/console/interrupt.h"

#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/skip.h"
#include "tests/tools/command/command.h"
#include "tests/tools/console/terminal.h"
#include "tests/tools/temporary.h"

using namespace fa::tools;
using nlohmann::json;

namespace {

constexpr const char* kCtrlC = "\x03";
constexpr const char* kBench =
    "\"$FACET\" bench \"$SPECS\"/causal.fa --device host --threads 1 --head-dim 16 ";
constexpr const char* kLong =
    " --heads 64 --time 100000 ";  // many times longer than until the key is pressed

/// Presses Ctrl-C once the terminal shows `text`, and returns the last line that it shows in the end.
std::string interrupted(Terminal& terminal, const std::string& text) {
  REQUIRE(terminal.wait_for(text));
  terminal.press(kCtrlC);
  CHECK(terminal.finish() == 130);
  const std::vector<std::string> lines = rendered(terminal.shown());
  REQUIRE(!lines.empty());
  return lines.back();
}

}  // namespace

TEST_CASE("a bench that is interrupted writes what it has", "[tools]") {
  const TemporaryFolder folder;
  const std::string file = folder.file("b.json");
  Terminal terminal(std::string(kBench) + "--q-len 33,34,4096" + kLong + "--json '" + file + "'", true);
  CHECK(interrupted(terminal, "N34 D16") ==
        "facet: error: interrupted: 2 of 3 problems are timed, and written to " + file);
  const json report = json::parse(read_file(file));
  CHECK(report["interrupted"] == json({{"done", 2}, {"of", 3}}));
  CHECK(report["results"].size() == 2);
}

TEST_CASE("a bench that is interrupted before it has a result leaves an older file alone", "[tools]") {
  const TemporaryFolder folder;
  const std::string file = folder.write("b.json", "{}");
  Terminal terminal(std::string(kBench) + "--q-len 4096" + kLong + "--json '" + file + "'");
  CHECK(interrupted(terminal, "causal: timing") == "facet: error: interrupted: 0 of 1 problems are timed");
  CHECK(read_file(file) == "{}");
}

TEST_CASE("an interrupted sweep over plans prints those that were timed", "[tools]") {
  Terminal terminal(std::string(kBench) + "--q-len 1024 --time 2000 --plans all --json");
  CHECK(interrupted(terminal, "causal: plan 2 of ") ==
        "facet: error: interrupted: 0 of 1 problems are timed");
  const json report = json::parse(terminal.out());
  CHECK(report["interrupted"] == json({{"done", 0}, {"of", 1}}));
  CHECK(report["results"].size() == 1);
}

TEST_CASE("an interrupted check says what it has checked", "[tools]") {
  Terminal terminal("\"$FACET\" check $(yes \"$SPECS\"/document.fa | head -n 20000)", true);
  const std::string last = interrupted(terminal, "ok ");
  const std::vector<std::string> lines = rendered(terminal.shown());
  CHECK(std::ranges::count(lines,
                           "ok " + source_path("specs/document.fa") + ": document, head_dim 128, bf16") ==
        static_cast<std::ptrdiff_t>(lines.size()) - 1);
  CHECK(last ==
        "facet: error: interrupted: " + std::to_string(lines.size() - 1) + " of 20000 specs are checked");
}

TEST_CASE("a run that is interrupted while it verifies keeps its output", "[tools]") {
  const TemporaryFolder folder;
  Terminal terminal(
      "\"$FACET\" run \"$SPECS\"/full.fa --device host --head-dim 64 --heads 4 --q-len 8192 --repeat 1 "
      "--verify-rows 65536 --out '" +
      folder.file("o.npy") + "'");
  CHECK(interrupted(terminal, "computing the fp64 reference [") ==
        "facet: error: interrupted: computed and timed, not verified");
  CHECK(missing(terminal.out(), {"checksum", "wrote " + folder.file("o.npy")}) == "");
  CHECK(std::filesystem::exists(folder.file("o.npy")));
}

TEST_CASE("a run that is interrupted before it has computed anything writes nothing", "[tools]") {
  const TemporaryFolder folder;
  Terminal terminal(
      "\"$FACET\" run \"$SPECS\"/full.fa --device host --heads 8 --q-len 8192 --repeat 1000 --out '" +
      folder.file("o.npy") + "'");
  CHECK(interrupted(terminal, "running") == "facet: error: interrupted: nothing is written");
  CHECK(terminal.out() == "");
  CHECK(!std::filesystem::exists(folder.file("o.npy")));
}

TEST_CASE("an interrupted build keeps what it has built in the cache", "[tools]") {
  if (fa::tests::skip_without_nvrtc()) return;
  const TemporaryFolder folder;
  // 96 kernels: more than cores, so that most are not begun when the first is built.
  Terminal terminal(
      "\"$FACET\" build \"$SPECS\"/{causal,full,alibi,softcap}.fa --head-dim 32,64,96,128 --dtype f16,bf16 "
      "--arch "
      "sm_80,sm_86,sm_90 -o '" +
      folder.file("b") + "'; status=$?; \"$FACET\" cache --json; exit $status");
  REQUIRE(terminal.wait_for("building with NVRTC"));
  REQUIRE(terminal.wait_for("[1 of 96 done", "building with NVRTC"));
  terminal.press(kCtrlC);
  CHECK(terminal.finish() == 130);
  const std::vector<std::string> said = rendered(terminal.shown());
  REQUIRE(said.size() == 2);
  // Kernels may have several cubins, each of which is an entry.
  const std::string cubins = json::parse(terminal.out())["entries"].dump();
  const std::string start = "facet: error: interrupted: ";
  REQUIRE(said[0].find(start) == 0);
  const std::string built = said[0].substr(start.size(), said[0].find(' ', start.size()) - start.size());
  CHECK(std::stoi(built) >= 1);
  CHECK(std::stoi(built) <= std::stoi(cubins));
  CHECK(said[0] ==
        start + built + " of 96 kernels are built (" + cubins + " cubins), the bundle is not written");
  CHECK(said[1] == "help: the cache keeps those that are: building again goes on from there");
  CHECK(!std::filesystem::exists(folder.file("b")));
}

TEST_CASE("a second SIGINT ends the process at once; one that is ignored stays so", "[tools]") {
  // One launch takes longer than the test: the first is noted and waits for its end. On a machine that is busy the launch may
  // begin late, and the first ends the command before it: then once more, with more patience.
  bool ended_at_once = false;
  for (const useconds_t patience : {300'000, 1'000'000, 5'000'000}) {
    // One head: little to fill with numbers before the launch.
    Terminal terminal(std::string(kBench) + "--heads 1 --q-len 400000 --dtype f32 --time 1");
    REQUIRE(terminal.wait_for("causal: timing"));
    usleep(patience);
    terminal.press(kCtrlC);
    usleep(200000);
    terminal.press(kCtrlC);
    CHECK(terminal.finish() == 130);
    ended_at_once = terminal.shown().find("interrupted") == std::string::npos;
    if (ended_at_once) break;
  }
  CHECK(ended_at_once);
  const auto ignored = shell(
      "trap '' INT; \"$FACET\" check \"$SPECS\"/{causal,document}.fa & pid=$!; kill -INT $pid; wait $pid");
  CHECK(ignored.status == 0);
  CHECK(missing(ignored.out, {"causal.fa", "document.fa"}) == "");
}
