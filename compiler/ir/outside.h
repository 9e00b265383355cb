// Where hooks read outside their tensors: for each index that is clamped, the condition under which its
// clamping can change a result. Kernels clamp in silence; a checked compile evaluates these first
// (runtime/checked.h).
//
// Of `where` only the chosen arm counts, of `and` and `or` only what the other side leaves open, and of
// score_mod only the elements that the mask keeps.
#pragma once

#include <string>
#include <vector>

#include "compiler/spec/spec.h"

namespace fa {

struct OutsideRead {
  int tensor = 0;     // of CheckedSpec::tensors
  int dimension = 0;  // of the tensor
  ExprPtr condition;  // boolean, over the element: the index lies outside, and what is read matters
  ExprPtr index;      // i32; null inside a reduction, where it has several values
  int line = 0, column = 0;
};

/// The clamped reads of `spec`, whose hooks are imported already (import_hooks), in the order of evaluation.
/// An index that depends on the score is left out: it is no function of the element.
std::vector<OutsideRead> outside_reads(const CheckedSpec& spec);

// Hooks that find out, for kernels like any other: rows without such an element come out empty (lse -inf).

/// Of the others lse is -kProbeStep times the least kv_idx at which one of `reads` goes outside.
CheckedSpec probe_rows(const CheckedSpec& spec, const std::vector<OutsideRead>& reads);
constexpr double kProbeStep = 64;  // exp(-64) is nothing beside 1 in f32

struct Element {
  int b = 0, h = 0, q_idx = 0, kv_idx = 0;
};
/// Only this element's row is not empty, and that only if `read` goes outside there: lse is its index, or 0
/// where the read has none.
CheckedSpec probe_element(const CheckedSpec& spec, const OutsideRead& read, const Element& element);

}  // namespace fa
