// What a GPU target may lack: bf16. Every GPU has kernels for f16 and f32.
#include "compiler/schedule/support.h"

#include <fmt/format.h>

namespace fa {
namespace {

// The finding is about the whole file: spec and target do not fit each other, and no line of the spec is
// wrong by itself.
Diagnostic about(const CheckedSpec& spec, std::string message, std::string remedy) {
  return {.place = {.file = spec.file},
          .message = std::move(message),
          .remedy = std::move(remedy),
          .source_line = {}};
}

}  // namespace

std::vector<Diagnostic> unsupported(const CheckedSpec& spec, const Target& target) {
  std::vector<Diagnostic> reasons;
  if (target.is_host()) return reasons;
  if (spec.dtype == DType::bf16 && !target.has_bf16) {
    reasons.push_back(
        about(spec, fmt::format("dtype bf16 is more than {} has: its tensor cores multiply f16", target.name),
              "write `dtype f16` (facet: --dtype f16) and convert q, k and v, or run it on the host"));
  }
  return reasons;
}

void require_support(const CheckedSpec& spec, const Target& target) {
  if (auto reasons = unsupported(spec, target); !reasons.empty()) throw SpecError(std::move(reasons));
}

std::string why_refused(Family family, const CheckedSpec& spec, const Target& target) {
  if (const auto reasons = unsupported(spec, target); !reasons.empty())
    return reasons.front().message + "; " + reasons.front().remedy;
  const FamilyTraits& traits = traits_of(family);
  const bool wants_f32 = spec.dtype == DType::f32;
  const auto serves = [&](const FamilyTraits& other) {
    return other.has_kernels() && (!wants_f32 || other.multiplies_f32) &&
           (other.arch_suffix.empty() || target.has_arch_features);
  };
  std::string there;  // the families whose kernels the target has for the spec
  for (const Family known : target.families)
    if (serves(traits_of(known))) there += (there.empty() ? "" : " and ") + std::string(family_name(known));
  if (!target.runs(family))
    return fmt::format("it is a plan for {} kernels; {} runs {} kernels", traits.name, target.name, there);
  if (!traits.has_kernels())
    return fmt::format("{} kernels {}; {} runs {} kernels", traits.name, traits.why_none, target.name, there);
  if (wants_f32 && !traits.multiplies_f32)
    return fmt::format("{} kernels multiply 16-bit elements; f32 runs {} kernels", traits.name, there);
  if (!serves(traits))
    return fmt::format("{} kernels are for sm_{}{} alone, and these are to be built for {}", traits.name,
                       target.compute_capability, traits.arch_suffix, target.nvrtc_arch);
  return {};
}

}  // namespace fa
