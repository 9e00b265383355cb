// The CUDA driver, opened at run time: the few functions Facet calls, and what to say when one fails.
//
// Nothing links against libcuda. A `DriverTable` is a plain struct of function pointers, so that tests put
// their own functions in it and launches are checked on a machine without a GPU.
#pragma once

#include <cuda.h>

#include <string>

#include "fa/error.h"

namespace fa {

// member, prototype in <cuda.h>, exported symbol. The symbol is spelled out because headers of different
// toolkits map one name to different versions, and the driver at hand may be older than the headers.
#define FA_DRIVER_FUNCTIONS(X)                                                \
  X(init, cuInit, "cuInit")                                                   \
  X(driver_get_version, cuDriverGetVersion, "cuDriverGetVersion")             \
  X(get_error_name, cuGetErrorName, "cuGetErrorName")                         \
  X(get_error_string, cuGetErrorString, "cuGetErrorString")                   \
  X(device_get_count, cuDeviceGetCount, "cuDeviceGetCount")                   \
  X(device_get, cuDeviceGet, "cuDeviceGet")                                   \
  X(device_get_name, cuDeviceGetName, "cuDeviceGetName")                      \
  X(device_get_attribute, cuDeviceGetAttribute, "cuDeviceGetAttribute")       \
  X(device_total_mem, cuDeviceTotalMem, "cuDeviceTotalMem_v2")                \
  X(primary_ctx_retain, cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain") \
  X(ctx_get_current, cuCtxGetCurrent, "cuCtxGetCurrent")                      \
  X(ctx_push_current, cuCtxPushCurrent, "cuCtxPushCurrent_v2")                \
  X(ctx_pop_current, cuCtxPopCurrent, "cuCtxPopCurrent_v2")                   \
  X(ctx_synchronize, cuCtxSynchronize, "cuCtxSynchronize")                    \
  X(thread_exchange_stream_capture_mode, cuThreadExchangeStreamCaptureMode,   \
    "cuThreadExchangeStreamCaptureMode")                                      \
  X(module_load_data, cuModuleLoadData, "cuModuleLoadData")                   \
  X(module_unload, cuModuleUnload, "cuModuleUnload")                          \
  X(module_get_function, cuModuleGetFunction, "cuModuleGetFunction")          \
  X(func_get_attribute, cuFuncGetAttribute, "cuFuncGetAttribute")             \
  X(func_set_attribute, cuFuncSetAttribute, "cuFuncSetAttribute")             \
  X(launch_kernel, cuLaunchKernelEx, "cuLaunchKernelEx")                      \
  X(mem_alloc, cuMemAlloc, "cuMemAlloc_v2")                                   \
  X(mem_free, cuMemFree, "cuMemFree_v2")                                      \
  X(mem_get_info, cuMemGetInfo, "cuMemGetInfo_v2")                            \
  X(memcpy_htod_async, cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2")             \
  X(memcpy_dtoh_async, cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2")             \
  X(memset_d8_async, cuMemsetD8Async, "cuMemsetD8Async")                      \
  X(memset_d32_async, cuMemsetD32Async, "cuMemsetD32Async")                   \
  X(memset_d2d8_async, cuMemsetD2D8Async, "cuMemsetD2D8Async")                \
  X(stream_create, cuStreamCreate, "cuStreamCreate")                          \
  X(stream_destroy, cuStreamDestroy, "cuStreamDestroy_v2")                    \
  X(stream_synchronize, cuStreamSynchronize, "cuStreamSynchronize")           \
  X(event_create, cuEventCreate, "cuEventCreate")                             \
  X(event_destroy, cuEventDestroy, "cuEventDestroy_v2")                       \
  X(event_record, cuEventRecord, "cuEventRecord")                             \
  X(event_synchronize, cuEventSynchronize, "cuEventSynchronize")              \
  X(event_elapsed_time, cuEventElapsedTime, "cuEventElapsedTime")

struct DriverTable {
#define FA_DRIVER_MEMBER(member, function, symbol) decltype(&function) member = nullptr;
  FA_DRIVER_FUNCTIONS(FA_DRIVER_MEMBER)
#undef FA_DRIVER_MEMBER
};

/// Opens the driver library and initialises it; the library stays loaded for good. Throws DeviceError that
/// says what is missing, where it was looked for and how to get it.
DriverTable load_driver(const std::string& library);

/// The process' driver, loaded on the first call (FA_LIBCUDA, else libcuda.so.1). Throws as load_driver does,
/// each time anew.
const DriverTable& driver();

/// Throws DeviceError where `result` is an error: what was being done, the result's name, and what to do
/// about it.
void check_driver(const DriverTable& table, CUresult result, std::string_view doing);

/// The message check_driver throws with.
std::string driver_error_text(const DriverTable& table, CUresult result, std::string_view doing);

}  // namespace fa
