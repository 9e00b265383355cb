// Names the targets, finds this machine's GPU, and builds sources to report about the result.
#include "tools/command/targets.h"

#include <fmt/format.h>

#include <chrono>

#include "runtime/build/build.h"
#include "runtime/build/device_target.h"
#include "runtime/system/options.h"
#include "tools/command/arguments.h"
#include "tools/console/text.h"

namespace fa::tools {

std::vector<std::string> target_words(bool with_host) {
  std::vector<std::string> names;
  for (const auto& target : all_targets())
    if (with_host || !target.is_host()) names.emplace_back(target.name);
  return names;
}

std::string target_names() { return join(target_words(true), "or"); }

Target target_of_arch(std::string_view arch) {
  constexpr int kFirstWithSuffix = 90;  // sm_90a has what sm_90 has and wgmma; older ones have no such pair
  const bool has_suffix = arch.ends_with('a') || arch.ends_with('f');
  const std::string_view plain = arch.substr(0, arch.size() - (has_suffix ? 1 : 0));
  std::vector<std::string> archs;
  for (const Target& known : all_targets()) {
    if (known.is_host()) continue;
    if (known.nvrtc_arch == plain && (!has_suffix || known.compute_capability >= kFirstWithSuffix)) {
      Target target = known;
      target.nvrtc_arch = arch;
      target.has_arch_features = has_suffix;
      return target;
    }
    if (archs.empty() || archs.back() != known.nvrtc_arch) archs.emplace_back(known.nvrtc_arch);
  }
  throw ArgumentError(
      fmt::format("no GPU of architecture '{}' is known; the architectures are {}", arch, join(archs)));
}

const Target& default_gpu_target() {
  if (const std::string& name = environment().target; !name.empty()) {
    try {
      return named_target(name);
    } catch (const ArgumentError& error) {
      throw ArgumentError(fmt::format("FA_TARGET='{}': {}", name, error.what()));
    }
  }
  try {
    const int ordinal = environment().cuda_device;
    if (device_count() > ordinal) return target_of(CudaDevice::get(ordinal).info());
  } catch (const DeviceError&) {
    // Without a driver there is no GPU, which is no error where nothing is to be run.
  }
  return find_target("a100");
}

const Target& device_of_kernel(const Kernel& kernel, int cuda_device) {
  return kernel.device() == Device::cuda ? target_of(CudaDevice::get(cuda_device).info())
                                         : find_target(kernel.target());
}

const Target& target_of_kernel(const Kernel& kernel, int cuda_device) {
  const Target& device = device_of_kernel(kernel, cuda_device);
  return device.name == kernel.target() ? device : find_target(kernel.target());
}

BuiltKernel build_for_inspection(const Source& source) {
  const auto start = std::chrono::steady_clock::now();
  const Built built = build_source(source);
  const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
  return {.registers = built.figures.registers,
          .spill_bytes = built.figures.spill_bytes(),
          .cubin_bytes = built.cubin.size(),
          .milliseconds = elapsed.count()};
}

}  // namespace fa::tools
