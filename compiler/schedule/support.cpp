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

std::string why_refused(Family family, const CheckedSpec& spec, const Target& target) {
  if (const auto reasons = unsupported(spec, target); !reasons.empty())
    return reasons.front().message + "; " + reasons.front().remedy;
  std::string there;  // the families that the target has kernels of
  for (const Family known : target.families)
    if (traits_of(known).has_kernels())
      there += (there.empty() ? "" : " and ") + std::string(family_name(known));
  if (!target.runs(family))
    return fmt::format("it is a plan for {} kernels; {} runs {} kernels", family_name(family), target.name,
                       there);
  if (!traits_of(family).has_kernels())
    return fmt::format("{} kernels {}; {} runs {} kernels", family_name(family), traits_of(family).why_none,
                       target.name, there);
  return {};
}

}  // namespace fa
