// What forward kernels are printed by where it differs from what is known of the hooks.
#pragma once

#include "compiler/analysis/facts.h"
#include "compiler/spec/spec.h"

namespace fa {

/// In 16 bits and rows of V of more than 192 numbers, forward kernels compare a row's list of keys element by element: beside products
/// as long as these, finding it as bits takes longer (`tree` at d256, B2 H8 N8192: 0.237 ms by bits and 0.215 by comparisons on an
/// H200, 0.294 and 0.276 by sm_75's kernels; at d192 0.159 and 0.175).
inline Facts forward_facts(const CheckedSpec& spec, Facts facts) {
  if (spec.dtype != DType::f32 && spec.head_dim_v > 192) facts.listed_keys = {};
  return facts;
}

}  // namespace fa
