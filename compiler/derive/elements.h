// Which elements of a captured tensor the terms of its gradient go to, over all reads of it: how many writers an
// element has.
#pragma once

#include "compiler/derive/derive.h"

namespace fa {

struct GradientElements {
  // One index of every read is exactly b, h, q_idx: others of it have other elements.
  bool of_batch = false, of_head = false, of_row = false;
  bool is_once = false;  // within one head, one (q_idx, kv_idx) at most goes to an element
};

/// Of the param or tensor `index`.
GradientElements elements_of(const Derivatives& derivatives, Adjoint::Of of, int index);

}  // namespace fa
