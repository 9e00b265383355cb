// The facts of a spec's mask alone, as `compile` finds them.
#pragma once

#include <string>

#include "compiler/analysis/facts.h"
#include "compiler/ir/import/import.h"
#include "fa/spec.h"

namespace fa::test {

inline Facts mask_facts(const Spec& spec) {
  CheckedSpec imported = import_hooks(spec.checked());
  imported.score_from = imported.mask_from = {};
  return analyse(imported, lower(imported));
}

/// Of a mask_mod, after lines that declare what it captures.
inline Facts mask_facts(const std::string& declarations, const std::string& mask_mod) {
  return mask_facts(
      Spec::parse("attention a\nhead_dim 64\ndtype bf16\n" + declarations + "mask_mod = " + mask_mod + "\n"));
}

}  // namespace fa::test
