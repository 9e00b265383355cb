// A tile in shared memory: kRows x kDim 16-bit elements as pages of 64 columns.
//
// A page is kRows rows of 128 bytes; the 16-byte chunk c of row r lies at chunk c ^ (r & 7). With that
// swizzle the eight rows a matrix load touches at one chunk fall into eight different bank groups, and so do
// the eight chunks a quarter warp copies in. Columns are padded to a multiple of 16 (one mma step) with
// zeros; what lies beyond in a last, partial page is never touched.
#pragma once

#include "sm80/mma.cuh"

namespace fa {

/// base + a * b in one instruction.
__device__ __forceinline__ const char* multiply_add(int a, int b, const char* base) {
  const char* address;
  asm("mad.wide.s32 %0, %1, %2, %3;" : "=l"(address) : "r"(a), "r"(b), "l"(base));
  return address;
}

template <int kRows_, int kDim_>
struct Tile {
  static constexpr int kRows = kRows_;
  static constexpr int kDim = kDim_;                        // as in global memory, a multiple of 8
  static constexpr int kPaddedDim = (kDim + 15) / 16 * 16;  // as multiplied
  static constexpr int kPages = (kPaddedDim + 63) / 64;
  static constexpr int kPageBytes = kRows * 128;
  static constexpr int kBytes = kPages * kPageBytes;

  /// Starts copying rows first_row.. of a tensor, zeros from `length` on. `to` is this thread's
  /// piece of the tile, `base` the tensor's row 0. Every thread of the CTA takes part. Row strides are 32
  /// bits, straight from the constant bank: products of 64-bit strides would take three instructions each.
  template <int kThreads>
  static __device__ __forceinline__ void load(unsigned to, const char* base, int row_stride, int first_row,
                                              int length) {
    constexpr int kRowsPerPass = kThreads / 8;
    const int chunk = threadIdx.x % 8;
    const int first = first_row + static_cast<int>(threadIdx.x) / 8;
    const char* first_from = multiply_add(2 * first, row_stride, base + chunk * 16);
#pragma unroll
    for (int pass = 0; pass < (kRows + kRowsPerPass - 1) / kRowsPerPass; ++pass) {
      const int tile_row = pass * kRowsPerPass;
      if (kRows % kRowsPerPass != 0 && tile_row + static_cast<int>(threadIdx.x) / 8 >= kRows) break;
      const int row = first + tile_row;
      const char* from = multiply_add(row_stride, 2 * tile_row, first_from);
#pragma unroll
      for (int page = 0; page < kPages; ++page) {
        const int column = page * 64 + chunk * 8;
        if ((page + 1) * 64 > kPaddedDim && column >= kPaddedDim) continue;
        const bool valid = row < length && ((page + 1) * 64 <= kDim || column < kDim);
        // One warp copies four rows a pass, and every other pass the row's swizzle differs.
        const unsigned swizzled = to ^ ((tile_row & 7) << 4);
        cp_async_16(swizzled + page * kPageBytes + tile_row * 128, from + page * 128, valid);
      }
    }
  }

  /// Address of this lane's matrix row for the 16 x 16 block at (row, 16 * k_step), `row` a multiple of 8.
  /// `lane` is the tile's address (a multiple of 1024) plus one of the lane offsets below: the step's chunk
  /// is mixed into its swizzle bits, the rest is an immediate.
  static __device__ __forceinline__ unsigned at(unsigned lane, int row, int k_step) {
    return (lane ^ ((k_step % 4) * 32)) + (k_step / 4) * kPageBytes + row * 128;
  }
};

/// The first row and the 16-byte chunk of a page that a thread copies; eight threads copy the 128 bytes of a
/// page row.
__device__ __forceinline__ int copy_row() { return threadIdx.x / 8; }
__device__ __forceinline__ int copy_chunk() { return threadIdx.x % 8; }
/// Where that piece lies in a tile.
__device__ __forceinline__ unsigned copy_offset() {
  return copy_row() * 128 + ((copy_chunk() ^ (copy_row() & 7)) << 4);
}

/// Lane offsets whose ldmatrix.x4 gives an A fragment (rows 0-15, two chunks), or with .trans two B fragments
/// of a [k][n] tile: {n 0-7: b0, b1, n 8-15: b0, b1}.
__device__ __forceinline__ unsigned lane_offset_a(int lane) {
  return (lane % 16) * 128 + (((lane / 16) ^ (lane & 7)) << 4);
}

/// Lane offsets whose ldmatrix.x4 gives two B fragments of a [n][k] tile: {n 0-7: b0, b1, n 8-15: b0, b1}.
__device__ __forceinline__ unsigned lane_offset_b(int lane) {
  return ((lane / 16) * 8 + lane % 8) * 128 + ((((lane / 8) % 2) ^ (lane & 7)) << 4);
}

}  // namespace fa
