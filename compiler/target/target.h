// The properties of each GPU and of the CPU, one literal each. No other file knows an architecture's numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "compiler/target/family.h"
#include "compiler/target/host_cpu.h"
#include "fa/spec.h"

namespace fa {

struct Target {
  std::string_view name;             // "h200"
  std::string_view description;      // "NVIDIA H200 SXM, 141 GB"
  std::span<const Family> families;  // whose kernels it runs, the one made for it first
  int compute_capability = 0;        // 90; 0 on the host
  std::string_view nvrtc_arch;       // "sm_90"
  int num_sms = 0;
  int max_smem_per_block = 0;       // bytes, opt-in
  int max_smem_per_sm = 0;          // bytes
  int reserved_smem_per_block = 0;  // what the driver reserves for each CTA
  int registers_per_sm = 0;
  int max_threads_per_sm = 0;
  int max_ctas_per_sm = 0;
  double tensor_tflops = 0;  // dense 16-bit, fp32 accumulate; datasheet
  double mma_fraction = 1;   // share of tensor_tflops that the family's mma instruction can reach at all
  double exp2_per_clock_per_sm = 0;
  double fp32_per_clock_per_sm = 0;  // instructions: an FMA counts once
  double smem_bytes_per_clock_per_sm = 0;
  double l2_bytes_per_clock_per_sm = 0;  // all SMs reading; from experience, in no datasheet
  double clock_ghz = 0;                  // at which tensor_tflops is quoted
  double hbm_gb_per_s = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  // The GPU that differs in its memory alone, if any: plans that ship for that one hold here, too, where none do for this one.
  std::string_view computes_as{};
  // Whether kernels may use instructions that this architecture alone has (sm_90a): not where they are to run on
  // others, too.
  bool has_arch_features = false;
  bool has_bf16 = false;
  bool has_tf32 = false;
  const HostCpu* cpu = nullptr;  // of the host, where it is known: its own record here does not say

  bool is_host() const { return runs(Family::host); }
  bool runs(Family family) const;
};

std::span<const Target> all_targets();
/// The target with this name ("h100", "t4", "host"), or a GPU that runs the kernels of one family alone: "h200:sm80". Throws
/// ArgumentError with the list of names, or with why the GPU does not run them.
const Target& find_target(std::string_view name);
/// The target for a device: the same compute capability, then the nearest SM count (a MIG slice, a PCIe
/// card), then the nearest memory size (all that tells H200 from H100; 0: unknown). nullptr where none fits.
const Target* match_target(int compute_capability, int num_sms, std::int64_t memory_bytes = 0);

}  // namespace fa
