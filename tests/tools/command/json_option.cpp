// --json [FILE] works the same in every command, and never replaces what a command reads.
#include "tools/command/json_option.h"

#include <nlohmann/json.hpp>

#include "runtime/build/nvrtc_find.h"
#include "tests/catch.h"
#include "tests/tools/command/command.h"
#include "tests/tools/temporary.h"

using namespace fa;
using namespace fa::tools;
using nlohmann::json;

namespace {

/// Commands of every kind that have --json, with all that they need.
std::vector<std::vector<std::string>> commands(const TemporaryFolder& folder) {
  const std::vector<std::string> small{"--device", "host", "--q-len",    "20",
                                       "--heads",  "1",    "--head-dim", "16"};
  std::vector<std::vector<std::string>> all = {{"check", causal_path()},
                                               {"explain", causal_path(), "--gpu", "a100"},
                                               {"run", causal_path(), "--repeat", "1"},
                                               {"bench", causal_path(), "--time", "1"},
                                               {"cache"},
                                               {"cache", "list"},
                                               {"cache", "path"},
                                               {"cache", "clear"}};
  for (const std::size_t with_size : {2, 3})
    all[with_size].insert(all[with_size].end(), small.begin(), small.end());
  if (nvrtc_search().library.empty()) {
    WARN("without build and bundle: " << nvrtc_search().problem);
    return all;
  }
  const std::string bundle = folder.file("b.facet-bundle");
  all.push_back({"build", causal_path(), "--arch", "sm_80", "-o", bundle});
  all.push_back({"bundle", bundle});
  return all;
}

}  // namespace

TEST_CASE("--json prints JSON alone; with a file's name it writes it there, beside the text", "[tools]") {
  const TemporaryFolder folder;
  for (const auto& command : commands(folder)) {
    INFO(command[0] << " " << command.back());
    const auto with = [&](std::vector<std::string> more) {
      auto words = command;
      words.insert(words.end(), more.begin(), more.end());
      const auto result = facet(words);
      CHECK(result.err == "");
      CHECK(result.status == 0);
      return result;
    };
    CHECK(json::accept(with({"--json"}).out));
    CHECK(json::accept(with({"--json", "-"}).out));
    for (const std::vector<std::string>& words :
         {std::vector{std::string("--json"), folder.file("report")}, {"--json=" + folder.file("report")}}) {
      const auto written = with(words);
      CHECK(!written.out.empty());
      CHECK(!json::accept(written.out));
      CHECK(json::accept(read_file(folder.file("report"))));
      std::filesystem::remove(folder.file("report"));
    }
    auto nowhere = command;
    nowhere.push_back("--json=" + folder.file("none/report"));
    const auto refused = facet(nowhere);
    CHECK(refused.status == 1);
    if (command[0] != "cache" && command[0] != "bundle") CHECK(refused.out == "");  // before any work
    CHECK(missing(refused.err, {folder.file("none/report") + ": cannot be written"}) == "");
  }
}

TEST_CASE("what a command reads is not taken for --json's file", "[tools]") {
  const TemporaryFolder folder;
  const std::string plain = folder.write("no_ending", "attention t\n");
  const auto both = facet({"check", "--json", plain, causal_path()});
  CHECK(json::parse(both.out).size() == 2);
  CHECK(read_file(plain) == "attention t\n");
  CHECK(json::parse(facet({"check", "--json", causal_path(), plain}).out).size() == 2);
  CHECK(json::parse(facet({"check", "--json", folder.write("new.json", "")}).out)[0]["ok"] == false);
  CHECK(json::parse(facet({"explain", "--json", causal_path(), "--gpu", "a100"}).out)["target"] == "a100");
  CHECK(json::parse(facet({"cache", "--json", "list"}).out).is_array());
  const auto stdin_spec = shell("\"$FACET\" check --json - < \"$SPECS\"/causal.fa");
  CHECK(json::parse(stdin_spec.out)[0]["file"] == "<stdin>");
}

TEST_CASE("--json does not replace what a command reads or writes besides", "[tools]") {
  const TemporaryFolder folder;
  const std::string spec = folder.write("t.fa", "attention t\nhead_dim 16\n");
  const auto says = [&](std::vector<std::string> words) {
    const auto result = facet(words);
    CHECK(result.status == 2);
    return first_line(result.err);
  };
  const auto refused = [&](const std::string& whose, const std::string& file) {
    return "facet: error: --json and " + whose + " both name " + file +
           ": the report would replace it; name another file";
  };
  for (const char* command : {"check", "explain", "run", "bench"})
    CHECK(says({command, spec, "--json=" + spec}) == refused("SPEC", spec));
  CHECK(read_file(spec) == "attention t\nhead_dim 16\n");
  const std::string out = folder.file("o");
  CHECK(says({"run", spec, "--out", out, "--json", out}) == refused("--out or --lse", out));
  CHECK(says({"explain", spec, "--tiles", "--map", out, "--json", out}) == refused("--map", out));
  CHECK(says({"build", spec, "--arch", "sm_80", "-o", out, "--json", out}) == refused("--output", out));
}
