// The sums about a tile that shared memory, registers, the cost model and legality all need: defined once.
#pragma once

#include "compiler/schedule/plan.h"
#include "compiler/spec/rounding.h"

namespace fa {

constexpr int kMmaRows = 16;               // m16n8k16: query rows of one m-tile
constexpr int kMmaColumns = 8;             // and columns of a tile of S or O
constexpr int kTileKvStep = 16;            // tile_kv is a multiple of it
constexpr int kStepBytes = 32;             // columns of one product step: 16 of 16 bits, 8 of 32
constexpr int kMaxWarpgroupColumns = 256;  // of one product of a warpgroup
constexpr int kPageRowBytes =
    128;  // a page of shared memory holds 64 columns of 16 bits or 32 of 32, swizzled
constexpr int kDropoutColumns = 32;  // that one Philox call serves; other tiles draw it once for each half
constexpr int kBarrierBytes = 8;
constexpr int kWarpThreads = 32;
constexpr int kMaxRegisters = 255;       // a thread's, by the instruction encoding
constexpr int kMostTaken = 240;          // that a warpgroup may come to have by taking another's
constexpr int kRegisterGranularity = 8;  // registers a thread are allocated in eights
constexpr int kSchedulersOfSm = 4;
constexpr int kMaxTile = 1024;  // keeps every sum far inside 32 bits

/// A head dim as it is copied and multiplied: whole product steps.
inline int padded_head_dim(int head_dim, DType dtype) {
  return round_up(head_dim, kStepBytes / dtype_bytes(dtype));
}
inline int pages(int head_dim, DType dtype) {
  return ceil_div(padded_head_dim(head_dim, dtype) * dtype_bytes(dtype), kPageRowBytes);
}
/// Bytes that a row of a tile of so many columns takes in shared memory.
inline int page_row_bytes(int head_dim, DType dtype) { return pages(head_dim, dtype) * kPageRowBytes; }
/// 8-column tiles of O that a warp accumulates: f32 takes whole pages.
inline int output_tiles(int head_dim_v, DType dtype) {
  const int columns = dtype == DType::f32 ? pages(head_dim_v, dtype) * kPageRowBytes / dtype_bytes(dtype)
                                          : padded_head_dim(head_dim_v, dtype);
  return columns / kMmaColumns;
}
inline int threads_of(const Plan& plan) {
  return (plan.warps + traits_of(plan.family).copying_warps) * kWarpThreads;
}
/// m-tiles of 16 query rows that one warp owns: how often a K or V fragment is used once it was read.
constexpr int row_tiles_per_warp(const Plan& plan) { return plan.tile_q / (kMmaRows * plan.warps); }
/// How many warps on an SM may have so many registers a thread: each scheduler has a part of the SM's, for its own warps.
inline int warps_with_registers(int registers, const Target& target) {
  return target.registers_per_sm / (kSchedulersOfSm * kWarpThreads * registers) * kSchedulersOfSm;
}
/// What __launch_bounds__(threads, min_ctas) leaves each thread.
inline int launch_registers(const Plan& plan, const Target& target) {
  const int warps_of_scheduler = ceil_div(threads_of(plan) / kWarpThreads * plan.min_ctas, kSchedulersOfSm);
  const int share = target.registers_per_sm / (kSchedulersOfSm * kWarpThreads * warps_of_scheduler);
  const int budget = share / kRegisterGranularity * kRegisterGranularity;
  return budget < kMaxRegisters ? budget : kMaxRegisters;
}
/// What copying warps keep at least, where there are some: two CTAs on an SM have fewer to share.
inline int least_copy_registers(const Plan& plan) { return plan.min_ctas == 1 ? 40 : 32; }
/// What each thread that multiplies has: more than at the launch where others copy.
inline int register_budget(const Plan& plan, const Target& target) {
  const int at_launch = launch_registers(plan, target);
  const int copying = traits_of(plan.family).copying_warps;
  if (copying == 0) return at_launch;
  const int given = (at_launch - least_copy_registers(plan)) * copying;
  const int budget = (at_launch + given / plan.warps) / kRegisterGranularity * kRegisterGranularity;
  return budget < kMostTaken ? budget : kMostTaken;
}
/// What each thread that copies keeps: what those that multiply leave.
inline int copy_registers(const Plan& plan, const Target& target) {
  const int at_launch = launch_registers(plan, target);
  const int taken = (register_budget(plan, target) - at_launch) * plan.warps;
  const int left = (at_launch - ceil_div(taken, traits_of(plan.family).copying_warps)) /
                   kRegisterGranularity * kRegisterGranularity;
  return left < kMostTaken ? left : kMostTaken;
}

}  // namespace fa
