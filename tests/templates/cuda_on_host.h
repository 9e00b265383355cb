// The parts of CUDA that the templates use, and a block whose threads are fibers of one thread of the host.
#pragma once

#include "tests/catch.h"
#include "tests/emulated_gpu/device.h"

/// Runs `body` on every thread of a block of `warps` warps.
template <class Body>
void run_block(unsigned warps, const Body& body) {
  const fa::emulated::Launch launch = {.threads = 32 * warps};
  blockDim = {launch.threads, 1, 1};
  const auto run = [](void* context) { (*static_cast<const Body*>(context))(threadIdx.x); };
  const char* const wrong = fa::emulated::block.run(launch, run, const_cast<Body*>(&body));
  if (wrong != nullptr) FAIL(wrong);
}
