// The CPU back end: from hooks, facts and a plan to a tiled flash-attention forward pass in the hooks' own
// LLVM module.
//
// One work item is one tile of query rows of one head. Its rows are cut into panels of `panel` rows (a few
// vectors), and everything inside is transposed so that a vector's lanes are query rows:
//
//   S^T[kv][panel] = K[kv][d] * Q^T[d][panel]      K is read where it lies, Q^T is packed once
//   online softmax down the kv axis                 no horizontal reduction, one row_max and row_sum a lane
//   O[panel][d]  += P[kv][panel]^T * V[kv][d]      V is read where it lies
//
// The mask is evaluated before the first product: a panel that keeps nothing of a kv tile does no other work
// on it, and kv rows before the first and after the last kept one are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "compiler/analysis/facts.h"
#include "compiler/ir/hook_ir.h"
#include "compiler/schedule/plan.h"
#include "compiler/spec/spec.h"

namespace fa {

/// The CPU that code is made for; runtime/host_jit fills it in for this machine.
struct HostCpu {
  std::string triple;    // "x86_64-pc-linux-gnu"
  std::string name;      // LLVM's name: "sapphirerapids"
  std::string features;  // "+avx512f,+fma,..."
  int lanes = 4;         // floats a vector register holds
  int registers = 16;    // vector registers
  bool avx512 = false;

  /// Derives lanes and registers from the features.
  static HostCpu from_features(std::string triple, std::string name, std::string features);
};

/// What the emitted object says of itself, at symbol kHostInfoSymbol.
struct HostInfo {
  std::uint32_t version;          // kHostVersion
  std::uint32_t tile_q;           // rows one call of the entry serves
  std::uint64_t workspace_bytes;  // 64-byte aligned memory the entry needs, one a thread
};

constexpr std::uint32_t kHostVersion =
    1;  // raise when the same inputs give other code: it is part of the cache key
constexpr const char* kHostInfoSymbol = "facet_host_info";
/// void(const ForwardParams*, void* workspace, int32 b, int32 h, int32 first_q_row)
constexpr const char* kHostEntrySymbol = "facet_host_tile";
using HostEntry = void (*)(const void* params, void* workspace, std::int32_t b, std::int32_t h,
                           std::int32_t first_q_row);

/// Adds the kernel to `hooks.module`, verified; the hooks themselves are inlined and gone afterwards.
void emit_host(const CheckedSpec& spec, HookIr& hooks, const Facts& facts, const Plan& plan,
               const HostCpu& cpu);

}  // namespace fa
