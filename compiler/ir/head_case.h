// A condition of the head (or of nothing but the call) by which the hooks choose: `where(h % 2 == 0, rows,
// columns)`. Every CTA works on one head, so that a kernel can ask once and run hooks that know the answer,
// instead of choosing for each element.
#pragma once

#include <optional>

#include "compiler/ir/hook_ir.h"

namespace fa {

struct HeadCase {
  ExprPtr condition;
  CheckedSpec holds, fails;  // the spec for heads where it is true, and for those where it is false
};

/// The condition that decides most operations of an element; nothing where none is worth a second copy of the
/// kernel.
std::optional<HeadCase> find_head_case(const CheckedSpec& spec);

}  // namespace fa
