// The schedule of a backward pass on a GPU, as data (templates/common/backward/).
#pragma once

#include <string>
#include <string_view>

#include "compiler/schedule/mask_tiles.h"
#include "compiler/spec/spec.h"
#include "compiler/target/target.h"

namespace fa {

constexpr int kRowsOfWarp = 16;  // of a matrix product's left operand

/// The sizes of one of the passes that walk tiles.
struct TilePass {
  int tile_q = 0;        // query rows of a tile
  int tile_kv = 0;       // keys of a tile
  int warps = 0;         // of 32 threads; each owns 16 or more of the rows or keys that stay
  int column_warps = 1;  // warps that share those, and part the tile's columns between them
  // Warps that share them, and part the tile's query rows; each has sums of its own, added up at the end.
  int query_warps = 1;
  int parts = 1;   // of the rows that pass by, one after the other: fewer scores at a time
  int stages = 1;  // buffers for what passes by

  bool operator==(const TilePass&) const = default;
};

struct BackwardPlan {
  Family family = Family::sm80;
  TilePass keys;       // K and V stay, and dK and dV are summed
  TilePass queries;    // Q and dO stay, and dQ is summed
  bool apart = false;  // dK and dV have a pass each: together they take more registers than a thread has
  // How dQ comes about: in the keys' pass, which adds each tile's part to sums in the call's workspace by atomic additions, five
  // products in all; or by a pass of its own, whose bits never differ, but which computes S and dP once more.
  bool dq_by_sums = false;
  // Such a part is added while the next tile is worked on: a barrier a tile less, and a second room for dS.
  bool delays_dq = false;
  // Every gradient has the same bits from run to run: dQ has a pass of its own, and captured gradients are summed in integers
  // (templates/common/backward/exact_sum.cuh), which takes room in the call's workspace and a pass.
  bool deterministic = false;

  /// "sm80 keys(tile_q=64 tile_kv=128 warps=8 ... stages=2) queries(...) apart=0 dq_by_sums=0 delays_dq=0
  /// deterministic=0"
  std::string print() const;
  bool operator==(const BackwardPlan&) const = default;
};

/// Reads `print`'s form, parts of it, too: "keys(tile_q=64 stages=1) delays_dq=0". Fields left out keep those of `base`.
/// Throws ArgumentError naming the bad field.
BackwardPlan parse_backward_plan(std::string_view text, const BackwardPlan& base);

/// Dynamic shared memory of a CTA of either pass: the only sums. The kernels lay out the same regions in the
/// same order, and the generated source asserts the totals.
int keys_shared_memory(const BackwardPlan& plan, const CheckedSpec& spec);
int queries_shared_memory(const BackwardPlan& plan, const CheckedSpec& spec);

/// What the plan has to know of the hooks.
struct BackwardNeeds {
  bool captures = false;  // gradients of captured tensors or params
  int distances = 0;      // adjoints that each warp sums by diagonals of the tile, in shared memory
  int heads = 0;          // and sums of the head, one number a warp
  int table_floats = 0;   // and elements of small tables
  int registers = 0;      // of a thread, for the sums of others
  bool rows = false;      // whether some go to elements of the query row, which the queries' pass adds up
  bool computes_distances = false;  // hooks evaluate more than a little of each element's distance
  bool deterministic = false;       // asked for
  MaskEdges edges = {};             // of the mask
};

/// And of what is captured, beside the first.
int captured_shared_memory(const TilePass& keys, const BackwardNeeds& needs);

/// Empty where the plan can run; else the reason, naming the limit and the number. It may need more registers than there are.
std::string why_illegal(const BackwardPlan& plan, const CheckedSpec& spec, const Target& target,
                        const BackwardNeeds& needs = {});

/// The plan that fits the target's registers and shared memory. Throws SpecError where none does, with the remedy.
BackwardPlan choose_backward(const CheckedSpec& spec, const Target& target, const BackwardNeeds& needs = {});

/// The plan that `text` asks for, in parse_backward_plan's form over the chosen one. Throws ArgumentError where it is
/// malformed or illegal.
BackwardPlan choose_backward_forced(const CheckedSpec& spec, const Target& target, const BackwardNeeds& needs,
                                    std::string_view text);

}  // namespace fa
