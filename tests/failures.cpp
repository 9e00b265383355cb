// Names at the end of a run the test cases that failed: what each printed may lie thousands of lines above.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "tests/listener.h"

using fa::tests::Listener;

namespace {

class Failures : public Listener {
 public:
  using Listener::Listener;

  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    place_ = fmt::format("{}:{}", info.lineInfo.file, info.lineInfo.line);
    name_ = info.name;
  }

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    if (stats.totals.testCases.failed > 0) failed_.push_back(fmt::format("failed: '{}' ({})", name_, place_));
  }

  void testRunEnded(const Catch::TestRunStats&) override {
    std::cout.flush();
    for (const std::string& line : failed_) fmt::print(stderr, "{}\n", line);
  }

 private:
  std::string name_, place_;  // of the test case that runs
  std::vector<std::string> failed_;
};
CATCH_REGISTER_LISTENER(Failures)

}  // namespace
