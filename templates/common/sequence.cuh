// The one place that knows how long a batch entry's sequences are and where their rows lie. Hooks, tile
// classes and kernels ask here, so that lengths that differ by entry, rows in pages, and heads packed into
// one tile can come without touching them. Today all entries of a call have the same lengths, and a tensor's
// strides place its rows.
#pragma once

#include "params.h"

namespace fa {

/// The sequences of batch entry `b`.
struct Sequence {
  /// An entry for those who know that all are alike, and for whom to find theirs would cost something.
  static constexpr int kAnyEntry = 0;

  static __device__ __forceinline__ int q_len(const CallParams& p, int) { return p.q_len; }
  static __device__ __forceinline__ int kv_len(const CallParams& p, int) { return p.kv_len; }

  /// The head of k and v that head `h` of q attends to.
  static __device__ __forceinline__ int kv_head(const CallParams& p, int h) { return h / p.group_size; }

  /// The number of a head of q among those of all batch entries, by which lse and dropout are numbered.
  static __device__ __forceinline__ long long head_number(const CallParams& p, int b, int h) {
    return static_cast<long long>(b) * p.num_q_heads + h;
  }

  /// Row 0 of a head of a tensor: as elements of one type, and as bytes where elements have kBytes.
  template <class T>
  static __device__ __forceinline__ const T* head_rows(const void* tensor, const TensorStrides& strides,
                                                       int b, int h) {
    return static_cast<const T*>(tensor) + b * strides.batch + h * strides.head;
  }
  template <int kBytes>
  static __device__ __forceinline__ const char* head_bytes(const void* tensor, const TensorStrides& strides,
                                                           int b, int h) {
    return static_cast<const char*>(tensor) + kBytes * (b * strides.batch + h * strides.head);
  }
};

}  // namespace fa
