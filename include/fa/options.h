// How to compile: where the kernel runs and what the caches do. Every field has a default that is right for
// most.
#pragma once

#include <string>

#include "fa/export.h"

namespace fa FA_API {

enum class Device { automatic, cuda, host };  // automatic: the NVIDIA GPU where there is one, else the host

/// Whether `compile` takes the plan that `facet tune` found to be the fastest here (docs/tuning.md).
enum class Tune {
  never,   // the compiler's own choice
  cached,  // the tuned plan where one is remembered, or ships; looking for it takes well under a millisecond
  once     // where none is, the most promising plans are first timed on made-up tensors, within tune_seconds
};

/// Which implementation of attention: facet's fused kernels, or a baseline to compare them with (docs/baselines.md).
/// Baselines have a forward pass alone, and take workspace on a GPU and on the host (Kernel::workspace_bytes).
enum class Impl {
  facet,
  standard,  // FlashAttention's algorithm 0: S and P pass through memory, nothing is fused or skipped
  flash1  // FlashAttention's algorithm 1: fused, keys outside and queries inside, a CTA or thread a head; nothing skipped
};

/// Fields left at their defaults take their value from the environment (docs/environment.md), then the
/// built-in one.
struct Options {
  Device device = Device::automatic;
  int cuda_device = 0;  // ordinal of the GPU
  int num_threads = 0;  // host: 0 = every core this process may use
  std::string plan =
      {};  // force a plan, as `explain` prints it: "tile_q=128 tile_kv=64 warps=4"; empty: choose
  Impl impl = Impl::facet;     // its plans are of that implementation; `plan` may say more of them
  std::string cache_dir = {};  // empty: FA_CACHE_DIR, else $XDG_CACHE_HOME/facet, else ~/.cache/facet
  bool disk_cache = true;
  bool memory_cache = true;
  bool checked = false;   // each forward first looks for hooks that read outside their tensors, where kernels
                          // clamp in silence, and throws ArgumentError that names the first. It waits for the
                          // stream and allocates: for debugging, and not while a graph is captured
  bool backward = false;  // Kernel::backward too, on the host and on GPUs (docs/backward.md)
  // GPU: force the plan of the backward pass, or parts of it, as `explain --backward` prints it:
  // "keys(tile_q=64 stages=1) delays_dq=0"; empty: choose
  std::string backward_plan = {};
  // With `backward`: every gradient has the same bits in every run, those of captured tensors too. Off, a GPU adds some
  // of them up in whatever order its blocks come by. It costs time and workspace (docs/backward.md); on the
  // host, where bits always repeat, it changes nothing.
  bool deterministic = false;
  // The kernels of another GPU, no newer than this one: "t4"; empty: this GPU's own. With Device::automatic
  // it needs a GPU: the host is not taken in its place.
  std::string target = {};
  Tune tune = Tune::cached;
  double tune_seconds = 2;  // most that Tune::once spends on timing; a plan that is being timed is finished
};

}  // namespace fa FA_API
