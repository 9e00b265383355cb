// Where a thread stands and what its CTA works on. threadIdx and blockIdx are read here and in the
// architectures' folders, nowhere else: a kernel whose CTAs take several items each, or whose warps have
// different roles, then changes its own folder alone.
//
// An architecture's placement.cuh chooses what the templates in common/ use by these names:
//   WorkItem   what a CTA works on; BlockItem below is one
//   WarpPlace  which scores of a tile a thread holds; MmaPlace (common/mma_place.cuh) is one
//   kCopyingThreads<Config>, copying_thread<Config>()  how many threads copy a table's tile
//              (common/score/staged_reads.cuh), and which of them this one is
//   sync_multiplying_warps<Config>()  a barrier of the warps that multiply: all, or the first Config::kWarps;
//   any_of_multiplying_warps<Config>(mine)  the same, and whether any of their threads says so
#pragma once

#include "common/sequence.cuh"
#include "params.h"

namespace fa {

// Unsigned, so that dividing them by a power of two is one shift.
__device__ __forceinline__ unsigned thread_of_cta() { return threadIdx.x; }
__device__ __forceinline__ unsigned warp_of_cta() { return threadIdx.x / 32; }
__device__ __forceinline__ unsigned lane_of_warp() { return threadIdx.x % 32; }
__device__ __forceinline__ unsigned threads_of_cta() { return blockDim.x; }

/// thread_of_cta, read again at each call: the compiler cannot keep the number in a register.
__device__ __forceinline__ unsigned reread_thread() {
  unsigned thread = threadIdx.x;
#ifdef __CUDA_ARCH__
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
#endif
  return thread;
}

/// The CTA's place in its grid.
struct BlockIndex {
  int x, y, z;
};
__device__ __forceinline__ BlockIndex block_index() {
  return {static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.z)};
}
/// How many CTAs the grid has along x.
__device__ __forceinline__ int grid_width() { return static_cast<int>(gridDim.x); }

/// The same, read again at each call. Compilers keep blockIdx from its first use on, across the kv loop,
/// which has no register to spare.
__device__ __forceinline__ BlockIndex reread_block_index() {
#ifdef __CUDA_ARCH__
  int x, y, z;
  asm volatile("mov.u32 %0, %%ctaid.x;\n\tmov.u32 %1, %%ctaid.y;\n\tmov.u32 %2, %%ctaid.z;"
               : "=r"(x), "=r"(y), "=r"(z));
  return {x, y, z};
#else
  return block_index();
#endif
}
__device__ __forceinline__ int reread_block_index_x() {
#ifdef __CUDA_ARCH__
  int x;
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(x));
  return x;
#else
  return block_index().x;
#endif
}

// Whether heads that take turns at a tile may be of several batch entries. A generated unit asks for it where some tiles take
// much longer than others, as the last ones of rows do under a causal mask: CTAs of theirs that started late would work on
// while the rest of the GPU has nothing left.
#ifdef FA_Q_TURNS_CROSS_ENTRIES
constexpr bool kQTurnsCrossEntries = true;
#else
constexpr bool kQTurnsCrossEntries = false;
#endif
#ifdef FA_KV_TURNS_CROSS_ENTRIES
constexpr bool kKvTurnsCrossEntries = true;
#else
constexpr bool kKvTurnsCrossEntries = false;
#endif
// Where the first tokens see far more tokens than others, their tiles come first, of which there may be several.
#ifdef FA_FIRST_Q_TILES_FIRST
constexpr bool kFirstQTilesFirst = true;
#else
constexpr bool kFirstQTilesFirst = false;
#endif

struct BatchHead {
  int b;
  int h;  // of q
};

/// Of a grid whose turns cross batch entries: the entry and head that a block works on. There may be no such head, or entry.
__device__ __forceinline__ BatchHead head_in_turn(const ForwardParams& params, const BlockIndex& at) {
  const int turn = at.z * static_cast<int>(gridDim.y) + at.y;
  const int number = (turn << params.head_shift) + (at.x & ((1 << params.head_shift) - 1));
  return {number >> params.entry_shift, number & ((1 << params.entry_shift) - 1)};
}

/// A kv tile of a kv head, which a CTA works on: from the first tile to the last, which under a causal mask is the longest
/// first.
struct KvTileOfBlock {
  int b, kv_head, tile;

  static __device__ __forceinline__ KvTileOfBlock of(const ForwardParams& params) {
    const auto [x, y, z] = block_index();
    if constexpr (kKvTurnsCrossEntries) {
      const auto [b, head] = head_in_turn(params, {x, y, z});
      return {b, head, x >> params.head_shift};
    }
    const int of_turn = x & ((1 << params.head_shift) - 1);
    return {z, (y << params.head_shift) + of_turn, x >> params.head_shift};
  }
  /// Whether the block has a tile.
  __device__ __forceinline__ bool exists(const ForwardParams& params) const {
    return !kKvTurnsCrossEntries || (b < params.call.batch && kv_head < params.call.num_kv_heads);
  }
};

/// The work of a CTA that does one item, a q tile of one head: its place in the grid says which. It has no
/// state, so that passing it on costs no register. An architecture whose CTAs do several items gives a type
/// with the same functions, state, kDoesMany, and `first(params)`, `exists(params, tile_q)` and
/// `next(params)`, by which common/forward.cuh goes from item to item.
struct BlockItem {
  static constexpr bool kDoesMany = false;

  __device__ __forceinline__ BatchHead head(const ForwardParams& params) const {
    const auto [x, y, z] = reread_block_index();
    if constexpr (kQTurnsCrossEntries) return head_in_turn(params, {x, y, z});
    const int of_turn = x & ((1 << params.head_shift) - 1);
    return {z, (y << params.head_shift) + of_turn};
  }

  /// CTAs start from the last tile to the first, unless the first tokens see more: with a causal mask that is the longest
  /// first, so that what runs last is short. The number is computed again at each call, unless `kMayBeKept`.
  template <bool kMayBeKept>
  __device__ __forceinline__ int q_tile(const ForwardParams& params, int tile_q) const {
    const int x = kMayBeKept ? block_index().x : reread_block_index_x();
    const int place = x >> params.head_shift;
    if constexpr (kFirstQTilesFirst) return place;
    const int tiles = (q_len(params) + tile_q - 1) / tile_q;
    return tiles - 1 - place;
  }
  /// Whether the block has a tile.
  __device__ __forceinline__ bool exists(const ForwardParams& params) const {
    if constexpr (!kQTurnsCrossEntries) return true;
    const auto [b, h] = head(params);
    return b < params.call.batch && h < params.call.num_q_heads;
  }

  /// The lengths of the item's sequences.
  __device__ __forceinline__ int q_len(const ForwardParams& params) const {
    return Sequence::q_len(params.call, Sequence::kAnyEntry);
  }
  __device__ __forceinline__ int kv_len(const ForwardParams& params) const {
    return Sequence::kv_len(params.call, Sequence::kAnyEntry);
  }
};

}  // namespace fa
