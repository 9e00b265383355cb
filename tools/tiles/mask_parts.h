// A mask taken apart at its `and`, `or` and `not`, as the spec has them. Each part is a mask, so that its
// tile classes can be compared with those of the whole mask.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/spec/spec.h"

namespace fa::tools {

struct MaskPart {
  enum class Kind { leaf, all, any, inverse };
  Kind kind = Kind::leaf;
  std::string text;     // "distance < window"
  std::string negated;  // "distance >= window"
  int line = 0, column = 0;
  std::vector<MaskPart> parts{};  // all, any: two or more, or none of a mask that stays whole; inverse: one
  std::shared_ptr<const CheckedSpec>
      spec{};     // leaf: the spec with this as its whole mask, without a score_mod
  int leaf = -1;  // leaf: its number, from 0 in the order they are written
};

/// A mask with more leaves stays whole: a report about all of them would be no help.
constexpr std::size_t kMostLeaves = 30;

/// The mask of `spec`, which has one. A `let` of a bool is looked into wherever it is used; a mask from a
/// file is one leaf. A mask of more than kMostLeaves leaves stays whole: it has neither parts nor a leaf.
MaskPart mask_parts(const CheckedSpec& spec);
/// Every leaf, by its number.
std::vector<const MaskPart*> leaves(const MaskPart& part);

}  // namespace fa::tools
