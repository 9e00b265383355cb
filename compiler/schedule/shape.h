// The sums about a tile that shared memory, registers, the cost model and legality all need: defined once.
#pragma once

#include "compiler/schedule/plan.h"

namespace fa {

constexpr int kMmaRows = 16;   // m16n8k16: query rows of one m-tile
constexpr int kMmaDepth = 16;  // head dims are padded to it for compute
constexpr int kPageColumns =
    64;  // a page of shared memory holds 64 columns of 16 bits: 128 bytes a row, swizzled
constexpr int kPageRowBytes = kPageColumns * 2;
constexpr int kDropoutColumns = 32;  // that one Philox call serves
constexpr int kWarpThreads = 32;
constexpr int kMaxRegisters = 255;       // a thread's, by the instruction encoding
constexpr int kRegisterGranularity = 8;  // registers a thread are allocated in eights
constexpr int kMaxTile = 1024;           // keeps every sum far inside 32 bits

constexpr int round_up(int value, int multiple) { return (value + multiple - 1) / multiple * multiple; }
constexpr int ceil_div(int value, int divisor) { return (value + divisor - 1) / divisor; }
constexpr int padded_head_dim(int head_dim) { return round_up(head_dim, kMmaDepth); }
constexpr int pages(int head_dim) { return ceil_div(padded_head_dim(head_dim), kPageColumns); }
constexpr int threads_of(const Plan& plan) { return plan.warps * kWarpThreads; }
/// m-tiles of 16 query rows that one warp owns: how often a K or V fragment is used once it was read.
constexpr int row_tiles_per_warp(const Plan& plan) { return plan.tile_q / (kMmaRows * plan.warps); }
/// What __launch_bounds__(threads, min_ctas) leaves each thread.
constexpr int register_budget(const Plan& plan, const Target& target) {
  const int share = target.registers_per_sm / (threads_of(plan) * plan.min_ctas);
  const int budget = share / kRegisterGranularity * kRegisterGranularity;
  return budget < kMaxRegisters ? budget : kMaxRegisters;
}

}  // namespace fa
