// Progress: one line on a terminal's stderr, gone at the end, and nowhere else.
#include "tools/console/progress.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/catch.h"
#include "tests/skip.h"
#include "tests/tools/command/command.h"
#include "tests/tools/console/terminal.h"

using namespace fa::tools;

namespace {

constexpr const char* kTwoBenches =
    "\"$FACET\" bench \"$SPECS\"/{causal,full}.fa --device host --head-dim 16 --heads 1 --time 1 ";

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

/// The text without times, which a slow machine adds.
std::string without_estimates(const std::string& text) {
  return std::regex_replace(text, std::regex(", (about )?[0-9]+ (s|min)( left)?"), "");
}

}  // namespace

TEST_CASE("long commands say on a terminal what is done and what is left, and leave no trace", "[tools]") {
  const struct {
    std::string script;
    std::vector<std::string> shown;
  } cases[] = {
      {std::string(kTwoBenches) + "--q-len 33,34",
       {"\r\x1b[K[0 of 4 done] N33 causal: compiling", "[3 of 4 done] N34 full: timing"}},
      {"\"$FACET\" check \"$SPECS\"/{causal,full,alibi}.fa", {"[0 of 3 done]", "[2 of 3 done] ", "alibi.fa"}},
      {"\"$FACET\" explain \"$SPECS\"/document.fa --tiles --gpu a100 --q-len 262144",
       {"classifying tiles [#"}},
      {"\"$FACET\" run \"$SPECS\"/causal.fa --device host --q-len 2048 --verify",
       {"computing the fp64 reference [#"}}};
  for (const auto& [script, shown] : cases) {
    INFO(script);
    Terminal terminal(script);
    CHECK(terminal.finish() == 0);
    CHECK(missing(without_estimates(terminal.shown()), shown) == "");
    CHECK(rendered(terminal.shown()).empty());  // all of it is gone
    CHECK(lines_of(terminal.shown()) == 0);
    CHECK(!terminal.out().empty());
    CHECK(terminal.out().find("done]") == std::string::npos);
    CHECK(terminal.out().find('\x1b') == std::string::npos);
  }
}

TEST_CASE("building says how many kernels are built", "[tools]") {
  if (fa::tests::skip_without_nvrtc()) return;
  Terminal terminal("\"$FACET\" build \"$SPECS\"/{causal,full}.fa --arch sm_80 -o \"$FA_CACHE_DIR\"/b");
  REQUIRE(terminal.wait_for("building with NVRTC"));
  CHECK(terminal.finish() == 0);
  CHECK(missing(without_estimates(terminal.shown()),
                {"[1 of 2 done] planning full for sm_80", "[0 of 2 done] building with NVRTC",
                 "[1 of 2 done] building with NVRTC"}) == "");
  CHECK(rendered(terminal.shown()).empty());
}

TEST_CASE("work that cannot say how far it is says how long it has taken", "[tools]") {
  Terminal terminal("(sleep 5; cat \"$SPECS\"/causal.fa) | \"$FACET\" check - \"$SPECS\"/full.fa");
  CHECK(terminal.finish() == 0);
  CHECK(missing(terminal.shown(), {"[0 of 2 done] <stdin>\r", "[0 of 2 done] <stdin>, 4 s"}) == "");
  CHECK(rendered(terminal.shown()).empty());
}

TEST_CASE("what is printed on the same terminal stands in lines of its own", "[tools]") {
  Terminal terminal("\"$FACET\" check \"$SPECS\"/causal.fa /none.fa \"$SPECS\"/full.fa", true);
  CHECK(terminal.finish() == 2);
  const std::vector<std::string> lines = rendered(terminal.shown());
  REQUIRE(lines.size() == 3);
  CHECK(lines[0] == "ok " + source_path("specs/causal.fa") + ": causal, head_dim 128, bf16");
  CHECK(lines[1] == "/none.fa: error: cannot read the file: No such file or directory");
  CHECK(lines[2] == "ok " + source_path("specs/full.fa") + ": full, head_dim 128, bf16");
}

TEST_CASE("the line is cut to the terminal's width", "[tools]") {
  Terminal terminal(std::string(kTwoBenches) + "--q-len 33,34", false, 30);
  CHECK(terminal.finish() == 0);
  CHECK(missing(terminal.shown(), {"[0 of 4 done] N33 causal: com\r"}) == "");
  CHECK(rendered(terminal.shown(), 30).empty());
}

TEST_CASE("a terminal that cannot rewrite a line shows no progress", "[tools]") {
  CHECK(shell(std::string(kTwoBenches) + "--q-len 33").err == "");
  Terminal dumb("TERM=dumb " + std::string(kTwoBenches) + "--q-len 33");
  CHECK(dumb.finish() == 0);
  CHECK(dumb.shown() == "");
  Terminal as_json(std::string(kTwoBenches) + "--q-len 33 --json");
  CHECK(as_json.finish() == 0);
  CHECK(nlohmann::json::accept(as_json.out()));
}

TEST_CASE("how long it takes still is said once there is something to tell it by", "[tools]") {
  Terminal terminal(
      "\"$FACET\" bench \"$SPECS\"/full.fa --device host --threads 1 --head-dim 16 --heads 1 "
      "--q-len 1024,1025,1026,1027 --time 1500");
  CHECK(terminal.finish() == 0);
  CHECK(missing(terminal.shown(), {"[2 of 4 done, about ", " s left] N1026 full: "}) == "");
}
