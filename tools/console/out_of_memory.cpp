// The message is written without allocating, and nothing is cleaned up: without memory neither can be relied
// on.
#include "tools/console/out_of_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <new>

#include "compiler/ir/out_of_memory.h"
#include "tools/command/commands.h"
#include "tools/console/text.h"

namespace fa::tools {

namespace {

void write_all(const char* text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

[[noreturn]] void end_with(const char* last_words) {
  write_all(last_words);
  write_all("\n");
  _exit(kFailed);
}

/// The remedy, in memory that exists from the start.
std::array<char, 200> kept_remedy = {"give the process more"};

[[noreturn]] void out_of_memory() {
  write_all("facet: error: out of memory\nhelp: ");
  end_with(kept_remedy.data());
}

/// NVRTC, which has an LLVM of its own, and the loader of libraries abort or crash where they get no memory.
void crashed(int signal) {
  write_all("facet: error: the process was ended by ");
  write_all(signal == SIGABRT ? "SIGABRT" : signal == SIGBUS ? "SIGBUS" : "SIGSEGV");
  write_all(", and its memory is limited (ulimit -v)\nhelp: ");
  end_with(kept_remedy.data());
}

/// Only where a limit is set: elsewhere a crash is a bug, whose core shows it.
void end_when_crashed_under_a_limit() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  static std::array<char, 16384> stack;  // a crash may have used up the other
  stack_t other = {};
  other.ss_sp = stack.data();
  other.ss_size = stack.size();
  sigaltstack(&other, nullptr);
  struct sigaction action = {};
  action.sa_handler = crashed;
  action.sa_flags = SA_ONSTACK | static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS}) sigaction(signal, &action, nullptr);
}

}  // namespace

void end_when_out_of_memory() {
  end_when_crashed_under_a_limit();
  std::set_new_handler(out_of_memory);
  on_llvm_failure(out_of_memory, [](const char* reason) {
    write_all("facet: error: ");
    end_with(reason);
  });
}

void suggest_smaller(const std::vector<std::string>& options) {
  if (options.empty()) return;
  const std::string text = "give the process more, or try smaller " + join(options, "or");
  const std::size_t length = std::min(text.size(), kept_remedy.size() - 1);
  std::copy_n(text.data(), length, kept_remedy.data());
  kept_remedy[length] = '\0';
}

const char* memory_remedy() { return kept_remedy.data(); }

}  // namespace fa::tools
