// A tile in shared memory: kRows x kDim 16-bit elements as pages of 64 columns.
//
// A page is kRows rows of 128 bytes; the 16-byte chunk c of row r lies at chunk c ^ (r & 7). With that
// swizzle the eight rows a matrix load touches at one chunk fall into eight different bank groups, and so do
// the eight chunks a quarter warp copies in. Columns are padded to a multiple of 16 (one mma step) with
// zeros; what lies beyond in a last, partial page is never touched.
#pragma once

#include "sm80/mma.cuh"

namespace fa {

template <int kRows_, int kDim_>
struct Tile {
  static constexpr int kRows = kRows_;
  static constexpr int kDim = kDim_;                        // as in global memory, a multiple of 8
  static constexpr int kPaddedDim = (kDim + 15) / 16 * 16;  // as multiplied
  static constexpr int kPages = (kPaddedDim + 63) / 64;
  static constexpr int kPageBytes = kRows * 128;
  static constexpr int kBytes = kPages * kPageBytes;

  /// Starts copying rows [0, valid_rows) of `gmem`, zeros below; every thread of the CTA takes part.
  template <int kThreads>
  static __device__ __forceinline__ void load(unsigned smem, const char* gmem, long long row_bytes,
                                              int valid_rows) {
    constexpr int kRowsPerPass = kThreads / 8;  // eight threads copy the 128 bytes of one page row
    const int chunk = threadIdx.x % 8;
    const int first_row = threadIdx.x / 8;
    const unsigned to = smem + first_row * 128 + ((chunk ^ (first_row & 7)) << 4);
    const char* from = gmem + first_row * row_bytes + chunk * 16;
#pragma unroll
    for (int pass = 0; pass < (kRows + kRowsPerPass - 1) / kRowsPerPass; ++pass) {
      const int row = first_row + pass * kRowsPerPass;
      if (kRows % kRowsPerPass != 0 && row >= kRows) break;
      const bool row_valid = row < valid_rows;
#pragma unroll
      for (int page = 0; page < kPages; ++page) {
        const int column = page * 64 + chunk * 8;
        if ((page + 1) * 64 > kPaddedDim && column >= kPaddedDim) continue;
        const bool valid = row_valid && ((page + 1) * 64 <= kDim || column < kDim);
        cp_async_16(to + page * kPageBytes + pass * kRowsPerPass * 128, from + page * 128, valid);
      }
      from += kRowsPerPass * row_bytes;
    }
  }

  /// Byte offset of this lane's matrix row for the 16 x 16 block at (row, 16 * k_step), `row` a multiple
  /// of 16. lane_offset is one of the two below; only its swizzle bits mix with the step's chunk.
  static __device__ __forceinline__ unsigned at(unsigned lane_offset, int row, int k_step) {
    return (lane_offset ^ ((k_step % 4) * 32)) + (k_step / 4) * kPageBytes + row * 128;
  }
};

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
