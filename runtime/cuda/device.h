// One GPU: its figures and its primary context. No CUDA header reaches whoever includes this.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

struct CUctx_st;

namespace fa {

struct DriverTable;

/// What the driver says of a GPU.
struct DeviceInfo {
  int ordinal = 0;
  std::string name;            // "NVIDIA H200"
  int compute_capability = 0;  // 90
  int num_sms = 0;
  int max_smem_per_block = 0;       // bytes, opt-in
  int max_smem_per_sm = 0;          // bytes
  int reserved_smem_per_block = 0;  // bytes
  int registers_per_sm = 0;
  int max_threads_per_sm = 0;
  int max_ctas_per_sm = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  int driver_version = 0;  // 13000: the CUDA version the driver was made for
};

/// GPUs this process sees; 0 where there are none. Throws DeviceError where the driver is absent or fails.
int device_count();

class CudaDevice {
 public:
  /// The process' device of that ordinal; opened on the first call and kept for good. Throws DeviceError.
  static const CudaDevice& get(int ordinal);

  /// Reads the GPU's figures through `table`.
  CudaDevice(const DriverTable& table, int ordinal);
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  const DeviceInfo& info() const { return info_; }
  const DriverTable& table() const { return table_; }
  /// The primary context, the one that the CUDA runtime and PyTorch use too; retained on the first call,
  /// which can take longer than building a kernel.
  CUctx_st* context() const;
  bool has_context() const { return context_.load(std::memory_order_acquire) != nullptr; }

  /// Waits for all work on the device. Throws DeviceError where some of it failed.
  void synchronize() const;

  /// Makes the device's context the thread's current one while it lives. Costs one query where it already is.
  class Current {
   public:
    explicit Current(const CudaDevice& device);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    const CudaDevice& device_;
    bool pushed_ = false;
  };

 private:
  const DriverTable& table_;
  DeviceInfo info_;
  mutable std::mutex retaining_;
  mutable std::atomic<CUctx_st*> context_ = nullptr;
};

}  // namespace fa
