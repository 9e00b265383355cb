// A CUDA driver without a GPU, for programs that open it by FA_LIBCUDA: a T4 whose memory is the process's and whose
// launches only write a line into the file that FAKE_CUDA_LOG names: which module, which function, which blocks. It takes
// FAKE_CUDA_START milliseconds to start.
// Its clock makes large tiles slow where they leave SMs idle, and small tiles slow elsewhere, so that a tuner has
// something to find.
#include <cuda.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#define FA_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr CUresult kDone = CUDA_SUCCESS;
constexpr int kSms = 40;
constexpr std::size_t kMemoryBytes = std::size_t{16} << 30;

struct Module {
  std::size_t hash;
};
struct Function {
  Module* module;
  std::string name;
};

// What handles point to lives as long as the process.
auto& modules = *new std::deque<Module>;
auto& functions = *new std::deque<Function>;
double clock_ms = 0;  // of the device
std::vector<CUcontext> contexts;

void log_line(const std::string& line) {
  const char* const path = std::getenv("FAKE_CUDA_LOG");
  if (path == nullptr) return;
  if (std::FILE* const file = std::fopen(path, "a")) {
    std::fprintf(file, "%s\n", line.c_str());
    std::fclose(file);
  }
}

template <class T>
T handle(std::uintptr_t number) {
  return reinterpret_cast<T>(number);
}

/// How long an ELF file is: up to the end of its section table or of its program table, the later of the two.
std::size_t bytes_of_elf(const char* image) {
  std::uint64_t programs = 0, sections = 0;
  std::uint16_t program_bytes = 0, num_programs = 0, section_bytes = 0, num_sections = 0;
  std::memcpy(&programs, image + 32, sizeof programs);
  std::memcpy(&sections, image + 40, sizeof sections);
  std::memcpy(&program_bytes, image + 54, sizeof program_bytes);
  std::memcpy(&num_programs, image + 56, sizeof num_programs);
  std::memcpy(&section_bytes, image + 58, sizeof section_bytes);
  std::memcpy(&num_sections, image + 60, sizeof num_sections);
  const auto end = [](std::uint64_t at, int bytes, int count) {
    return static_cast<std::size_t>(at) + static_cast<std::size_t>(bytes * count);
  };
  return std::max(end(programs, program_bytes, num_programs), end(sections, section_bytes, num_sections));
}

}  // namespace

#undef cuDeviceTotalMem
#undef cuCtxPushCurrent
#undef cuCtxPopCurrent
#undef cuMemAlloc
#undef cuMemFree
#undef cuMemGetInfo
#undef cuMemcpyHtoDAsync
#undef cuMemcpyDtoHAsync
#undef cuStreamDestroy
#undef cuEventDestroy

