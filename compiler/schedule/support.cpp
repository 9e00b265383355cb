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
  if (target.family == Family::host) return reasons;
  if (spec.dtype == DType::bf16 && !target.has_bf16) {
    reasons.push_back(
        about(spec, fmt::format("dtype bf16 is more than {} has: its tensor cores multiply f16", target.name),
              "write `dtype f16` (facet: --dtype f16) and convert q, k and v, or run it on the host"));
  }
  return reasons;
}

}  // namespace fa
