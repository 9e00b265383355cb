// The front end: from a checked spec to the source of its kernel. Pure: no GPU, no clock, no environment.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/analysis/facts.h"
#include "compiler/ir/hook_ir.h"
#include "compiler/schedule/plan.h"

namespace fa {

/// A file the generated text includes, under the path it is included by.
struct SourceHeader {
  std::string path;  // "sm80/forward.cuh"
  std::string text;
};

/// A CUDA translation unit, ready for NVRTC: the generated text and what it expects of the launch.
struct Source {
  std::string text;         // includes, constants, hooks, static_asserts, one extern "C" entry
  std::vector<SourceHeader> headers;  // the template files of its family
  std::string entry;        // "facet_forward"
  std::string arch;         // "sm_80"
  int threads = 0;
  int tile_q = 0;
  int shared_memory = 0;    // dynamic bytes
};

/// Every stage's value for one spec, target and plan.
struct Compiled {
  HookIr hooks;
  Facts facts;
  Choice choice;
  std::optional<Source> source;  // GPU targets; the host's code generator takes `hooks` and `choice.plan` itself
};

/// Reads as the table of contents. `forced_plan` (parse_plan's form, may be empty) overrides the choice.
Compiled compile_front_end(const CheckedSpec& spec, const Target& target, std::string_view forced_plan = {});

}  // namespace fa