FA_EXPORT CUresult cuInit(unsigned) {
  if (const char* const start = std::getenv("FAKE_CUDA_START"))
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(start)));
  return kDone;
}
FA_EXPORT CUresult cuDriverGetVersion(int* version) { return *version = 13000, kDone; }
FA_EXPORT CUresult cuGetErrorName(CUresult, const char** name) { return *name = "CUDA_ERROR_FAKE", kDone; }
FA_EXPORT CUresult cuGetErrorString(CUresult, const char** words) { return *words = "fake", kDone; }
FA_EXPORT CUresult cuDeviceGetCount(int* count) { return *count = 1, kDone; }
FA_EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) { return *device = ordinal, kDone; }
FA_EXPORT CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  return std::snprintf(name, static_cast<std::size_t>(size), "Fake T4"), kDone;
}
FA_EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) {
  constexpr std::pair<CUdevice_attribute, int> kValues[] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 7},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 5},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, kSms},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 65536},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 65536},
      {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 0},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 16},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 4 << 20}};
  for (const auto& [attribute, number] : kValues)
    if (attribute == which) return *value = number, kDone;
  return CUDA_ERROR_INVALID_VALUE;
}
FA_EXPORT CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice) { return *bytes = kMemoryBytes, kDone; }
FA_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  return *context = handle<CUcontext>(0x1000), kDone;
}
FA_EXPORT CUresult cuCtxGetCurrent(CUcontext* context) {
  return *context = contexts.empty() ? nullptr : contexts.back(), kDone;
}
FA_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context) { return contexts.push_back(context), kDone; }
FA_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  *context = contexts.back();
  return contexts.pop_back(), kDone;
}
FA_EXPORT CUresult cuCtxSynchronize() { return kDone; }
FA_EXPORT CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode*) { return kDone; }
FA_EXPORT CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  const auto* const bytes = static_cast<const char*>(image);
  if (std::memcmp(bytes,
                  "\x7f"
                  "ELF",
                  4) != 0)
    return CUDA_ERROR_INVALID_IMAGE;
  const std::size_t hash = std::hash<std::string_view>()({bytes, bytes_of_elf(bytes)});
  log_line("load " + std::to_string(hash));
  return *module = reinterpret_cast<CUmodule>(&modules.emplace_back(Module{hash})), kDone;
}
FA_EXPORT CUresult cuModuleUnload(CUmodule) { return kDone; }
FA_EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  auto* const of = reinterpret_cast<Module*>(module);
  return *function = reinterpret_cast<CUfunction>(&functions.emplace_back(Function{of, name})), kDone;
}
FA_EXPORT CUresult cuFuncGetAttribute(int* value, CUfunction_attribute, CUfunction) {
  return *value = 128, kDone;
}
FA_EXPORT CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int) { return kDone; }
FA_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void**, void**) {
  const auto* const of = reinterpret_cast<const Function*>(function);
  const unsigned blocks = config->gridDimX * config->gridDimY * config->gridDimZ;
  log_line("launch " + of->name + " " + std::to_string(of->module->hash) + " blocks " +
           std::to_string(blocks));
  clock_ms += blocks <= 2 * kSms ? 1.0 / blocks : blocks * 1e-3;
  return kDone;
}
FA_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr* pointer, std::size_t bytes) {
  if (bytes > kMemoryBytes) return CUDA_ERROR_OUT_OF_MEMORY;
  void* const memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  return *pointer = reinterpret_cast<CUdeviceptr>(memory),
         memory == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : kDone;
}
FA_EXPORT CUresult cuMemFree_v2(CUdeviceptr pointer) {
  return std::free(reinterpret_cast<void*>(pointer)), kDone;
}
FA_EXPORT CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return *free = *total = kMemoryBytes, kDone;
}
FA_EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t bytes, CUstream) {
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), kDone;
}
FA_EXPORT CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes, CUstream) {
  return std::memcpy(to, reinterpret_cast<const void*>(from), bytes), kDone;
}
FA_EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream) {
  return std::memset(reinterpret_cast<void*>(to), value, bytes), kDone;
}
FA_EXPORT CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t count, CUstream) {
  for (std::size_t i = 0; i < count; ++i) reinterpret_cast<unsigned*>(to)[i] = value;
  return kDone;
}
FA_EXPORT CUresult cuMemsetD2D8Async(CUdeviceptr to, std::size_t pitch, unsigned char value,
                                     std::size_t width, std::size_t height, CUstream) {
  for (std::size_t row = 0; row < height; ++row)
    std::memset(reinterpret_cast<char*>(to) + row * pitch, value, width);
  return kDone;
}
FA_EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned) {
  return *stream = handle<CUstream>(0x2000), kDone;
}
FA_EXPORT CUresult cuStreamDestroy_v2(CUstream) { return kDone; }
FA_EXPORT CUresult cuStreamSynchronize(CUstream) { return kDone; }
FA_EXPORT CUresult cuEventCreate(CUevent* event, unsigned) {
  return *event = reinterpret_cast<CUevent>(new double(0)), kDone;
}
FA_EXPORT CUresult cuEventDestroy_v2(CUevent event) { return delete reinterpret_cast<double*>(event), kDone; }
FA_EXPORT CUresult cuEventRecord(CUevent event, CUstream) {
  return *reinterpret_cast<double*>(event) = clock_ms, kDone;
}
FA_EXPORT CUresult cuEventSynchronize(CUevent) { return kDone; }
#undef cuEventElapsedTime
FA_EXPORT CUresult cuEventElapsedTime(float* ms, CUevent start, CUevent end) {
  return *ms = static_cast<float>(*reinterpret_cast<double*>(end) - *reinterpret_cast<double*>(start)), kDone;
}
