// A problem's tensors where a kernel runs, and the kernel run on them: uploads once, launches, times,
// downloads.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "fa/kernel.h"
#include "tools/problem/host_tensor.h"
#include "tools/problem/problem.h"

namespace fa::tools {

/// How q, k, v and o lie in memory: [batch, heads, length, dim] or [batch, length, heads, dim].
enum class Layout { bhsd, bshd };

struct Outputs {
  HostTensor o;            // [batch, heads, q_len, head_dim_v], whatever the layout
  std::vector<float> lse;  // [batch, heads, q_len]
};

/// Memory of one device.
class Memory {
 public:
  virtual ~Memory() = default;
  /// At least 256-byte aligned; freed with the Memory. Throws DeviceError or std::bad_alloc.
  void* allocate(std::size_t bytes) {
    void* const data = do_allocate(bytes);
    allocated_bytes_ += bytes;
    return data;
  }
  std::size_t allocated_bytes() const { return allocated_bytes_; }
  virtual void upload(void* to, const void* from, std::size_t bytes) = 0;
  virtual void download(void* to, const void* from, std::size_t bytes) = 0;
  /// Calls `launch(i)` for i in [0, runs), and says how long each took on the device, in milliseconds.
  virtual std::vector<double> time(int runs, const std::function<void(int)>& launch) = 0;
  virtual void synchronize() = 0;

 private:
  virtual void* do_allocate(std::size_t bytes) = 0;

  std::size_t allocated_bytes_ = 0;
};

std::unique_ptr<Memory> host_memory();
std::unique_ptr<Memory> cuda_memory(int cuda_device);

class Session {
 public:
  /// `copies`: sets of q, k, v and o, used in turn by the launches, so that a cache holds none of them.
  Session(const Problem& problem, Device device, int cuda_device = 0, Layout layout = Layout::bhsd,
          int copies = 1);

  /// Which of its plans a kernel runs on this problem.
  KernelPlan plan_of(const Kernel& kernel) const { return kernel.plan_for(copies_[0]); }
  std::size_t workspace_bytes(const Kernel& kernel) const { return kernel.workspace_bytes(copies_[0]); }
  void launch(const Kernel& kernel, int copy = 0, Stream stream = nullptr);
  void synchronize() { memory_->synchronize(); }
  /// Milliseconds of each of `runs` launches, taking turns on the copies. Throws Interrupted between two.
  std::vector<double> time(const Kernel& kernel, int runs);
  /// What the last launch on copy 0 wrote; waits for it.
  Outputs outputs();
  /// Fills o and lse with a pattern no kernel writes, so that an element left unwritten shows.
  void poison_outputs();

  /// Bytes of q, k, v, o and lse of one copy: the least a forward pass moves.
  std::int64_t bytes_per_copy() const { return bytes_per_copy_; }
  /// All bytes this session allocated.
  std::int64_t bytes_allocated() const { return static_cast<std::int64_t>(memory_->allocated_bytes()); }

 private:
  void* place(const HostTensor& tensor);
  void give_workspace(ForwardArgs& args, std::size_t bytes);

  const Problem& problem_;
  Layout layout_;
  std::unique_ptr<Memory> memory_;
  std::vector<ForwardArgs> copies_;
  std::int64_t bytes_per_copy_ = 0;
  void* large_workspace_ = nullptr;
  std::size_t large_workspace_bytes_ = 0;
};

/// How many copies of `bytes` it takes to exceed a cache, within [1, 64].
int copies_beyond_cache(std::int64_t bytes, std::int64_t cache_bytes);

}  // namespace fa::tools
