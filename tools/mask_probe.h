// A mask and its tile classes as machine code, on one problem: what `explain`, `check` and the tests ask
// about single elements and tiles.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/analysis/tile_class.h"
#include "runtime/hook_jit.h"
#include "tools/problem.h"

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

class MaskProbe {
 public:
  /// `problem` holds the numbers `spec` names (another spec than its own where only the mask differs), and
  /// outlives the probe. Throws as lowering and the code generator do.
  MaskProbe(const CheckedSpec& spec, const Problem& problem);

  /// Whether a tile class could be derived; without, every tile is partial.
  bool has_class() const { return has_bounds() || has_map(); }
  /// Whether classes are found by parts and by elements where bounds leave them open.
  bool has_map() const { return classes_.map.has_value(); }
  bool has_bounds() const { return classes_.function != nullptr; }
  const std::vector<std::string>& imprecise() const { return classes_.imprecise; }
  /// What the classes go by. Its functions are gone: they live in the machine code.
  const TileClasses& classes() const { return classes_; }
  /// The value of one of its summaries at one q_idx or kv_idx, a float as its bits.
  std::int32_t summary_at(std::size_t summary, int b, int h, int index) const {
    return extrema(summary, b, h, index, index).low.i32();
  }
  /// Whether one element's answer may differ from batch entry to batch entry, from head to head.
  bool depends_on_b() const { return depends_on_b_; }
  bool depends_on_h() const { return depends_on_h_; }

  bool keeps(int b, int h, int q_idx, int kv_idx) const;
  /// The class that a kernel's walk goes by.
  TileClass tile_class(int b, int h, const TileBounds& tile) const;
  /// What bounds on the whole tile show.
  TileClass bounds_class(int b, int h, const TileBounds& tile) const;
  /// What tile_class asked so far: 32 classes of parts count as one look, and 32 elements.
  struct Looks {
    std::int64_t parts = 0, elements = 0;
  };
  const Looks& looks() const { return looks_; }
  /// By evaluating the mask at every element.
  TileClass brute_force(int b, int h, const TileBounds& tile) const;
  TileGrid classify(int b, int h, int tile_q, int tile_kv) const;
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
  TileClasses classes_;
  bool has_mask_ = false;
  bool depends_on_b_ = false, depends_on_h_ = false;
  std::vector<Slot> uniforms_;  // in the order of hook_args
  std::unique_ptr<HookJit> jit_;
  HookJit::Function mask_ = nullptr;
  HookJit::Function class_ = nullptr;
  std::vector<HookJit::Function> summaries_;
  mutable Looks looks_;
};

/// The arguments hooks take after the element's own, in the order of hook_args.
std::vector<Slot> uniform_slots(const Problem& problem);

}  // namespace fa::tools
