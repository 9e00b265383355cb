// The three things a GPU target may lack: a multiplication in f32, one in bf16, a kernel of its family.
#include "compiler/schedule/support.h"

#include <fmt/format.h>

namespace fa {
namespace {

// Of the whole file: the fault is the pair of spec and target, and no line of the spec is wrong by itself.
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
  if (spec.dtype == DType::f32) {
    reasons.push_back(about(
        spec, fmt::format("dtype f32 has no kernel on {}: tensor cores multiply f16 or bf16", target.name),
        "write `dtype bf16` or `dtype f16`, or run it on the host"));
  }
  if (spec.dtype == DType::bf16 && !target.has_bf16) {
    reasons.push_back(
        about(spec, fmt::format("dtype bf16 is more than {} has: its tensor cores multiply f16", target.name),
              "write `dtype f16`, or run it on the host"));
  }
  if (target.family == Family::sm75) {
    reasons.push_back(
        about(spec, fmt::format("there is no {} kernel yet, which {} needs", target.nvrtc_arch, target.name),
              "run it on the host"));
  }
  return reasons;
}

}  // namespace fa
