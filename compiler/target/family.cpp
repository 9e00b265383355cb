// A row a family, in the order of the enumeration.
#include "compiler/target/family.h"

#include <array>

namespace fa {
namespace {

constexpr std::array kFamilies{
    FamilyTraits{.family = Family::sm75, .name = "sm75", .compute_capability = 75},
    FamilyTraits{.family = Family::sm80,
                 .name = "sm80",
                 .compute_capability = 80,
                 .has_async_copies = true,
                 .has_bf16 = true,
                 .has_tf32_products = true},
    FamilyTraits{.family = Family::sm90,
                 .name = "sm90",
                 .compute_capability = 90,
                 .has_async_copies = true,
                 .has_bf16 = true,
                 .multiplies_f32 = false,
                 .has_warpgroups = true,
                 .copying_warps = 4,
                 .arch_suffix = "a",
                 .builds_on = "sm80"},
    FamilyTraits{.family = Family::host, .name = "host", .has_bf16 = true},
};

}  // namespace

const FamilyTraits& traits_of(Family family) { return kFamilies[static_cast<std::size_t>(family)]; }
std::span<const FamilyTraits> all_families() { return kFamilies; }
std::string_view family_name(Family family) { return traits_of(family).name; }

}  // namespace fa
