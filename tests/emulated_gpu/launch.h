// What the tests and an emulated kernel, which is compiled apart from them, tell each other.
#pragma once

namespace fa::emulated {

/// One launch, and one of the orders in which a GPU might run it.
struct Launch {
  unsigned blocks[3] = {1, 1, 1};
  unsigned threads = 0;        // of a block
  unsigned shared_memory = 0;  // dynamic bytes of a block
  bool last_first = false;     // blocks, warps and lanes in descending order
  // Whether asynchronous copies write at once. Else they write when they are waited for, and one that nobody
  // waits for never does: what is read too early, or overwritten too early, differs between the two.
  bool copies_at_once = false;
};

/// Runs `body(context)` in every thread. Returns null, or what went wrong.
using Run = const char*(const Launch& launch, void (*body)(void*), void* context);

}  // namespace fa::emulated
