// The command line as a user meets it: help, mistakes and exit statuses.
#include <nlohmann/json.hpp>

#include "tests/catch.h"
#include "tests/skip.h"
#include "tests/tools/command/command.h"
#include "tests/tools/temporary.h"
#include "tools/console/version.h"

using namespace fa::tools;
using nlohmann::json;

TEST_CASE("facet without a command shows help and fails; with --help it succeeds") {
  const auto nothing = facet({});
  CHECK(nothing.status == 2);
  CHECK(missing(nothing.err, {"check", "bench"}) == "");
  CHECK(nothing.out.empty());
  for (const char* command : {"check", "explain", "emit", "run", "bench", "tune", "build", "bundle", "cache",
                              "help", "completion"}) {
    const auto help = facet({command, "--help"});
    CHECK(help.status == 0);
    CHECK(missing(help.out, {"Examples:", std::string("facet ") + command}) == "");
    CHECK(help.err.empty());
  }
  CHECK(facet({"--help"}).status == 0);
  CHECK(facet({"help"}).out == facet({"--help"}).out);
  CHECK(facet({"help", "run"}).out == facet({"run", "--help"}).out);
  CHECK(facet({"-v"}).out == facet({"--version"}).out);
  const auto version = facet({"--version"});
  CHECK(version.status == 0);
  CHECK(without_start(version.out, "facet 0.") == "");
  const std::string commit = source_commit();
  CHECK(missing(version.out, {commit.empty() ? "no commit" : "(commit " + commit.substr(0, 12)}) == "");
}

TEST_CASE("bad command lines are status 2 with one plain sentence") {
  const auto unknown = facet({"run", causal_path(), "--bogus"});
  CHECK(unknown.status == 2);
  CHECK(first_line(unknown.err) == "facet: error: The following argument was not expected: --bogus");
  CHECK(missing(unknown.err, {"`facet run --help`"}) == "");
  for (const char* misspelt : {"--verfy", "--head-dims", "--sed"}) {
    const auto result = facet({"run", causal_path(), misspelt});
    CHECK(result.status == 2);
    CHECK(missing(result.err, {misspelt, "did you mean --", "`facet run --help`"}) == "");
  }
  CHECK(facet({"frobnicate"}).status == 2);
  const auto misspelt = facet({"rum", causal_path()});
  CHECK(misspelt.status == 2);
  CHECK(missing(misspelt.err, {"there is no command 'rum'", "did you mean `facet run`?"}) == "");
  const auto help = facet({"help", "rum"});
  CHECK(help.status == 2);
  CHECK(missing(help.err, {"there is no command 'rum'", "did you mean `facet run`?"}) == "");
  CHECK(facet({"help", "run"}).status == 0);
  CHECK(facet({"help"}).status == 0);
  CHECK(facet({"check"}).status == 2);
  CHECK(facet({"run", causal_path(), "--batch", "0"}).status == 2);
  CHECK(facet({"run", causal_path(), "--batch", "many"}).status == 2);
  CHECK(facet({"run", causal_path(), "--device", "tpu"}).status == 2);
  CHECK(facet({"emit", causal_path(), "--stage", "soup"}).status == 2);
  const auto gpu = facet({"explain", causal_path(), "--gpu", "voodoo2"});
  CHECK(gpu.status == 2);
  CHECK(without_start(first_line(gpu.err), "facet: error: ") == "");
  CHECK(missing(first_line(gpu.err), {"voodoo2", "h100"}) == "");
}

TEST_CASE("words that are not expected are named in their order", "[tools]") {
  const auto two = facet({"check", causal_path(), "--sed", "--bogus"});
  CHECK(two.status == 2);
  CHECK(first_line(two.err) == "facet: error: The following arguments were not expected: --sed --bogus");
  for (const std::vector<std::string>& more : {std::vector<std::string>{"--json", ""}, {"--json="}}) {
    std::vector<std::string> words = {"check", causal_path()};
    words.insert(words.end(), more.begin(), more.end());
    const auto empty = facet(words);
    CHECK(empty.status == 2);
    CHECK(missing(empty.err, {"--json is empty"}) == "");
  }
}

TEST_CASE("an empty value is refused, for it is mostly that of a variable that was never set", "[tools]") {
  for (const char* option : {"--q", "--out", "--lse", "--plan", "--gpu", "--dtype", "--set"}) {
    const auto result = facet({"run", causal_path(), "--device", "host", option, ""});
    INFO(option << ": " << result.err);
    CHECK(result.status == 2);
    CHECK(missing(first_line(result.err), {option}) == "");
  }
  CHECK(facet({"emit", causal_path(), "-o", ""}).status == 2);
  CHECK(facet({"explain", causal_path(), "--tiles", "--map", ""}).status == 2);
  CHECK(facet({"check", causal_path(), "--json"}).status == 0);
}

