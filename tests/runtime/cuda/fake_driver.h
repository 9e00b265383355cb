// A CUDA driver made of plain functions: it has one device, keeps what it is told, and fails when asked to.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fa/kernel.h"
#include "runtime/cuda/device.h"
#include "runtime/cuda/driver.h"
#include "templates/backward_params.h"
#include "templates/params.h"

namespace fa::tests {

struct FakeLaunch {
  CUfunction function = nullptr;
  std::string entry;  // the function's name
  unsigned grid[3] = {};
  unsigned block[3] = {};
  unsigned shared_memory = 0;
  CUstream stream = nullptr;
  ForwardParams params = {};
  const unsigned* head_counts = nullptr;  // of a backward pass's arguments
  CUcontext context = nullptr;            // current at the launch
  bool overlaps = false;                  // it may start before the launch before it has ended
};

struct FakeMemset {
  CUdeviceptr first = 0;
  std::size_t pitch = 0, width = 0, height = 0;  // elements of `bytes` each
  unsigned value = 0;
  int bytes = 0;
  CUstream stream = nullptr;
};

/// What the fake driver was told since `reset`, and how it is to answer.
struct FakeDriver {
  int device_count = 1;
  int compute_capability = 90;
  int num_sms = 132;
  int l2_bytes = 1 << 20;
  int driver_version = 13000;
  int max_smem_per_block = 227 * 1024;
  CUresult launch_result = CUDA_SUCCESS;
  CUresult load_result = CUDA_SUCCESS;
  CUresult alloc_result = CUDA_SUCCESS;

  std::vector<CUcontext> contexts;  // the current one last
  int pushes = 0;
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;  // of every thread
  int modules_loaded = 0, modules_unloaded = 0;                      // a strict capture mode refuses both
  std::map<std::string, CUfunction> functions;                       // those that were asked for, by name
  std::map<int, int> function_attributes;
  int launches = 0;
  FakeLaunch launch;              // the last
  std::vector<FakeLaunch> first;  // the first few, in order
  std::vector<FakeMemset> memsets;
  std::map<CUdeviceptr, std::size_t> allocations;
};

/// The state behind the table.
FakeDriver& fake();
/// Back to the defaults.
void reset_fake();
const DriverTable& fake_table();

inline CUcontext fake_context() { return reinterpret_cast<CUcontext>(0x1000); }
inline CUfunction fake_function() { return reinterpret_cast<CUfunction>(0x3000); }

/// An address that nothing reads.
inline void* at(std::uintptr_t address) { return reinterpret_cast<void*>(address); }
/// A batch of 3 in bf16.
inline Tensor tensor(std::uintptr_t address, std::int64_t heads, std::int64_t length, std::int64_t dim = 64) {
  return Tensor::bhsd(at(address), DType::bf16, 3, heads, length, dim);
}

}  // namespace fa::tests
