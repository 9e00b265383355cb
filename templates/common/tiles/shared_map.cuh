// Where the kv loop of a forward kernel keeps what in shared memory. compiler/schedule/smem.cpp has the same
// sums.
#pragma once

#include "common/score/staged_reads.cuh"
#include "common/tile.cuh"

namespace fa {

/// Offsets in bytes. Q | K x stages | V x stages | staged reads; with q_in_registers K and V lie over Q.
template <class Config, class Hooks>
struct SharedMap {
  using Element = typename Config::Element;
  using QTile = Tile<Element, Config::kTileQ, Config::kHeadDim>;
  using KTile = Tile<Element, Config::kTileKv, Config::kHeadDim>;
  using VTile = Tile<Element, Config::kTileKv, Config::kHeadDimV>;
  static constexpr int kKOffset = Config::kQInRegisters ? 0 : QTile::kBytes;
  static constexpr int kVOffset = kKOffset + Config::kStages * KTile::kBytes;
  static constexpr int kReadsOffset = kVOffset + Config::kStages * VTile::kBytes;
  static constexpr int kLoopBytes = kReadsOffset + StagedReads<Config, Hooks>::kBytes;
  static constexpr int kBytes = kLoopBytes > QTile::kBytes ? kLoopBytes : QTile::kBytes;
};

}  // namespace fa
