// How far a run of the tests is: on a terminal the test case that runs, else a line for each tenth of a long run.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "tests/listener.h"

using fa::tests::Listener;

namespace {

class Progress : public Listener {
 public:
  using Listener::Listener;

  void testRunStarting(const Catch::TestRunInfo& info) override {
    Listener::testRunStarting(info);
    of_ = Catch::filterTests(Catch::getAllTestCasesSorted(*m_config), m_config->testSpec(), *m_config).size();
  }

  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    if (!on_terminal_) return;
    fmt::print(stderr, "\r\033[K{} of {}: {:.60}", done_, of_, info.name);
    std::fflush(stderr);
  }

  void testCaseEnded(const Catch::TestCaseStats&) override {
    ++done_;
    constexpr std::size_t kMany = 100;
    if (on_terminal_)
      fmt::print(stderr, "\r\033[K");  // before what the test case has to say
    else if (of_ >= kMany && done_ * 10 / of_ != (done_ - 1) * 10 / of_)
      fmt::print(stderr, "{} of {} test cases are done\n", done_, of_);
  }

 private:
  std::size_t done_ = 0, of_ = 0;
  const bool on_terminal_ = isatty(STDERR_FILENO) == 1;
};
CATCH_REGISTER_LISTENER(Progress)

}  // namespace
