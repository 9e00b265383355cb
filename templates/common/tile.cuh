// A tile in shared memory: kRows x kDim elements as pages of 128 bytes a row, which is 64 columns of 16 bits
// or 32 of 32.
//
// The 16-byte chunk c of row r of a page lies at chunk c ^ (r & 7). With that swizzle the eight rows a matrix
// load touches at one chunk fall into eight different bank groups, and so do the eight chunks a quarter warp
// copies in. Columns are padded to a whole product step (32 bytes) with zeros; what lies beyond in a last,
// partial page is never copied, and whoever reads it must not use what came of it.
#pragma once

#include "common/dtype.cuh"
#include "common/instructions.cuh"
#include "common/placement.cuh"

namespace fa {

/// The first row and the 16-byte chunk of a page that a thread copies; eight threads copy the 128 bytes of a
/// page row.
__device__ __forceinline__ int copy_row(unsigned thread = thread_of_cta()) { return thread / 8; }
__device__ __forceinline__ int copy_chunk(unsigned thread = thread_of_cta()) { return thread % 8; }

template <class Element_, int kRows_, int kDim_>
struct Tile {
  using Element = Element_;
  static constexpr int kRows = kRows_;
  static constexpr int kDim = kDim_;                          // as in global memory, a multiple of 8
  static constexpr int kChunkColumns = 16 / Element::kBytes;  // of 16 bytes
  static constexpr int kStepColumns = 32 / Element::kBytes;   // of one product step
  static constexpr int kPageColumns = 128 / Element::kBytes;  // of a page
  static constexpr int kSteps = (kDim + kStepColumns - 1) / kStepColumns;
  static constexpr int kPaddedDim = kSteps * kStepColumns;  // as copied
  static constexpr int kPages = (kPaddedDim + kPageColumns - 1) / kPageColumns;
  static constexpr int kPageBytes = kRows * 128;
  static constexpr int kBytes = kPages * kPageBytes;

  /// Calls `body(i, to, from, valid)` on every 16-byte piece that this thread copies: its number, known to
  /// the compiler; where it goes in shared memory; where it lies in global memory; whether it is there, for
  /// rows from `length` on and columns from kDim on are zeros. `to` is this thread's place in the tile
  /// (copy_offset), `base` the tensor's row 0, `thread` its number among the kThreads that copy. Row strides are 32 bits, straight from the constant bank:
  /// products of 64-bit strides would take three instructions each.
  template <int kThreads, class Body>
  static __device__ __forceinline__ void for_each_piece(unsigned to, const char* base, int row_stride,
                                                        int first_row, int length, Body body,
                                                        unsigned thread = thread_of_cta()) {
    constexpr int kRowsPerPass = kThreads / 8;
    const int chunk = copy_chunk(thread);
    const int first = first_row + copy_row(thread);
    const char* first_from = multiply_add(Element::kBytes * first, row_stride, base + chunk * 16);
#pragma unroll
    for (int pass = 0; pass < (kRows + kRowsPerPass - 1) / kRowsPerPass; ++pass) {
      const int tile_row = pass * kRowsPerPass;
      if (kRows % kRowsPerPass != 0 && tile_row + copy_row(thread) >= kRows) break;
      const int row = first + tile_row;
      const char* from = multiply_add(row_stride, Element::kBytes * tile_row, first_from);
#pragma unroll
      for (int page = 0; page < kPages; ++page) {
        const int column = page * kPageColumns + chunk * kChunkColumns;
        if ((page + 1) * kPageColumns > kPaddedDim && column >= kPaddedDim) continue;
        const bool valid = row < length && ((page + 1) * kPageColumns <= kDim || column < kDim);
        // One warp copies four rows a pass, and every other pass the row's swizzle differs.
        const unsigned swizzled = to ^ ((tile_row & 7) << 4);
        body(pass * kPages + page, swizzled + page * kPageBytes + tile_row * 128, from + page * 128, valid);
      }
    }
  }

  /// How many pieces a thread copies at most.
  template <int kThreads>
  static constexpr int kPiecesOfThread = (kRows + kThreads / 8 - 1) / (kThreads / 8) * kPages;

  /// This lane's address in the 32 bytes of columns that step `step` has, `row` rows down;
  /// where that is no multiple of 8, `lane` has its swizzle already. `lane` is the tile's address (a multiple
  /// of 1024) plus one of the lane offsets: the step's chunk is mixed into its swizzle bits, the rest is an
  /// immediate.
  static __device__ __forceinline__ unsigned at(unsigned lane, int row, int step) {
    return (lane ^ ((step % 4) * 32)) + (step / 4) * kPageBytes + row * 128;
  }
};

/// The place in a tile of the first piece that this thread copies, in bytes.
__device__ __forceinline__ unsigned copy_offset(unsigned thread = thread_of_cta()) {
  return copy_row(thread) * 128 + ((copy_chunk(thread) ^ (copy_row(thread) & 7)) << 4);
}

/// Lane offsets whose ldmatrix.x4 gives an A fragment (rows 0-15, two chunks), or with .trans two B fragments
/// of a [k][n] tile of 16 bits: {n 0-7: b0, b1, n 8-15: b0, b1}.
__device__ __forceinline__ unsigned lane_offset_a(int lane) {
  return (lane % 16) * 128 + (((lane / 16) ^ (lane & 7)) << 4);
}

/// Lane offsets whose ldmatrix.x4 gives two B fragments of a [n][k] tile: {n 0-7: b0, b1, n 8-15: b0, b1}.
__device__ __forceinline__ unsigned lane_offset_b(int lane) {
  return ((lane / 16) * 8 + lane % 8) * 128 + ((((lane / 8) % 2) ^ (lane & 7)) << 4);
}

}  // namespace fa
