// The library in a process with more and more memory: first it throws std::bad_alloc or an error, or LLVM
// ends the process; then it returns the right result. The result is never wrong or missing.
#include <fmt/format.h>

#include "tests/catch.h"
#include "tests/tools/command/command.h"

using namespace fa::tools;

#ifndef FA_SANITIZED  // sanitizers map terabytes
TEST_CASE("a program whose library gets no memory catches std::bad_alloc or ends, and is never wrong",
          "[tools]") {
  constexpr int kStep = 256, kMost = 512 * 1024;  // kibibytes
  constexpr int kCaught = 3, kError = 4;          // of tests/programs/compile_one.cpp
  constexpr int kByLoader = 127, kAborted = 128 + 6, kCrashed = 128 + 11;  // as a shell says it
  int caught = 0, right = 0;
  for (int kibibytes = 16 * 1024; kibibytes < kMost && right < 8; kibibytes += kStep) {
    const std::string script =
        fmt::format("ulimit -c 0; ulimit -v {}; timeout 60 \"$0\"; exit $?", kibibytes);
    const auto result = run_program("/bin/bash", {"-c", script, program_path("compile_one")});
    INFO(kibibytes << " KiB: " << result.status << " " << result.err);
    const bool is_ended =
        result.status == kByLoader || result.status == kAborted || result.status == kCrashed;
    const bool is_said = result.status == kCaught || (result.status == kError && !result.err.empty());
    CHECK((is_ended || is_said || result.status == 0));
    caught += result.status == kCaught ? 1 : 0;
    right += result.status == 0 ? 1 : 0;
  }
  CHECK(caught > 0);
  CHECK(right == 8);
}
#endif
