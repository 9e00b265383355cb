// What a tuned plan holds for: the spec, the code that its kernel is made of, and what runs and compiles it.
#pragma once

#include "compiler/target/target.h"
#include "fa/kernel.h"
#include "runtime/tune/record.h"

namespace fa {

/// TuneKey::spec: a hash of all that the spec says, its dtype and head_dim with it.
std::string spec_hash(const Spec& spec);

/// The key for a kernel of `target` by these options, whose device is cuda or host. Throws BuildError where
/// there is
/// no NVRTC for a GPU.
TuneKey tune_key(const Spec& spec, Device device, const Target& target, const Options& options);

/// The key of a plan that was predicted for every GPU of that target, of which none need be here. Throws
/// BuildError where there is no NVRTC.
TuneKey predicted_key(const Spec& spec, const Target& target);

/// The key of what such a plan was built to. A change of the compiler may print another kernel for the same
/// plan, so that the figures of a build also hold for these sources alone. Throws like predicted_key.
TuneKey built_key(const Spec& spec, const Target& target);

/// Whether a key is that of kernels of `target`, timed on some GPU.
bool is_of_target(const TuneKey& key, const Target& target);

}  // namespace fa
