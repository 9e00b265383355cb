// A disk that fails: the file calls of everything linked into the tests pass through here (the linker's
// --wrap, so production code knows nothing of it), and one of them, counted from `arm`, fails.
#pragma once

namespace fa::tests {

enum class Fault {
  none,
  fail,         // the call does nothing and reports `error`
  half,         // a write or read transfers half of what it was given
  kill,         // the process dies before the call
  kill_halfway  // a write has transferred half when the process dies; any other call is done
};

struct FaultPlan {
  Fault fault = Fault::none;
  int nth = 1;  // which call, from 1; 0: every one
  int error = 0;
};

/// Counts the calls from now on, and makes the plan's one fail.
void arm(const FaultPlan& plan);
/// Stops making calls fail. Returns how many calls there were.
int disarm();

/// Arms for the duration of a scope.
class Armed {
 public:
  explicit Armed(const FaultPlan& plan) { arm(plan); }
  ~Armed() { disarm(); }
  Armed(const Armed&) = delete;
  Armed& operator=(const Armed&) = delete;
};

}  // namespace fa::tests
