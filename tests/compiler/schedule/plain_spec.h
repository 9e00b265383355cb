// A spec without hooks, with just what the schedule looks at.
#pragma once

#include "compiler/analysis/facts.h"
#include "compiler/spec/spec.h"
#include "compiler/target/target.h"

namespace fa {

inline CheckedSpec plain_spec(int head_dim, int head_dim_v = 0, DType dtype = DType::bf16) {
  CheckedSpec spec;
  spec.file = "plain.fa";
  spec.name = "plain";
  spec.head_dim = head_dim;
  spec.head_dim_v = head_dim_v == 0 ? head_dim : head_dim_v;
  spec.dtype = dtype;
  return spec;
}

/// A GPU as it would be with sm80 kernels alone: what its sm80 plans are judged by.
inline Target with_sm80_alone(std::string_view name) {
  static constexpr Family kSm80[] = {Family::sm80};
  Target target = find_target(name);
  if (target.runs(Family::sm80)) target.families = kSm80;
  return target;
}

inline CheckedSpec with_dropout(CheckedSpec spec) {
  spec.has_dropout = true;
  spec.dropout = 0.1;
  return spec;
}

/// A mask of which nothing is known but that queries and keys both decide it.
inline Facts masked() {
  Facts facts;
  facts.has_mask = true;
  facts.mask_mod = {DependsOn::q | DependsOn::kv};
  return facts;
}

// Adds some hooks: for the schedule it only matters that there are any.
inline CheckedSpec with_hooks(CheckedSpec spec) {
  Expr score;
  score.kind = ExprKind::builtin;
  score.type = Type::f32;
  Expr keep;
  keep.type = Type::boolean;
  keep.int_value = 1;
  spec.score_mod = std::make_shared<const Expr>(score);
  spec.mask_mod = std::make_shared<const Expr>(keep);
  return spec;
}

}  // namespace fa
