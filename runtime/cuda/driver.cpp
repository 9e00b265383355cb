#include "runtime/cuda/driver.h"

#include <fmt/format.h>

#include <mutex>
#include <utility>

#include "runtime/system/dynlib.h"
#include "runtime/system/options.h"

namespace fa {
namespace {

std::string_view remedy(CUresult result) {
  switch (result) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return "the GPU has no memory left for it: free some, or use smaller tensors";
    case CUDA_ERROR_NO_DEVICE:
      return "no NVIDIA GPU is visible: check nvidia-smi and CUDA_VISIBLE_DEVICES, or use the host (--device "
             "host)";
    case CUDA_ERROR_INVALID_DEVICE:
      return "there is no such GPU: choose another ordinal";
    case CUDA_ERROR_STUB_LIBRARY:
      return "the libcuda found is the toolkit's stub: take its folder out of LD_LIBRARY_PATH";
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
      return "libcuda and the kernel module are of different versions: reboot, or install matching ones";
    case CUDA_ERROR_UNKNOWN:
      return "often the nvidia_uvm kernel module is not loaded or the process may not open /dev/nvidia*";
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
      return "the driver is older than NVRTC: update the driver, or point FA_NVRTC at an older NVRTC";
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
      return "a kernel touched memory that is not there: check that every pointer is device memory of the "
             "stated "
             "size; compute-sanitizer names the access";
    case CUDA_ERROR_INVALID_CONTEXT:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
      return "the device's primary context was reset: start the process anew";
    case CUDA_ERROR_INVALID_HANDLE:
      return "the stream belongs to another device, or no longer exists";
    case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
      return "the plan asks for more than the GPU has: please report it";
    default:
      return {};
  }
}

}  // namespace

std::string driver_error_text(const DriverTable& table, CUresult result, std::string_view doing) {
  const char* name = nullptr;
  const char* words = nullptr;
  if (table.get_error_name != nullptr) table.get_error_name(result, &name);
  if (table.get_error_string != nullptr) table.get_error_string(result, &words);
  std::string text = fmt::format(
      "{}: {}", doing, name != nullptr ? name : fmt::format("CUresult {}", static_cast<int>(result)));
  if (words != nullptr) text += fmt::format(" ({})", words);
  if (const std::string_view help = remedy(result); !help.empty()) text += fmt::format("; {}", help);
  return text;
}

void check_driver(const DriverTable& table, CUresult result, std::string_view doing) {
  if (result != CUDA_SUCCESS)
    throw DeviceError(driver_error_text(table, result, doing), static_cast<int>(result));
}

namespace {

DriverTable start(DynLib lib) {
  DriverTable table;
#define FA_DRIVER_RESOLVE(member, function, symbol_name)                         \
  table.member = reinterpret_cast<decltype(&function)>(lib.symbol(symbol_name)); \
  if (table.member == nullptr)                                                   \
    throw DeviceError(                                                           \
        fmt::format("{} has no {}: the driver is too old; update it", lib.path(), symbol_name), 0);
  FA_DRIVER_FUNCTIONS(FA_DRIVER_RESOLVE)
#undef FA_DRIVER_RESOLVE
  check_driver(table, table.init(0), "starting the CUDA driver");
  lib.keep_loaded();  // contexts and kernels of static lifetime call into it until the process ends
  return table;
}

[[noreturn]] void refuse_library(const std::string& library, const std::string& error) {
  throw DeviceError(
      fmt::format(
          "no CUDA driver: {} (looked for {} in FA_LIBCUDA, LD_LIBRARY_PATH and the system's folders); "
          "install NVIDIA's driver, or use the host (--device host)",
          error, library),
      0);
}

}  // namespace

DriverTable load_driver(const std::string& library) {
  std::string error;
  DynLib lib = DynLib::open(library, error);
  if (!lib) refuse_library(library, error);
  return start(std::move(lib));
}

const DriverTable& driver() {
  static const DriverTable table = [] {
    const std::string& name = environment().libcuda;
    std::string error;
    DynLib lib = DynLib::open(name, error);
    if (!lib && name != Environment().libcuda)
      throw ArgumentError(fmt::format(
          "FA_LIBCUDA='{}': {}; let it name the CUDA driver's library, or unset it", name, error));
    if (!lib) refuse_library(name, error);
    return start(std::move(lib));
  }();
  return table;
}

}  // namespace fa
