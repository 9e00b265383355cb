// Ctrl-C in commands whose results so far are worth keeping.
#pragma once

#include <exception>

namespace fa::tools {

/// While an object of this class exists, the first SIGINT is only noted, and the second one ends the process
/// as usual. A process that was started with SIGINT ignored still ignores it.
class Interruptible {
 public:
  Interruptible();
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;

 private:
  bool is_set_ = false;
};

/// Thrown where work stops because of a SIGINT.
struct Interrupted : std::exception {
  const char* what() const noexcept override { return "interrupted"; }
};

/// Whether a SIGINT has been noted. Any thread may ask.
bool is_interrupted();
/// Throws Interrupted where a SIGINT has been noted.
void stop_if_interrupted();

}  // namespace fa::tools
