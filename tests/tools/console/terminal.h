// Runs the facet command on a pseudo-terminal: reads what it writes, and presses keys.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/tools/temporary.h"

namespace fa::tools {

/// A script run by bash with a terminal of its own as standard input and stderr; its stdout is a file unless
/// `stdout_too`. "$FACET" is the command, "$SPECS" the folder of the specs. Killed where it is still running
/// at the end.
class Terminal {
 public:
  explicit Terminal(const std::string& script, bool stdout_too = false, int columns = 200);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Waits until `text` has been written to the terminal, for a minute at most; with `after`, until it stands
  /// after that text. Returns whether it was written.
  bool wait_for(const std::string& text, const std::string& after = {});
  void press(const std::string& keys);
  /// Waits for the end. Returns the exit status, 128 + the signal where one ended it.
  int finish();

  /// All that was written to the terminal so far, escape codes included.
  const std::string& shown() const { return shown_; }
  std::string out() const { return read_file(folder_.file("out")); }

 private:
  bool read_some(int milliseconds);

  TemporaryFolder folder_;
  std::string shown_;
  int master_ = -1;
  pid_t child_ = -1;
};

/// What a terminal of `columns` columns shows of `bytes` in the end, line by line, for the codes that facet
/// writes: carriage return, newline, "erase to the end of the line", colours.
std::vector<std::string> rendered(const std::string& bytes, int columns = 200);

}  // namespace fa::tools
