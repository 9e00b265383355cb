// Runs a host kernel's backward pass on the pool of threads.
//
// Work is cut into items by the call's sizes alone: a kv head of a batch entry, or a part of the query rows
// of its group where there are few; or of all batch entries, one after the other, where sums of their own
// would be large. An item owns what it adds to, runs its tiles of query rows in order, and the sums of
// items that meet are added up in the items' order, so that results do not depend on the threads.
#pragma once

#include <cstddef>

#include "runtime/call/backward_arguments.h"
#include "runtime/host/jit.h"

namespace fa {

/// How a call is cut into items, and where their sums lie in its workspace.
class HostBackwardLayout {
 public:
  HostBackwardLayout(const HostBackwardKernel& kernel, const BackwardCall& call);

  std::size_t workspace_bytes() const { return bytes_; }

  int parts() const { return parts_; }  // of a kv head's query rows
  std::size_t items() const { return items_; }
  bool takes_all_batches() const { return takes_all_batches_; }  // an item
  int q_tiles() const { return q_tiles_; }                       // of one head
  int kv_tiles() const { return kv_tiles_; }
  /// Floats of an item's dK and dV; those of dV come after `d_k_floats`.
  std::size_t d_kv_floats() const { return d_k_floats_ + d_v_floats_; }
  std::size_t d_k_floats() const { return d_k_floats_; }
  /// Copies of a captured gradient's sums, in double from this byte of the workspace on; no copies where each
  /// element has one writer, who stores it.
  struct Sums {
    std::size_t offset = 0, copies = 0;
    bool of_batch = false, of_head = false,
         of_part = false;  // items that differ in it have copies of their own
    bool is_stored = false;
  };
  const Sums& sums(std::size_t gradient) const { return sums_[gradient]; }
  std::size_t copy_of(const Sums& sums, int b, int kv_head, int part) const;

 private:
  Sums find_sums(std::uint32_t traits) const;
  std::size_t sums_bytes(const HostBackwardKernel& kernel, const BackwardCall& call) const;
  void cut(std::int64_t heads);

  const CallParams& size_;
  int parts_ = 1, q_tiles_ = 0, kv_tiles_ = 0;
  bool takes_all_batches_ = false;
  std::size_t items_ = 0, d_k_floats_ = 0, d_v_floats_ = 0, bytes_ = 0;
  std::array<Sums, kMaxGradients> sums_{};
};

/// One backward pass; returns when done. `call` has elements, all in host memory; `workspace` has the
/// layout's bytes. `num_threads` 0: every core of this process' affinity mask. May be called from several
/// threads at once.
void run_host_backward(const HostBackwardKernel& kernel, const BackwardCall& call, void* workspace,
                       int num_threads = 0);

}  // namespace fa
