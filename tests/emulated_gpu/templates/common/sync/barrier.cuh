// In the place of templates/common/sync/barrier.cuh. Copies end when their thread arrives with them. Where a wait is missing, a warp
// reads what others have not copied yet; or, in the order where other warps go on then, overwrites what they have not read yet.
#pragma once

namespace fa {

constexpr int kBarrierBytes = 8;

inline emulated::Phases& phases_at(unsigned smem) {
  return *reinterpret_cast<emulated::Phases*>(emulated::piece_at<sizeof(emulated::Phases)>(smem));
}

inline void make_barrier(unsigned barrier, int arrivals) {
  emulated::Block::make(phases_at(barrier), arrivals);
}
inline void arrive(unsigned barrier) { emulated::block.arrive(phases_at(barrier)); }
inline void arrive_with_copies(unsigned barrier) {
  emulated::block.close_copies();
  emulated::block.await_copies(0);
  emulated::block.arrive(phases_at(barrier));
  emulated::block.yield();
}
inline void wait(unsigned barrier, int parity) { emulated::block.await(phases_at(barrier), parity); }

}  // namespace fa
