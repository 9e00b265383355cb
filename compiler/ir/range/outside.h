// Finds where a call may break what its hooks promise: an index outside its tensor, an element of an i64
// tensor that does not fit an i32, a run-time range of a reduction beyond its maximum. For each it builds the
// condition over an element under which that can change a result. Kernels clamp without a message; a checked
// compile evaluates these conditions first (runtime/checked.h), and `facet check` looks for an element that
// meets one.
//
// Of `where` only the chosen arm counts, of `and` and `or` only what the other side leaves open, and of
// score_mod only the elements that the mask keeps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/spec/spec.h"

namespace fa {

struct OutsideRead {
  enum class Kind : std::uint8_t {
    index,  // indices[0], of `dimension`, lies outside the tensor
    value,  // the element at `indices` is no i32
    range   // a reduction would run indices[0] times, more than `count`
  };
  Kind kind = Kind::index;
  int tensor = 0;                  // of CheckedSpec::tensors; not of a range
  int dimension = 0;               // of the tensor
  int count = 0;                   // a range's maximum
  ExprPtr condition;               // boolean, over the element: it happens, and it matters
  std::vector<ExprPtr> indices{};  // i32; empty inside a reduction, where they have several values
  int line = 0, column = 0;
};

/// The conditions for the hooks of `spec`, which are imported already (import_hooks), in the order of
/// evaluation. Takes time linear in the number of nodes. Conditions that depend on the score are left out:
/// they are no function of the element.
std::vector<OutsideRead> outside_reads(const CheckedSpec& spec);

// Hooks of a kernel that finds such elements: rows without one are empty (lse -inf).

/// In the other rows lse is -kProbeStep times the least kv_idx at which one of `reads` goes outside.
CheckedSpec probe_rows(const CheckedSpec& spec, const std::vector<OutsideRead>& reads);
constexpr double kProbeStep = 64;  // exp(-64) is nothing beside 1 in f32

struct Element {
  int b = 0, h = 0, q_idx = 0, kv_idx = 0;
};
/// Only this element's row is not empty, and that only if `read` goes outside there: lse is `shown`, an i32,
/// or 0 where that is null.
CheckedSpec probe_element(const CheckedSpec& spec, const OutsideRead& read, const Element& element,
                          const ExprPtr& shown);

}  // namespace fa
