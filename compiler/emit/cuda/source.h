// The final translation unit of a GPU kernel: includes, named constants, hooks, static_asserts, one entry.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/analysis/facts.h"
#include "compiler/analysis/score_class.h"
#include "compiler/analysis/tiles/tile_class.h"
#include "compiler/schedule/plan.h"
#include "templates/common/tiles/tile_map.h"

namespace fa {

/// A file the generated text includes, under the path it is included by.
struct SourceHeader {
  std::string path;  // "sm80/forward.cuh"
  std::string text;
};

/// A CUDA translation unit, ready for NVRTC: the generated text and what it expects of the launch.
struct Source {
  std::string text;                   // includes, constants, hooks, static_asserts, one extern "C" entry
  std::vector<SourceHeader> headers;  // the template files of its family
  std::string entry;                  // "facet_forward"
  std::string arch;                   // "sm_80"
  int threads = 0;
  int tile_q = 0;
  int tile_kv = 0;
  int shared_memory = 0;  // dynamic bytes
  // Filled by `tile_map_entry`, launched with kMapThreads before the forward pass; without, that is not
  // there.
  std::optional<TileMapShape> tile_map{};
  std::string tile_map_entry{};    // "facet_tile_map"
  bool overlaps_tile_map = false;  // the forward kernel may start while that one runs, and waits for it
};

/// What a kernel runs where a condition of the head has one of its values (compiler/ir/head_case.h).
struct HooksOfCase {
  HookIr hooks;
  Facts facts;
};

/// Hooks that a CTA chooses between, once a tile.
struct HookCases {
  ConditionIr condition;  // i1 @head_case
  HooksOfCase holds, fails;
};

/// Source of the forward kernel of `plan` for `target`, whose family must be one with templates (sm75 and
/// sm80 today). The text ends in static_asserts that hold the device's sums to the host's: tile sizes,
/// shared-memory bytes, sizeof(ForwardParams).
/// `cases`: null where every head runs the same hooks; where not, there is no score class.
Source emit_source(const CheckedSpec& spec, const HookIr& hooks, const Facts& facts,
                   const TileClasses& classes, const ScoreClass& score_class, const HookCases* cases,
                   const Plan& plan, const Target& target);

}  // namespace fa
