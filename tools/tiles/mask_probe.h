// A mask and its tile classes as machine code, on one problem. `explain`, `check` and the tests evaluate
// single elements and tiles with it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/analysis/tiles/tile_class.h"
#include "runtime/host/hook_jit.h"
#include "tools/problem/problem.h"

namespace fa::tools {

enum class TileClass : std::uint8_t { empty, partial, full };

/// Rows q_lo..q_hi and columns kv_lo..kv_hi, inclusive.
struct TileBounds {
  int q_lo = 0, q_hi = 0, kv_lo = 0, kv_hi = 0;
};

/// The class of every tile of one (b, h), row by row.
struct TileGrid {
  int tile_q = 0, tile_kv = 0;
  int rows = 0, columns = 0;
  int q_len = 0, kv_len = 0;
  std::vector<TileClass> classes;

  TileClass at(int row, int column) const {
    return classes[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns) +
                   static_cast<std::size_t>(column)];
  }
  TileBounds bounds(int row, int column) const;
};

/// A spec's mask and its tile classes, compiled for this machine: the same for every problem.
struct MaskCode {
  /// Throws what lowering and the code generator throw.
  explicit MaskCode(const CheckedSpec& spec);

  bool has_mask = false;
  bool depends_on_b = false, depends_on_h = false;
  TileClasses classes;  // its functions are gone: they live in the machine code
  HookJit::Function mask = nullptr;
  HookJit::Function tile_class = nullptr;
  std::vector<HookJit::Function> summaries;

 private:
  std::unique_ptr<HookJit> jit_;
};

class MaskProbe {
 public:
  /// `problem` holds the numbers that the mask's spec names, and outlives the probe: its own spec may be
  /// another one where only the mask differs.
  MaskProbe(std::shared_ptr<const MaskCode> code, const Problem& problem);
  MaskProbe(const CheckedSpec& spec, const Problem& problem)
      : MaskProbe(std::make_shared<const MaskCode>(spec), problem) {}

  /// Whether a tile class could be derived; without, every tile is partial.
  bool has_class() const { return has_bounds() || has_map(); }
  /// Whether classes are found by parts and by elements where bounds leave them open.
  bool has_map() const { return classes().map.has_value(); }
  bool has_bounds() const { return classes().function != nullptr; }
  const std::vector<std::string>& imprecise() const { return classes().imprecise; }
  /// What the classes are derived from. Its functions are empty: the machine code has them.
  const TileClasses& classes() const { return code_->classes; }
  /// The value of one of its summaries at one q_idx or kv_idx, a float as its bits.
  std::int32_t summary_at(std::size_t summary, int b, int h, int index) const {
    return extrema(summary, b, h, index, index).low.i32();
  }
  /// Whether one element's answer may differ from batch entry to batch entry, from head to head.
  bool depends_on_b() const { return code_->depends_on_b; }
  bool depends_on_h() const { return code_->depends_on_h; }

  bool keeps(int b, int h, int q_idx, int kv_idx) const;
  /// The class that a kernel's walk uses.
  TileClass tile_class(int b, int h, const TileBounds& tile) const;
  /// The class that bounds on the whole tile prove.
  TileClass bounds_class(int b, int h, const TileBounds& tile) const;
  /// How much tile_class has evaluated so far: 32 classes of parts count as one look, and so do 32 elements.
  struct Looks {
    std::int64_t parts = 0, elements = 0;
  };
  const Looks& looks() const { return looks_; }
  /// The class found by evaluating the mask at every element.
  TileClass brute_force(int b, int h, const TileBounds& tile) const;
  /// `on_progress` is told the share that is done, a row of tiles at a time, and may throw.
  TileGrid classify(int b, int h, int tile_q, int tile_kv,
                    const std::function<void(double)>& on_progress = {}) const;
  /// The share of a tile's elements that the mask keeps, by a sample of some 256.
  double share_kept(int b, int h, const TileBounds& tile) const;

 private:
  struct Asker;
  struct Extrema {
    Slot low, high;
  };
  Extrema extrema(std::size_t summary, int b, int h, int first, int last) const;
  std::int32_t call_class(std::vector<Slot>& slots, const TileBounds& tile) const;
  std::int32_t ask_bounds(int b, int h, const TileBounds& tile) const;
  std::vector<Slot> class_slots(int b, int h) const;
  TileClass open_class(int b, int h, const TileBounds& tile, int alike) const;

  ProblemSize size_;
  std::shared_ptr<const MaskCode> code_;
  std::vector<Slot> uniforms_;  // in the order of HookSignature
  mutable Looks looks_;
};

/// The (b, h) that represent all: every pair for which the mask differs, or `most` of them, evenly spread.
struct ChosenHeads {
  std::vector<std::pair<int, int>> heads;
  bool are_all = true;
};
ChosenHeads choose_heads(const MaskProbe& probe, const ProblemSize& size, std::int64_t most);

/// The arguments hooks take after the element's own, in the order of HookSignature.
std::vector<Slot> uniform_slots(const Problem& problem);

}  // namespace fa::tools
