// Names the targets, finds this machine's GPU, builds sources to look at what came out.
#include "tools/targets.h"

#include <chrono>

#include "runtime/device.h"
#include "runtime/nvrtc.h"
#include "runtime/options.h"
#include "tools/text.h"

namespace fa::tools {

std::string target_names() {
  std::vector<std::string> names;
  for (const auto& target : all_targets()) names.emplace_back(target.name);
  return join(names, "or");
}

const Target& default_gpu_target() {
  try {
    if (device_count() > 0) {
      const DeviceInfo& info = CudaDevice::get(environment().cuda_device).info();
      const Target* const found = match_target(info.compute_capability, info.num_sms, info.memory_bytes);
      if (found != nullptr) return *found;
    }
  } catch (const DeviceError&) {
    // No driver: the machine has no GPU, which is no fault where nothing is to be run.
  }
  return find_target("a100");
}

BuiltKernel build_for_inspection(const Source& source) {
  const Nvrtc& nvrtc = Nvrtc::get();
  const auto start = std::chrono::steady_clock::now();
  const Built built = nvrtc.compile(source, nvrtc_flags(source.arch, environment().nvrtc_flags));
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  return {.registers = built.registers,
          .spill_bytes = built.spill_store_bytes + built.spill_load_bytes,
          .cubin_bytes = built.cubin.size(),
          .milliseconds = elapsed.count()};
}

std::string build_ptx(const Source& source) {
  return Nvrtc::get().compile(source, nvrtc_flags(source.arch, environment().nvrtc_flags)).ptx;
}

}  // namespace fa::tools
