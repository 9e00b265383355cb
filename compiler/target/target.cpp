// The machines as literals, from datasheets and the technical specifications of the CUDA programming guide.
// The host's entry has a name alone, since the compiler must not look at the machine it runs on;
// runtime/host/jit adds the CPU's features.
#include "compiler/target/target.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "fa/error.h"

namespace fa {
namespace {

constexpr int kKiB = 1024;
constexpr std::int64_t kMB = 1'000'000;
constexpr std::int64_t kGB = 1'000'000'000;

constexpr Family kTuring[] = {Family::sm75};
constexpr Family kAmpere[] = {Family::sm80};
constexpr Family kHopper[] = {Family::sm90, Family::sm80};
constexpr Family kHostFamilies[] = {Family::host};

constexpr Target kT4{
    .name = "t4",
    .description = "NVIDIA T4, 16 GB",
    .families = kTuring,
    .compute_capability = 75,
    .nvrtc_arch = "sm_75",
    .num_sms = 40,
    .max_smem_per_block = 64 * kKiB,
    .max_smem_per_sm = 64 * kKiB,
    .reserved_smem_per_block = 0,
    .registers_per_sm = 65536,
    .max_threads_per_sm = 1024,
    .max_ctas_per_sm = 16,
    .tensor_tflops = 65,
    .mma_fraction = 1,
    .exp2_per_clock_per_sm = 16,
    .fp32_per_clock_per_sm = 64,
    .smem_bytes_per_clock_per_sm = 128,
    .l2_bytes_per_clock_per_sm = 32,
    .clock_ghz = 1.59,
    .hbm_gb_per_s = 320,
    .l2_bytes = 4 * kMB,
    .memory_bytes = 16 * kGB,
    .has_bf16 = false,
};

constexpr Target kA100{
    .name = "a100",
    .description = "NVIDIA A100 SXM, 80 GB",
    .families = kAmpere,
    .compute_capability = 80,
    .nvrtc_arch = "sm_80",
    .num_sms = 108,
    .max_smem_per_block = 163 * kKiB,
    .max_smem_per_sm = 164 * kKiB,
    .reserved_smem_per_block = 1 * kKiB,
    .registers_per_sm = 65536,
    .max_threads_per_sm = 2048,
    .max_ctas_per_sm = 32,
    .tensor_tflops = 312,
    .mma_fraction = 1,
    .exp2_per_clock_per_sm = 16,
    .fp32_per_clock_per_sm = 64,
    .smem_bytes_per_clock_per_sm = 128,
    .l2_bytes_per_clock_per_sm = 32,
    .clock_ghz = 1.41,
    .hbm_gb_per_s = 2039,
    .l2_bytes = 40 * kMB,
    .memory_bytes = 80 * kGB,
    .has_bf16 = true,
    .has_tf32 = true,
};

constexpr Target smaller_a100() {
  Target target = kA100;
  target.name = "a100-40gb";
  target.computes_as = "a100";
  target.description = "NVIDIA A100, 40 GB";
  target.hbm_gb_per_s = 1555;
  target.memory_bytes = 40 * kGB;
  return target;
}

constexpr Target kA10{
    .name = "a10",
    .description = "NVIDIA A10, 24 GB",
    .families = kAmpere,
    .compute_capability = 86,
    .nvrtc_arch = "sm_86",
    .num_sms = 72,
    .max_smem_per_block = 99 * kKiB,
    .max_smem_per_sm = 100 * kKiB,
    .reserved_smem_per_block = 1 * kKiB,
    .registers_per_sm = 65536,
    .max_threads_per_sm = 1536,
    .max_ctas_per_sm = 16,
    .tensor_tflops = 125,
    .mma_fraction = 1,
    .exp2_per_clock_per_sm = 16,
    .fp32_per_clock_per_sm = 128,
    .smem_bytes_per_clock_per_sm = 128,
    .l2_bytes_per_clock_per_sm = 32,
    .clock_ghz = 1.695,
    .hbm_gb_per_s = 600,
    .l2_bytes = 6 * kMB,
    .memory_bytes = 24 * kGB,
    .has_bf16 = true,
    .has_tf32 = true,
};

constexpr Target kL4{
    .name = "l4",
    .description = "NVIDIA L4, 24 GB",
    .families = kAmpere,
    .compute_capability = 89,
    .nvrtc_arch = "sm_89",
    .num_sms = 58,
    .max_smem_per_block = 99 * kKiB,
    .max_smem_per_sm = 100 * kKiB,
    .reserved_smem_per_block = 1 * kKiB,
    .registers_per_sm = 65536,
    .max_threads_per_sm = 1536,
    .max_ctas_per_sm = 24,
    .tensor_tflops = 121,
    .mma_fraction = 1,
    .exp2_per_clock_per_sm = 16,
    .fp32_per_clock_per_sm = 128,
    .smem_bytes_per_clock_per_sm = 128,
    .l2_bytes_per_clock_per_sm = 32,
    .clock_ghz = 2.04,
    .hbm_gb_per_s = 300,
    .l2_bytes = 48 * kMB,
    .memory_bytes = 24 * kGB,
    .has_bf16 = true,
    .has_tf32 = true,
};

constexpr Target kRtx4090{
    .name = "rtx4090",
    .description = "NVIDIA GeForce RTX 4090, 24 GB",
    .families = kAmpere,
    .compute_capability = 89,
    .nvrtc_arch = "sm_89",
    .num_sms = 128,
    .max_smem_per_block = 99 * kKiB,
    .max_smem_per_sm = 100 * kKiB,
    .reserved_smem_per_block = 1 * kKiB,
    .registers_per_sm = 65536,
    .max_threads_per_sm = 1536,
    .max_ctas_per_sm = 24,
    .tensor_tflops = 165,  // fp32 accumulate runs at half the fp16-accumulate rate on GeForce
    .mma_fraction = 1,
    .exp2_per_clock_per_sm = 16,
    .fp32_per_clock_per_sm = 128,
    .smem_bytes_per_clock_per_sm = 128,
    .l2_bytes_per_clock_per_sm = 32,
    .clock_ghz = 2.52,
    .hbm_gb_per_s = 1008,
    .l2_bytes = 72 * kMB,
    .memory_bytes = 24 * kGB,
    .has_bf16 = true,
    .has_tf32 = true,
};

constexpr Target kH100{
    .name = "h100",
    .description = "NVIDIA H100 SXM, 80 GB",
    .families = kHopper,
    .compute_capability = 90,
    .nvrtc_arch = "sm_90",
    .num_sms = 132,
    .max_smem_per_block = 227 * kKiB,
    .max_smem_per_sm = 228 * kKiB,
    .reserved_smem_per_block = 1 * kKiB,
    .registers_per_sm = 65536,
    .max_threads_per_sm = 2048,
    .max_ctas_per_sm = 32,
    .tensor_tflops = 989,
    .mma_fraction = 0.62,  // mma.sync; only wgmma feeds the tensor cores at their full rate
    .exp2_per_clock_per_sm = 16,
    .fp32_per_clock_per_sm = 128,
    .smem_bytes_per_clock_per_sm = 128,
    .l2_bytes_per_clock_per_sm = 32,
    .clock_ghz = 1.83,
    .hbm_gb_per_s = 3350,
    .l2_bytes = 50 * kMB,
    .memory_bytes = 80 * kGB,
    .has_arch_features = true,
    .has_bf16 = true,
    .has_tf32 = true,
};

constexpr Target larger_h100() {
  Target target = kH100;
  target.name = "h200";
  target.computes_as = "h100";
  target.description = "NVIDIA H200 SXM, 141 GB";
  target.hbm_gb_per_s = 4800;
  target.l2_bytes = 60 * kMB;
  target.memory_bytes = 141 * kGB;
  return target;
}

constexpr Target kHost{
    .name = "host",
    .description = "this machine's CPU, through LLVM",
    .families = kHostFamilies,
    .nvrtc_arch = "",
    .has_bf16 = true,
};

constexpr std::array kTargets{kT4, kA100, smaller_a100(), kA10, kL4, kRtx4090, kH100, larger_h100(), kHost};

/// The GPU as it would be if it knew no kernels but those of one family.
Target restricted(Target target, const FamilyTraits& traits) {
  static constexpr std::array kAlone{Family::sm75, Family::sm80, Family::sm90};
  target.families = std::span(std::ranges::find(kAlone, traits.family), 1);
  target.computes_as = {};
  target.has_bf16 = target.has_bf16 && traits.has_bf16;
  target.has_tf32 = target.has_tf32 && traits.has_tf32_products;
  return target;
}

/// "h200:sm80", whose parts these are. Throws ArgumentError.
const Target& find_restricted(const std::string& name, const Target& gpu, std::string_view family) {
  const auto traits = std::ranges::find(all_families(), family, &FamilyTraits::name);
  if (traits == all_families().end() || traits->family == Family::host || gpu.is_host())
    throw ArgumentError("target '" + name +
                        "': after the colon of a GPU stands a family of kernels, sm75, sm80 or sm90");
  if (traits->compute_capability > gpu.compute_capability)
    throw ArgumentError("target '" + name + "': " + std::string(gpu.name) +
                        " is older than the GPUs that run kernels of " + std::string(family));
  struct Owned {
    std::string name;
    Target target;
  };
  static std::mutex mutex;
  static auto& known =
      *new std::map<std::string, Owned>;  // kernels that outlive static objects refer to them
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = known.try_emplace(name);
  if (is_new) {
    at->second = {.name = name, .target = restricted(gpu, *traits)};
    at->second.target.name = at->second.name;
  }
  return at->second.target;
}

}  // namespace

bool Target::runs(Family family) const { return std::ranges::find(families, family) != families.end(); }

std::span<const Target> all_targets() { return kTargets; }

const Target& find_target(std::string_view name) {
  const std::size_t colon = name.find(':');
  std::string names;
  for (const Target& target : kTargets) {
    if (target.name == name) return target;
    if (colon != std::string_view::npos && target.name == name.substr(0, colon))
      return find_restricted(std::string(name), target, name.substr(colon + 1));
    names += (names.empty() ? "" : ", ") + std::string(target.name);
  }
  throw ArgumentError("no target is called '" + std::string(name) + "'; the targets are " + names);
}

const Target* match_target(int compute_capability, int num_sms, std::int64_t memory_bytes) {
  const Target* best = nullptr;
  std::tuple<int, std::int64_t> best_distance;
  for (const Target& target : kTargets) {
    if (target.is_host() || target.compute_capability != compute_capability) continue;
    const std::tuple distance{std::abs(target.num_sms - num_sms),
                              memory_bytes == 0 ? 0 : std::abs(target.memory_bytes - memory_bytes)};
    if (best == nullptr || distance < best_distance) {
      best = &target;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace fa
