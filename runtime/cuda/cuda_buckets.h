// The programs of one kernel, loaded on a device: which of them a call runs.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/program/bucket.h"
#include "runtime/cuda/cuda_kernel.h"

namespace fa {

/// A program and the calls that it is for. Two buckets may share one.
struct CudaBucket {
  Bucket bucket;
  std::string plan;
  std::shared_ptr<const CudaKernel> code;
};

/// Empty for a kernel of the host. Else the first bucket that holds a call is the call's, and the last one holds
/// every call.
class CudaBuckets {
 public:
  CudaBuckets(std::nullptr_t = nullptr) {}
  /// One program for every call.
  CudaBuckets(std::unique_ptr<const CudaKernel> code) : CudaBuckets(std::move(code), {}) {}
  CudaBuckets(std::unique_ptr<const CudaKernel> code, std::string plan) {
    all_.push_back({.bucket = {}, .plan = std::move(plan), .code = std::move(code)});
  }
  explicit CudaBuckets(std::vector<CudaBucket> all) : all_(std::move(all)) {}

  bool empty() const { return all_.empty(); }
  const std::vector<CudaBucket>& all() const { return all_; }
  const CudaDevice& device() const { return all_.back().code->device; }

  const CudaBucket& of(const CallParams& call) const {
    const CudaBucket* bucket = all_.data();
    if (all_.size() > 1) {
      const CallSize size = CallSize::of(call);
      for (const CudaBucket* const last = &all_.back(); bucket != last && !bucket->bucket.holds(size);)
        ++bucket;
    }
    return *bucket;
  }

 private:
  std::vector<CudaBucket> all_;
};

}  // namespace fa
