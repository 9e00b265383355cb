// Families of kernels: each is an algorithm for the machines that have what it is made of, in a folder of
// templates/ (the host's is compiler/emit/host/).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fa {

enum class Family : std::uint8_t { sm75, sm80, sm90, host };

/// What the schedule and the emitters have to know of a family.
struct FamilyTraits {
  Family family = Family::host;
  std::string_view name;        // "sm80"; of a GPU also its folder in templates/
  int compute_capability = 0;   // of the first GPUs that run them: 80; 0 on the host
  std::string_view why_none{};  // empty where it has kernels; else why not, as the end of "sm90 kernels ..."
  bool has_async_copies = false;  // global to shared memory past the registers, so that two stages make sense
  bool has_bf16 = false;
  bool has_tf32_products = false;  // f32 is multiplied on tensor cores; else by FFMA alone
  bool multiplies_f32 = true;
  bool has_warpgroups = false;     // four warps multiply together, 64 rows: wgmma
  int copying_warps = 0;           // of a CTA, beside those that multiply
  std::string_view arch_suffix{};  // "a" where the instructions are of that architecture alone: sm_90a
  std::string_view builds_on{};    // a folder of templates/ whose parts its own include

  bool has_kernels() const { return why_none.empty(); }
};

const FamilyTraits& traits_of(Family family);
std::span<const FamilyTraits> all_families();
std::string_view family_name(Family family);  // "sm75", "sm80", "sm90", "host"

}  // namespace fa
