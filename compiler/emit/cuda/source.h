// The final translation unit of a GPU kernel: includes, named constants, hooks, static_asserts, an entry for each
// pass.
#pragma once

#include <string>
#include <vector>

#include "compiler/analysis/facts.h"
#include "compiler/analysis/score_class.h"
#include "compiler/analysis/tiles/tile_class.h"
#include "compiler/program/pass.h"
#include "compiler/schedule/plan.h"

namespace fa {

/// A file the generated text includes, under the path it is included by.
struct SourceHeader {
  std::string path;  // "sm80/forward.cuh"
  std::string text;
};

/// A CUDA translation unit, ready for NVRTC: the generated text and how its entries are launched.
struct Source {
  std::string text;                   // includes, constants, hooks, an extern "C" entry for each pass
  std::vector<SourceHeader> headers;  // the template files of its family
  std::string arch;                   // "sm_80"
  Program program;
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

/// Source of the forward kernel of `plan` for `target`, whose family must be one with templates. The text ends in
/// static_asserts that hold the device's sums to the host's: tile sizes, shared-memory bytes, sizeof(ForwardParams).
/// `cases`: null where every head runs the same hooks; where not, there is no score class.
Source emit_source(const CheckedSpec& spec, const HookIr& hooks, const Facts& facts,
                   const TileClasses& classes, const ScoreClass& score_class, const HookCases* cases,
                   const Plan& plan, const Target& target);

}  // namespace fa
