#include "tests/runtime/cuda/fake_driver.h"

#include <cstring>
#include <utility>

namespace fa::tests {
namespace {

constexpr CUresult kDone = CUDA_SUCCESS;

CUresult attribute(int* value, CUdevice_attribute which, CUdevice) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = fake().compute_capability / 10;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = fake().compute_capability % 10;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = fake().num_sms;
      break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE:
      *value = fake().l2_bytes;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = fake().max_smem_per_block;
      break;
    default:
      *value = static_cast<int>(which);
  }
  return kDone;
}

CUresult launch(const CUlaunchConfig* config, CUfunction function, void** arguments, void** extra) {
  if (extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  FakeDriver& f = fake();
  bool overlaps = false;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (config->attrs[i].id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
      return CUDA_ERROR_INVALID_VALUE;
    overlaps = config->attrs[i].value.programmaticStreamSerializationAllowed != 0;
  }
  ++f.launches;
  std::string entry;
  for (const auto& [name, named] : f.functions)
    if (named == function) entry = name;
  f.launch = {.function = function,
              .entry = std::move(entry),
              .grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
              .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
              .shared_memory = config->sharedMemBytes,
              .stream = config->hStream,
              .params = {},
              .head_counts = nullptr,
              .context = f.contexts.empty() ? nullptr : f.contexts.back(),
              .overlaps = overlaps};
  std::memcpy(&f.launch.params, arguments[0], sizeof(ForwardParams));
  if (f.launch.entry == "facet_row_stats" || f.launch.entry.starts_with("facet_d_"))
    f.launch.head_counts = static_cast<const BackwardParams*>(arguments[0])->head_counts;
  constexpr std::size_t kFew = 16;
  if (f.first.size() < kFew) f.first.push_back(f.launch);
  return f.launch_result;
}

DriverTable make_table() {
  DriverTable t;
  t.init = [](unsigned) { return kDone; };
  t.driver_get_version = [](int* version) { return *version = fake().driver_version, kDone; };
  t.get_error_name = [](CUresult result, const char** name) {
    *name = result == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_LAUNCH_FAILED";
    return kDone;
  };
  t.get_error_string = [](CUresult result, const char** words) {
    *words = result == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "unspecified launch failure";
    return kDone;
  };
  t.device_get_count = [](int* count) { return *count = fake().device_count, kDone; };
  t.device_get = [](CUdevice* device, int ordinal) { return *device = ordinal, kDone; };
  t.device_get_name = [](char* name, int size, CUdevice) {
    std::strncpy(name, "Fake GPU", static_cast<std::size_t>(size));
    return kDone;
  };
  t.device_get_attribute = attribute;
  t.device_total_mem = [](std::size_t* bytes, CUdevice) { return *bytes = std::size_t{80} << 30, kDone; };
  t.primary_ctx_retain = [](CUcontext* context, CUdevice) { return *context = fake_context(), kDone; };
  t.ctx_get_current = [](CUcontext* context) {
    return *context = fake().contexts.empty() ? nullptr : fake().contexts.back(), kDone;
  };
  t.ctx_push_current = [](CUcontext context) {
    ++fake().pushes;
    return fake().contexts.push_back(context), kDone;
  };
  t.ctx_pop_current = [](CUcontext* context) {
    *context = fake().contexts.back();
    return fake().contexts.pop_back(), kDone;
  };
  t.ctx_synchronize = [] { return kDone; };
  t.thread_exchange_stream_capture_mode = [](CUstreamCaptureMode* mode) {
    return std::swap(*mode, fake().capture_mode), kDone;
  };
  t.module_load_data = [](CUmodule* module, const void*) {
    if (fake().capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (fake().load_result != kDone) return fake().load_result;
    ++fake().modules_loaded;
    return *module = reinterpret_cast<CUmodule>(0x2000), kDone;
  };
  t.module_unload = [](CUmodule) {
    if (fake().capture_mode != CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return ++fake().modules_unloaded, kDone;
  };
  t.module_get_function = [](CUfunction* function, CUmodule, const char* name) {
    const bool is_forward = std::strcmp(name, "facet_forward") == 0;
    const auto other = reinterpret_cast<CUfunction>(0x3100 + 0x100 * fake().functions.size());
    const auto [place, is_new] = fake().functions.try_emplace(name, is_forward ? fake_function() : other);
    return *function = place->second, kDone;
  };
  t.func_get_attribute = [](int* value, CUfunction_attribute, CUfunction) { return *value = 168, kDone; };
  t.func_set_attribute = [](CUfunction, CUfunction_attribute which, int value) {
    return fake().function_attributes[which] = value, kDone;
  };
  t.launch_kernel = launch;
  t.mem_alloc = [](CUdeviceptr* pointer, std::size_t bytes) {
    if (fake().alloc_result != kDone) return fake().alloc_result;
    *pointer = 0x10000 + 0x10000 * fake().allocations.size();
    return fake().allocations[*pointer] = bytes, kDone;
  };
  t.mem_free = [](CUdeviceptr pointer) {
    return fake().allocations.erase(pointer) == 1 ? kDone : CUDA_ERROR_INVALID_VALUE;
  };
  t.mem_get_info = [](std::size_t* free, std::size_t* total) { return *free = 5, *total = 7, kDone; };
  t.memset_d32_async = [](CUdeviceptr first, unsigned value, std::size_t count, CUstream stream) {
    fake().memsets.push_back({.first = first,
                              .pitch = 0,
                              .width = count,
                              .height = 1,
                              .value = value,
                              .bytes = 4,
                              .stream = stream});
    return kDone;
  };
  t.memset_d2d8_async = [](CUdeviceptr first, std::size_t pitch, unsigned char value, std::size_t width,
                           std::size_t height, CUstream stream) {
    fake().memsets.push_back({.first = first,
                              .pitch = pitch,
                              .width = width,
                              .height = height,
                              .value = value,
                              .bytes = 1,
                              .stream = stream});
    return kDone;
  };
  return t;
}

}  // namespace

FakeDriver& fake() {
  static FakeDriver driver;
  return driver;
}

void reset_fake() { fake() = FakeDriver(); }

const DriverTable& fake_table() {
  static const DriverTable table = make_table();
  return table;
}

}  // namespace fa::tests
