#include "tests/skip.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <string_view>

#include "runtime/build/device_target.h"
#include "runtime/build/nvrtc_find.h"
#include "tests/listener.h"

namespace fa::tests {
namespace {

std::string running;                                // the test case
std::map<std::string, std::set<std::string>> kept;  // by reason: names of test cases
std::set<std::string> silent;                       // test cases that asserted nothing, and gave none

class Skips : public Listener {
 public:
  using Listener::Listener;

  void testCaseStarting(const Catch::TestCaseInfo& info) override { running = info.name; }

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    const bool gave_reason =
        std::ranges::any_of(kept, [](const auto& reason) { return reason.second.contains(running); });
    if (stats.totals.assertions.total() == 0 && !gave_reason) silent.insert(running);
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

}  // namespace

void skip(const std::string& reason) { kept[reason].insert(running); }

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
