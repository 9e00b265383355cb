// Measured exceptions to the cost model, one line each: where the two disagree, the measurement wins.
#pragma once

#include <string_view>

#include "compiler/schedule/plan.h"

namespace fa {

struct Measured {
  std::string_view target;  // empty: every target of the family
  Family family = Family::sm80;
  int least_head_dim = 0;  // padded, both of them, ends included
  int most_head_dim = 0;
  bool f32 = false;  // else 16-bit elements
  bool dropout = false;
  bool dense_only = false;  // not where a mask drops scores: small tiles leave out more of them
  int tile_q = 0;
  int tile_kv = 0;
  int warps = 0;
  std::string_view source;  // who measured it, for `explain`
};

/// The line for this spec and target, or nullptr where the model decides.
const Measured* find_measured(const CheckedSpec& spec, const Facts& facts, const Target& target);

}  // namespace fa
