// The message is written without allocating, and nothing is cleaned up: without memory neither can be relied
// on.
#include "tools/console/out_of_memory.h"

#include <unistd.h>

#include <algorithm>
#include <array>
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
std::array<char, 200> remedy = {"give the process more"};

[[noreturn]] void out_of_memory() {
  write_all("facet: error: out of memory\nhelp: ");
  end_with(remedy.data());
}

}  // namespace

void end_when_out_of_memory() {
  std::set_new_handler(out_of_memory);
  on_llvm_failure(out_of_memory, [](const char* reason) {
    write_all("facet: error: ");
    end_with(reason);
  });
}

void suggest_smaller(const std::vector<std::string>& options) {
  if (options.empty()) return;
  const std::string text = "give the process more, or try smaller " + join(options, "or");
  const std::size_t length = std::min(text.size(), remedy.size() - 1);
  std::copy_n(text.data(), length, remedy.data());
  remedy[length] = '\0';
}

const char* memory_remedy() { return remedy.data(); }

}  // namespace fa::tools
