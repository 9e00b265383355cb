// Launch arguments of every kernel: the one header that host and device share.
// Plain C++ without includes, so that NVRTC, nvcc, LLVM's host code and the runtime agree on each byte.
// Strides are in elements. All tensors are [batch, heads, length, dim] views with a unit innermost stride.
#pragma once

namespace fa {

constexpr int kMaxParams = 16;   // run-time numbers of one spec
constexpr int kMaxTensors = 16;  // captured tensors of one spec

union ParamValue {
  int i32;
  float f32;
};

struct TensorStrides {
  long long batch;
  long long head;
  long long row;
};

/// What hooks and tile classes read of a call: the same in every pass of every kernel.
struct CallParams {
  int batch;
  int num_q_heads;
  int num_kv_heads;
  int group_size;  // num_q_heads / num_kv_heads
  int q_len;
  int kv_len;

  float scale;       // tau
  float scale_log2;  // tau * log2(e)

  // Dropout keeps an element when its 16 random bits are >= drop_threshold (= round(p * 65536)).
  unsigned drop_threshold;
  float keep_scale;  // 65536 / (65536 - drop_threshold), 0 where everything is dropped
  unsigned long long seed;

  ParamValue params[kMaxParams];
  const void* tensors[kMaxTensors];
};

/// The arguments of every pass of a forward kernel.
struct ForwardParams {
  // What attention reads and writes.
  const void* q;
  const void* k;
  const void* v;
  void* o;
  float* lse;  // [B, num_q_heads, q_len] contiguous, or null
  TensorStrides q_strides;
  TensorStrides k_strides;
  TensorStrides v_strides;
  TensorStrides o_strides;

  CallParams call;  // what hooks are asked with

  // What the launch adds: where passes find each other's results, and how blocks are numbered.
  int* tile_map;  // common/tiles/tile_map.h; in the call's workspace, null where no pass fills one

  // Blocks of a pass are numbered with 2^head_shift of its heads taking turns at each of its tiles, then the tiles, then the
  // heads left: where some tiles have more work, those of several heads run first and what runs last is short. Heads in turn
  // are of one batch entry, or of any in passes that say so (compiler/program/pass.h): each entry then has numbers for
  // 2^entry_shift heads, of which the last may have none.
  int head_shift;
  int entry_shift;
};

}  // namespace fa
