// The handler sets a flag, which long work reads between two steps.
#include "tools/console/interrupt.h"

#include <atomic>
#include <csignal>

namespace fa::tools {

namespace {

std::atomic<bool> noted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may store it");

}  // namespace

Interruptible::Interruptible() {
  struct sigaction before = {};
  if (sigaction(SIGINT, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) return;
  struct sigaction action = {};
  action.sa_handler = [](int) { noted = true; };
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  is_set_ = sigaction(SIGINT, &action, nullptr) == 0;
}

Interruptible::~Interruptible() {
  if (is_set_) std::signal(SIGINT, SIG_DFL);
}

bool is_interrupted() { return noted; }

void stop_if_interrupted() {
  if (noted) throw Interrupted();
}

}  // namespace fa::tools
