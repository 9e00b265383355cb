#define CATCH_CONFIG_EXTERNAL_INTERFACES  // Catch2 version 2 declares listeners only then
#include "tests/skip.h"

#include <fmt/format.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <string_view>

#include "runtime/build/device_target.h"
#include "runtime/build/nvrtc_find.h"
#include "tests/catch.h"

namespace fa::tests {
namespace {

std::string running;                                // the test case
std::map<std::string, std::set<std::string>> kept;  // by reason: names of test cases
std::set<std::string> noted;                        // test cases that gave a reason
std::set<std::string> silent;                       // test cases that asserted nothing, and gave none

std::size_t done = 0, of = 0;  // test cases
bool on_terminal = false;
void show_progress();

#if __has_include(<catch2/catch_all.hpp>)
using Listener = Catch::EventListenerBase;
#else
using Listener = Catch::TestEventListenerBase;
#endif

class Skips : public Listener {
 public:
  using Listener::Listener;

  void testRunStarting(const Catch::TestRunInfo& info) override {
    Listener::testRunStarting(info);
    of = Catch::filterTests(Catch::getAllTestCasesSorted(*m_config), m_config->testSpec(), *m_config).size();
    on_terminal = isatty(STDERR_FILENO) == 1;
  }

  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    running = info.name;
    show_progress();
  }

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    if (stats.totals.assertions.total() == 0 && !noted.contains(running)) silent.insert(running);
    ++done;
    if (on_terminal) fmt::print(stderr, "\r\033[K");  // before what the test case has to say
  }

  void testRunEnded(const Catch::TestRunStats&) override {
    std::cout.flush();
    for (const auto& [reason, names] : kept)
      fmt::print(stderr, "skipped {} test case{}{}: {}\n", names.size(), names.size() == 1 ? "" : "s",
                 names.size() == 1 ? fmt::format(" ('{}')", *names.begin()) : "", reason);
    for (const std::string& name : silent)
      fmt::print(stderr, "'{}' asserted nothing and was not skipped: that counts as a failure\n", name);
  }
};
CATCH_REGISTER_LISTENER(Skips)

/// "123 of 793: what runs now" on a terminal; else a line for each tenth of a long run.
void show_progress() {
  if (on_terminal) {
    fmt::print(stderr, "\r\033[K{} of {}: {:.60}", done, of, running);
    std::fflush(stderr);
  } else if (constexpr std::size_t kMany = 100;
             of >= kMany && done > 0 && done * 10 / of != (done - 1) * 10 / of) {
    fmt::print(stderr, "{} of {} test cases are done\n", done, of);
  }
}

}  // namespace

void skip(const std::string& reason) {
  kept[reason].insert(running);
  noted.insert(running);
}

bool every_case_asserted() { return silent.empty(); }

bool skip_without_gpu() {
  const std::string& reason = why_no_cuda(0);
  if (reason.empty()) return false;
  const char* required = std::getenv("FA_REQUIRE_GPU");
  if (required != nullptr && std::string_view(required) == "1") FAIL("FA_REQUIRE_GPU=1, and " << reason);
  skip(reason);
  return true;
}

bool skip_without_nvrtc() {
  if (!nvrtc_search().library.empty()) return false;
  skip(nvrtc_search().problem);
  return true;
}

}  // namespace fa::tests
