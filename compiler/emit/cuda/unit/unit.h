// What the translation units of all kernels have in common.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/emit/cuda/hooks.h"
#include "compiler/emit/cuda/source.h"

namespace fa {

/// What a unit is, beside a fused forward kernel.
enum class UnitKind : std::uint8_t { forward, backward, baseline };

/// The template files that kernels of a family may include; those of the backward pass and of the baselines only for
/// such units, so that a change to them finds all other kernels in the cache.
std::vector<SourceHeader> headers_of(Family family, UnitKind kind);
/// What NVRTC compiles for: "sm_90a" for kernels whose instructions no other sm_90 need have.
std::string arch_of(Family family, const Target& target);
/// The type of templates/common/dtype.cuh by which kernels know the dtype and what multiplies it.
std::string_view element_type(DType dtype, const Target& target);

/// `struct Config`: what a plan and a spec fix of a forward kernel at compile time.
std::string print_config(const CheckedSpec& spec, const Plan& plan, const Target& target);

/// The hooks of both cases, each in a namespace of its own, and what asks which.
std::string print_cases(const CheckedSpec& spec, const HookIr& hooks, const HookCases& cases,
                        const ScoreDerivative* derivative = nullptr);
/// Their modules, too, where there are cases.
void add_modules(const HookCases* cases, std::vector<IrModule>& modules);

}  // namespace fa
