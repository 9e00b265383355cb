// The CPU back end: from hooks, facts and a plan to a tiled flash-attention forward pass as an LLVM module.
//
// One work item is one tile of query rows of one head. Its rows are cut into panels of `panel` rows (a few
// vectors), and everything inside is transposed so that a vector's lanes are query rows:
//
//   S^T[kv][panel] = K[kv][d] * Q^T[d][panel]      K is read where it lies, Q^T is packed once
//   online softmax down the kv axis                 no horizontal reduction, one row_max and row_sum a lane
//   O[panel][d]  += P[kv][panel]^T * V[kv][d]      V is read where it lies
//
// bf16 is multiplied as bf16 where the CPU can: by AVX512_BF16 from words of two neighbours, in the same order
// (products/pairs.h), and by AMX's tiles from packed copies and into O^T (products/amx.h).
//
// The runtime walks the kv tiles that the mask's tile class leaves and calls `step` on each
// (runtime/host/walk). A full tile runs code that knows of no mask. In a partial one the mask is evaluated
// before the first product: a panel that keeps nothing of the tile does no other work on it, and kv rows
// before the first and after the last kept one are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "compiler/analysis/facts.h"
#include "compiler/analysis/tiles/tile_class.h"
#include "compiler/ir/hook_ir.h"
#include "compiler/schedule/plan.h"
#include "compiler/spec/spec.h"
#include "compiler/target/host_cpu.h"

namespace fa {

/// What the emitted object says of itself, at symbol kHostInfoSymbol.
struct HostInfo {
  std::uint64_t workspace_bytes;  // 64-byte aligned memory the steps need, one a thread
  std::uint32_t tile_q;           // rows one start, its steps and one finish serve
  std::uint32_t tile_kv;          // rows one step serves
  std::uint32_t has_tile_class;   // kHostClassSymbol is there; where it is not, every tile has the class ...
  std::uint32_t is_masked;        // ... partial where this is set, full where it is not
  std::uint32_t class_of_batch;   // the class may differ from batch entry to batch entry
  std::uint32_t class_of_head;
  // Classes are in a map (runtime/host/map), for which kHostKeepsSymbol and the summaries are there; the rest
  // is TileMap's (compiler/analysis/tiles/tile_class.h).
  std::uint32_t has_tile_map;
  std::uint32_t num_query_summaries, num_key_summaries;  // numbered in this order
  std::uint32_t row_block, column_block, always_alike, is_relative, most_steps;
};

/// The least and the largest value of a summary over some rows or columns: of floats as integers of the same
/// order, their bits, turned but for the sign where that is set.
struct SummaryPair {
  std::int32_t lo, hi;
};

constexpr const char* kHostInfoSymbol = "facet_host_info";
/// Prepares a thread's workspace for the tile of query rows that begins at `first_q`, and stores what the
/// steps in between have left in it.
constexpr const char* kHostStartSymbol = "facet_host_start";
constexpr const char* kHostFinishSymbol = "facet_host_finish";
using HostStart = void (*)(const void* params, void* workspace, std::int32_t b, std::int32_t h,
                           std::int32_t first_q);
using HostFinish = HostStart;
/// Attends to the kv tile that begins at `first_kv`. `full` is not 0 only where the mask keeps all of it.
constexpr const char* kHostStepSymbol = "facet_host_step";
using HostStep = void (*)(const void* params, void* workspace, std::int32_t b, std::int32_t h,
                          std::int32_t first_q, std::int32_t first_kv, std::int32_t full);
/// What bounds show of rows q_lo..q_hi and columns kv_lo..kv_hi, as tile_class.h numbers classes. extrema[j]
/// are summary j's over them.
constexpr const char* kHostClassSymbol = "facet_host_class";
using HostClass = std::int32_t (*)(const void* params, const SummaryPair* extrema, std::int32_t b,
                                   std::int32_t h, std::int32_t q_lo, std::int32_t q_hi, std::int32_t kv_lo,
                                   std::int32_t kv_hi);
/// Followed by a summary's number: its extrema over the indices first..last.
constexpr const char* kHostSummarySymbol = "facet_host_summary_";
using HostSummary = void (*)(const void* params, std::int32_t b, std::int32_t h, std::int32_t first,
                             std::int32_t last, SummaryPair* extrema);
/// Which of `count` elements, from 1 to 32, the mask keeps, a bit each.
constexpr const char* kHostKeepsSymbol = "facet_host_keeps";
using HostKeeps = std::uint32_t (*)(const void* params, std::int32_t b, std::int32_t h,
                                    const std::int32_t* q_idx, const std::int32_t* kv_idx,
                                    std::int32_t count);

/// A whole kernel, verified, for one CPU: what a code generator takes, and then owns.
struct HostIr {
  std::shared_ptr<llvm::Module> module;
  HostCpu cpu;

  std::string print() const { return print_module(module.get()); }
};

HostIr emit_host(const CheckedSpec& spec, const HookIr& hooks, const Facts& facts, const TileClasses& classes,
                 const Plan& plan, const HostCpu& cpu);

}  // namespace fa
