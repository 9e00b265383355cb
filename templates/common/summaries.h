// Summaries: the minimum and maximum, over each tile's rows or columns, of a part of the mask that depends on
// one side only. One small kernel fills them before the forward pass; tile classes read them. Host and device
// share this layout.
//
// `Params` is ForwardParams: a template, so that this header, included from two roots, includes nothing.
// A summary is a row of int pairs (min, max) for each (b, h) it depends on: one pair a tile, then one a group
// of 32 tiles.
#pragma once

#ifndef FA_HOST_DEVICE
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define FA_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define FA_HOST_DEVICE inline
#endif
#endif

namespace fa {

constexpr int kTilesPerGroup = 32;

struct SummaryShape {
  bool of_query;  // over q tiles; else over kv tiles
  bool of_batch;  // differs from batch entry to batch entry
  bool of_head;
};

/// Tiles of one side.
template <class Params>
FA_HOST_DEVICE int summary_tiles(SummaryShape shape, const Params& p, int tile_q, int tile_kv) {
  return shape.of_query ? (p.q_len + tile_q - 1) / tile_q : (p.kv_len + tile_kv - 1) / tile_kv;
}

/// Pairs of one (b, h).
template <class Params>
FA_HOST_DEVICE long long summary_row(SummaryShape shape, const Params& p, int tile_q, int tile_kv) {
  const int tiles = summary_tiles(shape, p, tile_q, tile_kv);
  return tiles + (tiles + kTilesPerGroup - 1) / kTilesPerGroup;
}

/// Pairs of the whole summary.
template <class Params>
FA_HOST_DEVICE long long summary_pairs(SummaryShape shape, const Params& p, int tile_q, int tile_kv) {
  return summary_row(shape, p, tile_q, tile_kv) * (shape.of_batch ? p.batch : 1) *
         (shape.of_head ? p.num_q_heads : 1);
}

/// Which row belongs to (b, h).
template <class Params>
FA_HOST_DEVICE long long summary_row_index(SummaryShape shape, const Params& p, int b, int h) {
  return (shape.of_batch ? b : 0) * static_cast<long long>(shape.of_head ? p.num_q_heads : 1) +
         (shape.of_head ? h : 0);
}

}  // namespace fa
