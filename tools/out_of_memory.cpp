// Last words are written without allocating, and nothing is cleaned up: neither can be relied on here.
#include "tools/out_of_memory.h"

#include <unistd.h>

#include <cstring>
#include <new>

#include "compiler/ir/out_of_memory.h"
#include "tools/commands.h"

namespace fa::tools {

namespace {

void write_all(const char* text) {
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, std::strlen(text));
}

[[noreturn]] void end(const char* reason, const char* remedy) {
  write_all("facet: error: ");
  write_all(reason);
  write_all(remedy);
  _exit(kFailed);
}

[[noreturn]] void out_of_memory() {
  end("out of memory",
      "\nhelp: give the process more, or try smaller --batch, --heads, --q-len or --kv-len\n");
}

}  // namespace

void end_when_out_of_memory() {
  std::set_new_handler(out_of_memory);
  on_llvm_failure(out_of_memory, [](const char* reason) { end(reason, "\n"); });
}

}  // namespace fa::tools
