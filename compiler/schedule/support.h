// Whether a target has any kernel for a spec, before tiles are spoken of.
#pragma once

#include <string>
#include <vector>

#include "compiler/spec/spec.h"
#include "compiler/target/target.h"

namespace fa {

/// Every reason why `target` cannot run `spec` under any plan, each with its remedy; empty where it can.
std::vector<Diagnostic> unsupported(const CheckedSpec& spec, const Target& target);

/// Why `target` cannot run `spec` by this family's kernels; empty where it can.
std::string why_refused(Family family, const CheckedSpec& spec, const Target& target);

/// Throws SpecError with all of them where there are some.
void require_support(const CheckedSpec& spec, const Target& target);

}  // namespace fa
