// The baselines on the CPU (docs/baselines.md), from the parts of the fused kernel: its products, hooks, mask, softmax and
// dropout, in another order. A baseline is a list of passes, each over all rows of the call before the next
// begins. A pass has its loops over tiles inside, since none is left out, and finds what passes hand each other in
// the call's workspace.
#pragma once

#include <cstdint>

#include "compiler/emit/host/baseline/room.h"
#include "compiler/emit/host/host.h"

namespace fa {

/// What a baseline's object says of itself at symbol kHostBaselineInfoSymbol, beside its HostInfo.
struct HostBaselineInfo {
  HostRoom room;
  std::uint32_t passes;
  /// Of these, the first, an item is a head of a batch entry. Of the others it is a tile of a head's query rows.
  std::uint32_t head_passes;
};

constexpr const char* kHostBaselineInfoSymbol = "facet_host_baseline_info";
/// Followed by the pass's number: one item. `workspace` is the thread's. `kept` is where the first of the item's blocks
/// begins; `first_q`, the item's first query row, is 0 where an item is a head.
constexpr const char* kHostPassSymbol = "facet_host_pass_";
using HostPass = void (*)(const void* params, void* workspace, void* kept, std::int32_t b, std::int32_t h,
                          std::int32_t first_q);

/// The baseline that `plan` has the loop order of.
HostIr emit_host_baseline(const CheckedSpec& spec, const HookIr& hooks, const Facts& facts, const Plan& plan,
                          const HostCpu& cpu);

}  // namespace fa
