// The backward pass on the CPU: from hooks, their derivatives and a plan to an LLVM module. With P the
// softmax's probabilities, Z what dropout multiplies them by, and for each row D = rowsum(dO * O) - dlse:
//
//   S^T  = K Q^T     P^T = exp2(logit(S) - lse)     recomputed, tile by tile (FlashAttention, Algorithm 4)
//   dP^T = V dO^T    dS^T = P (Z dP - D) * d score_mod
//   dV  += (P Z)^T dO     dK += dS^T Q     dQ += dS K
//
// Everything is transposed as in the forward pass: a vector's lanes are query rows. One tile of query rows
// is one start, a step for each kv tile that the mask's class leaves, and one finish, which stores dQ. The
// steps add to dK and dV of a whole head in memory that belongs to one work item, so that nothing is shared
// and nothing is atomic; the runtime (runtime/host/backward) adds up the items in a fixed order. The same
// holds of captured gradients, which are summed in double.
#pragma once

#include <cstdint>

#include "compiler/derive/derive.h"
#include "compiler/emit/host/host.h"
#include "templates/backward_params.h"

namespace fa {

/// What one work item adds to.
struct HostBackwardItem {
  float* d_k;            // [kv_len][d_columns]
  float* d_v;            // [kv_len][dv_columns]
  std::uint64_t stored;  // bit i: sums[i] is the f32 tensor itself, of which no other item has an element
  void* sums[kMaxGradients];  // f64, by the gradient's number; null where there is none
};

/// What is known of a captured gradient when the code is made: which items never meet in one of its elements.
enum HostGradientTraits : std::uint32_t {
  kGradientIsWanted = 1,
  kGradientOfBatch = 2,  // other batch entries have other elements
  kGradientOfHead = 4,   // and so have other heads
  kGradientOfRow = 8,    // and other query rows
  kGradientIsOnce = 16   // within one head, one element at most of (q_idx, kv_idx) goes to an element
};

/// At symbol kHostBackwardInfoSymbol, beside the HostInfo, whose tiles and workspace are this pass's.
struct HostBackwardInfo {
  std::uint32_t d_columns, dv_columns;  // numbers in a row of HostBackwardItem's d_k and d_v
  std::uint32_t traits[kMaxGradients];
};

constexpr const char* kHostBackwardInfoSymbol = "facet_host_backward_info";
/// Prepares a thread's workspace for the tile of query rows that begins at `first_q`; and stores its dQ.
constexpr const char* kHostBackwardStartSymbol = "facet_host_backward_start";
constexpr const char* kHostBackwardFinishSymbol = "facet_host_backward_finish";
using HostBackwardStart = void (*)(const BackwardParams* params, void* workspace,
                                   const HostBackwardItem* item, std::int32_t b, std::int32_t h,
                                   std::int32_t first_q);
using HostBackwardFinish = HostBackwardStart;
/// The kv tile that begins at `first_kv`. `full` is not 0 only where the mask keeps all of it.
constexpr const char* kHostBackwardStepSymbol = "facet_host_backward_step";
using HostBackwardStep = void (*)(const BackwardParams* params, void* workspace, const HostBackwardItem* item,
                                  std::int32_t b, std::int32_t h, std::int32_t first_q, std::int32_t first_kv,
                                  std::int32_t full);
/// Stores `rows` rows of dK and dV of a kv head from `first_kv` on: the sums, in order, of `count` items'
/// rows, whose first ones `d_k` and `d_v` point at.
constexpr const char* kHostBackwardStoreSymbol = "facet_host_backward_store";
using HostBackwardStore = void (*)(const BackwardParams* params, const float* const* d_k,
                                   const float* const* d_v, std::int32_t count, std::int32_t b,
                                   std::int32_t kv_h, std::int32_t first_kv, std::int32_t rows);

HostIr emit_host_backward(const CheckedSpec& spec, const HookIr& hooks, const Facts& facts,
                          const TileClasses& classes, const Derivatives& derivatives, const Plan& plan,
                          const HostCpu& cpu);

}  // namespace fa
