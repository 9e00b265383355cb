// Options that commands share have the same names, defaults and error messages in each.
#include "tools/command/arguments.h"

#include <nlohmann/json.hpp>
#include <set>

#include "tests/catch.h"
#include "tests/tools/command/command.h"
#include "tools/problem/describe.h"

using namespace fa::tools;
using nlohmann::json;

namespace {

CommandResult explain(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"explain", causal_path(), "--gpu", "a100"};
  words.insert(words.end(), more.begin(), more.end());
  return facet(words);
}

CommandResult run(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"run",        causal_path(), "--device", "host",
                                    "--head-dim", "16",          "--repeat", "1"};
  words.insert(words.end(), more.begin(), more.end());
  return facet(words);
}

/// The lines of a command's --help under "Problem:" that are about sizes.
std::string size_options(const std::string& command) {
  const std::string help = facet({command, "--help"}).out;
  const std::size_t begin = help.find("  --batch N");
  const std::size_t last = help.find("  --kv-len", begin);
  return help.substr(begin, help.find('\n', last) - begin);
}

}  // namespace

TEST_CASE("explain and run are about the same problem", "[tools]") {
  CHECK(size_options("explain") == size_options("run"));
  CHECK(missing(size_options("run"), {"--heads N", "--kv-heads N", "--q-len N", "[512]"}) == "");
  for (const std::vector<std::string>& given : {std::vector<std::string>{},
                                                {"--q-len", "40"},
                                                {"--kv-len", "50", "--heads", "2"},
                                                {"--batch", "2", "--heads", "4", "--kv-heads", "2"}}) {
    auto words = given;
    words.emplace_back("--json");
    const json explained = json::parse(explain(words).out)["size"];
    json ran = json::parse(run(words).out)["problem"];
    ran.erase("params");
    CHECK(explained == ran);
  }
}

TEST_CASE("explain and run refuse the same sizes in the same words", "[tools]") {
  for (const std::vector<std::string>& given : {std::vector<std::string>{"--q-len", "2147483647"},
                                                {"--kv-len", "16777217"},
                                                {"--heads", "4", "--kv-heads", "3"},
                                                {"--batch", "65537"},
                                                {"--q-len", "0"},
                                                {"--kv-len", "many"}}) {
    INFO(given.back());
    const auto explained = explain(given);
    CHECK(explained.status == 2);
    CHECK(explained.out == "");
    CHECK(first_line(explained.err) == first_line(run(given).err));
  }
}

TEST_CASE("rates are GFLOP/s on the host, TFLOP/s on a GPU, however large", "[tools]") {
  CHECK(print_rate(2e15, 1000, false) == "2000000 GFLOP/s");
  CHECK(print_rate(83.6e9, 1000, false) == "83.6 GFLOP/s");
  CHECK(print_rate(1.5e12, 1000, false) == "1500 GFLOP/s");
  CHECK(print_rate(312e12, 1000, true) == "312 TFLOP/s");
  CHECK(print_rate(83.6e9, 1000, true) == "0.0836 TFLOP/s");
  const std::vector<std::string> small = {"--device", "host", "--head-dim", "16", "--heads", "1"};
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"run", causal_path(), "--q-len", "64"},
        {"bench", causal_path(), "--q-len", "64", "--time", "1"},
        {"bench", causal_path(), "--q-len", "64", "--time", "1", "--plans", "all"}}) {
    auto words = command;
    words.insert(words.end(), small.begin(), small.end());
    const std::string out = facet(words).out;
    CHECK(missing(out, {" GFLOP/s"}) == "");
    CHECK(out.find("TFLOP/s") == std::string::npos);
  }
  CHECK(missing(explain({}).out, {" TFLOP/s"}) == "");
}

#ifndef FA_SANITIZED  // sanitizers map terabytes
TEST_CASE("what is suggested where memory runs out are options that the command has", "[tools]") {
  // The messages of the command under each memory limit that is too low for it but lets it start.
  const auto starved = [](const std::string& words) {
    std::set<std::string> said;
    for (int mebibytes = 30; mebibytes < 64; ++mebibytes) {
      const auto result = shell("ulimit -v " + std::to_string(mebibytes * 1024) + "; exec \"$FACET\" " +
                                words + " \"$SPECS\"/causal.fa");
      if (result.err.starts_with("facet: error: out of memory\n")) said.insert(result.err);
    }
    return said;
  };
  const std::string plain = "facet: error: out of memory\nhelp: give the process more";
  CHECK(starved("check") == std::set{plain + "\n"});
  CHECK(starved("explain --gpu a100")
            .contains(plain + ", or try smaller --batch, --heads, --q-len or --kv-len\n"));
}
#endif
