// FA_TEST_TIMES=FILE: a line for each test case, with the seconds of processor time that it and its child processes took. What
// keeps the suite within its time needs them: seconds of the clock depend on what else the machine does.
#include <fmt/format.h>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "tests/listener.h"
#include "tests/processor_time.h"

using fa::tests::Listener;

namespace {

/// Seconds of all threads of this process and of the children that it has waited for.
double processor_seconds() {
  return fa::tests::processor_seconds(RUSAGE_SELF) + fa::tests::processor_seconds(RUSAGE_CHILDREN);
}

class Times : public Listener {
 public:
  using Listener::Listener;

  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    name_ = info.name;
    begun_ = processor_seconds();
  }

  void testCaseEnded(const Catch::TestCaseStats&) override {
    if (!file_) return;
    fmt::print(file_.get(), "{:.2f} s: {}\n", processor_seconds() - begun_, name_);
    std::fflush(file_.get());
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  static std::FILE* open() {
    const char* path = std::getenv("FA_TEST_TIMES");
    if (path == nullptr) return nullptr;
    std::FILE* const file = std::fopen(path, "w");
    if (file == nullptr) {
      fmt::print(stderr, "FA_TEST_TIMES='{}': {}\n", path, std::strerror(errno));
      std::exit(1);
    }
    return file;
  }
  std::unique_ptr<std::FILE, Close> file_{open()};
  std::string name_;
  double begun_ = 0;
};
CATCH_REGISTER_LISTENER(Times)

}  // namespace
