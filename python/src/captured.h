// The captured tensors and params of a call, matched with the spec's names once and used for many calls.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "fa/kernel.h"
#include "python/src/view.h"

namespace fa::python {

class CapturedSet {
 public:
  /// Views by name, and numbers by name. Throws ArgumentError for a name that the spec does not have, or a number
  /// that does not fit its param.
  CapturedSet(const Spec& spec, const nanobind::dict& tensors, const nanobind::dict& params);

  /// Puts both into a call's arguments.
  void fill(ForwardArgs& args) const;

 private:
  Spec spec_;  // owns the names
  std::vector<View> views_;
  std::vector<Captured> tensors_;
  std::vector<NamedScalar> params_;
};

}  // namespace fa::python