TEST_CASE("a probability is told to be none before the spec is told to take it", "[tools]") {
  const auto result = facet({"run", causal_path(), "--device", "host", "--dropout", "nan"});
  CHECK(result.status == 2);
  CHECK(missing(result.err, {"between 0 and 1"}) == "");
}

TEST_CASE("a file with extents that no problem has is refused by its own numbers", "[tools]") {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 4, 200000000000, 16), }";
  header += std::string(117 - header.size(), ' ') + "\n";
  const TemporaryFolder folder;
  const std::string path =
      folder.write("big.npy", std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + std::string(64, '0'));
  const auto result = facet({"run", causal_path(), "--device", "host", "--q", path});
  CHECK(result.status == 2);
  CHECK(missing(result.err, {path, "200000000000"}) == "");
}

TEST_CASE("a pipe in the place of q is told why it cannot be there", "[tools]") {
  const auto result = shell("\"$FACET\" run \"$SPECS\"/causal.fa --device host --q <(echo x)");
  CHECK(result.status == 2);
  CHECK(missing(result.err, {"is no regular file", "save it in a file"}) == "");
}

TEST_CASE("JSON says what it can of names that are no UTF-8") {
  const auto absent = facet({"check", "none\xa0.fa", "--json"});
  CHECK(absent.status == 2);
  CHECK(json::parse(absent.out)[0]["file"] == "none\xef\xbf\xbd.fa");
}

TEST_CASE("numbers on the command line are whole, and in their range", "[tools]") {
  const auto says = [](const std::vector<std::string>& more) {
    const auto result = facet(small_run({causal_path()}, more));
    CHECK(result.status == 2);
    return first_line(result.err);
  };
  CHECK(says({"--kv-len", "0"}) ==
        "facet: error: --kv-len: it is '0', it must be a whole number of at least 1, below 2^31");
  CHECK(says({"--seed", "-1"}) ==
        "facet: error: --seed: it is '-1', it must be a whole number of at least 0, below 2^64");
  CHECK(says({"--seed", "18446744073709551616"}) ==
        "facet: error: --seed: it is '18446744073709551616', it must be a whole number of at least 0, below "
        "2^64");
}

#ifndef FA_SANITIZED  // sanitizers map terabytes
TEST_CASE("a process that gets no memory says so and ends with status 1", "[tools]") {
  const std::string asked = GENERATE("check", "explain", "explain --tiles --q-len 128", "emit");
  // Each limit makes another allocation fail: first one of the loader, then of LLVM's globals, of the spec,
  // of the analysis.
  int refused = 0;
  bool is_started = false;  // below some limit the system cannot even map the program
  bool has_run = false;     // between the two, less than a MiB apart, the program itself finds no memory
  for (int kibibytes = 30 << 10; kibibytes < 64 << 10; kibibytes += is_started && !has_run ? 128 : 1024) {
    const std::string command =
        "ulimit -v " + std::to_string(kibibytes) + "; exec \"$0\" " + asked + " \"$1\"";
    const auto result = run_program("/bin/sh", {"-c", command, program_path("facet"), causal_path()});
    INFO(asked << " in " << kibibytes << " KiB: " << result.status << " " << result.err);
    const bool by_loader = result.status == 127;
    is_started |= by_loader || result.err.starts_with("facet: error");
    has_run |= result.status == 0;
    if (!is_started) continue;
    const bool by_facet = result.status == 1 && result.err.starts_with("facet: error: out of memory");
    refused += by_facet;
    CHECK((by_loader || by_facet || result.status == 0));
  }
  CHECK(refused > 0);
}

TEST_CASE("NVRTC without memory ends the process with a message and status 1", "[tools]") {
  if (fa::tests::skip_without_nvrtc()) return;
  int refused = 0;
  for (int mebibytes = 120; mebibytes < 300; mebibytes += 9) {
    const std::string command =
        "ulimit -v " + std::to_string(mebibytes * 1024) + "; exec \"$0\" emit \"$1\" --stage ptx --gpu a100";
    const auto result = run_program("/bin/sh", {"-c", command, program_path("facet"), causal_path()});
    INFO(mebibytes << " MiB: " << result.status << " " << result.err);
    CHECK((result.status == 0 ||
           (result.status == 1 && result.err.find("facet: error: ") != std::string::npos)));
    refused += result.status;
  }
  CHECK(refused > 0);
}
#endif
