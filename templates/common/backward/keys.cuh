// dK and dV of a kv tile: one CTA per (kv tile, kv head, batch). K and V stay, the q tiles of every head of the
// group pass by, so that what heads of q share is summed here, in one order, by no atomic addition.
//
// Transposed   S^T = K Q^T and dP^T = V dO^T have keys down their rows. P^T and dS^T are then left operands of
//              dV += P^T dO and dK += dS^T Q as they lie in registers, and a warp keeps the rows it owns: nothing
//              of a score passes through shared memory.
//              Where column_warps warps share their keys (kShares), each makes the scores of its part of the rows of Q and
//              sums its part of the columns of dK and dV. P^T and dS^T then pass through shared memory, but a warp has
//              more keys, and what it reads of Q and dO serves all of them.
//              Where query_warps warps share their keys, each sums all columns of dK and dV over its part of the rows of Q,
//              and the sums are added up once, at the end: P^T and dS^T stay in registers.
// Warps        all alike; each owns tile_kv / warps keys, or shares column_warps or query_warps times as many.
// Shared       K | V | (Q | dO | lse | D) x stages | dS, or two of it | P | sums of what is captured. dK and dV leave through K's and V's
//              room. dS is there where dQ is summed, too (query_sums.cuh), or warps share keys; P in the latter case.
// Protocol     per q tile: Q, dO, lse and D arrive -> barrier -> (with two stages the next copies start) -> S^T, dP^T
//              -> P^T, dS^T -> dV, dK (-> barrier -> dQ's part). With one stage the next copies start behind the barrier that
//              follows dV and dK, and dQ's part hides them. A delayed dQ (Config::kDelaysQ) has two rooms for dS: its part is
//              added in the next step, behind that step's first barrier, and no barrier of its own keeps warps in step.
// Ragged edge  rows past q_len have lse +inf and dO 0; keys past kv_len are computed and not stored.
// Wide heads   where dK and dV together take more registers than a thread has, and no warps share keys, a pass computes one
//              of them (Config::kGradients), and P or dS again.
#pragma once

#include "common/backward/elements.cuh"
#include "common/backward/gradient_store.cuh"
#include "common/backward/kept_scale.cuh"
#include "common/backward/query_sums.cuh"
#include "common/backward/row_stats.cuh"
#include "common/backward/tile_products.cuh"
#include "common/dependent_launch.cuh"
#include "common/lane_store.cuh"
#include "common/tile.cuh"
#include "common/tiles/query_tiles.cuh"
#include "common/tiles/tile_walk.cuh"

namespace fa {

/// The q tiles of one head that meet a kv tile.
struct KeysItem {
  int b, h, tile;

  __device__ __forceinline__ BatchHead head(const ForwardParams&) const { return {b, h}; }
  __device__ __forceinline__ int kv_tile(const ForwardParams&) const { return tile; }
  __device__ __forceinline__ int q_len(const ForwardParams& params) const {
    return Sequence::q_len(params.call, b);
  }
  __device__ __forceinline__ int kv_len(const ForwardParams& params) const {
    return Sequence::kv_len(params.call, b);
  }
};

enum Gradients { kGradientK = 1, kGradientV = 2, kGradientQ = 4 };

template <class Config, class Hooks, class Classes, class Derivatives, int kGradients>
struct BackwardKeys {
  using Element = typename Config::Element;
  using KTile = Tile<Element, Config::kTileKv, Config::kHeadDim>;
  using VTile = Tile<Element, Config::kTileKv, Config::kHeadDimV>;
  using QTile = Tile<Element, Config::kTileQ, Config::kHeadDim>;
  using DoTile = Tile<Element, Config::kTileQ, Config::kHeadDimV>;
  static constexpr int kThreads = Config::kWarps * 32;
  static constexpr bool kShares = Config::kColumnWarps > 1;
  static constexpr int kSharing = Config::kColumnWarps * Config::kQueryWarps;  // warps of the same keys
  static constexpr int kRowWarps = Config::kWarps / kSharing;
  static constexpr int kRowsPerWarp = Config::kTileKv / kRowWarps;
  // What a warp works on at a time of the rows of Q: S and dP of more would take too many registers.
  static constexpr int kColumnsPerWarp = Config::kTileQ / kSharing / Config::kParts;
  static constexpr int kM = kRowsPerWarp / 16;
  static constexpr int kN = kColumnsPerWarp / 8;
  static constexpr bool kHasK = (kGradients & kGradientK) != 0;
  static constexpr bool kHasV = (kGradients & kGradientV) != 0;
  static constexpr bool kHasQ = (kGradients & kGradientQ) != 0;  // common/backward/query_sums.cuh
  static constexpr bool kDelaysQ = kHasQ && Config::kDelaysQ;
  using DsTile = Tile<Element, Config::kTileKv, Config::kTileQ>;
  static_assert(kRowsPerWarp % 16 == 0 && kColumnsPerWarp % 16 == 0);
  static_assert(!kShares || (kHasK && kHasV && Config::kParts == 1 && Config::kQueryWarps == 1),
                "shared columns have both gradients in one pass");

  static constexpr int kVOffset = KTile::kBytes;
  static constexpr int kStagesOffset = kVOffset + VTile::kBytes;
  static constexpr int kDoOffset = QTile::kBytes;  // in a stage
  static constexpr int kLseOffset = kDoOffset + DoTile::kBytes;
  static constexpr int kDOffset = kLseOffset + 4 * Config::kTileQ;
  static constexpr int kStageBytes = (kDOffset + 4 * Config::kTileQ + 1023) / 1024 * 1024;
  static constexpr int kDsOffset = kStagesOffset + Config::kStages * kStageBytes;
  static constexpr int kDsRooms = kDelaysQ ? 2 : kHasQ || kShares ? 1 : 0;
  static constexpr int kPOffset = kDsOffset + kDsRooms * DsTile::kBytes;
  static constexpr int kCapturedOffset = kPOffset + (kShares ? DsTile::kBytes : 0);
  // What hooks capture goes with dK.
  using OfElements = Elements<Config, Hooks, Derivatives, true, kM, kN, kHasK>;
  using Captured = typename OfElements::Captured;
  static constexpr bool kCaptures = OfElements::kCaptures;
  static constexpr bool kHasDistances = kCaptures && Captured::kHasDistances;
  // Whether rows' lists of keys are found before the products, so that what they read is there when those are. Wider rows leave
  // no registers for it.
  static constexpr bool kFindsListsFirst = Hooks::kListsKeys && KTile::kDim <= 64 && VTile::kDim <= 64;
  static_assert(!kCaptures || (kSharing == 1 && Config::kParts == 1),
                "sums of what is captured belong to one warp a key");
  static constexpr int kEnd = kCapturedOffset + (kCaptures ? Captured::kSharedBytes : 0);
  // Warps that part the query rows add their sums up in the room of what has passed by.
  static constexpr int kSumsOffset = kStagesOffset;
  static constexpr int kFloatsOfColumnTile = Config::kTileKv * 8;
  static constexpr int kSumsEnd =
      kSumsOffset + 4 * kFloatsOfColumnTile * (kColumnTilesOf<KTile> + kColumnTilesOf<VTile>);
  static constexpr int kSharedBytes = Config::kQueryWarps > 1 && kSumsEnd > kEnd ? kSumsEnd : kEnd;

  template <class Tile>
  using Sums = float[kM][kColumnTilesOf<Tile> / Config::kColumnWarps][4];
  using Scores = float[kM][kN][4];
  enum Base { kBaseQ, kBaseDo, kBaseLse, kBaseD, kBaseSums };  // places in the LaneStore
  using Walk = typename WalkOf<QueryTiles<Classes, Config::kTileQ, Config::kTileKv, KeysItem>>::Type;

  /// The copies of one stage.
  struct Stage {
    Copy<QTile, kThreads> q;
    Copy<DoTile, kThreads> d_o;
    CopyPieces<4 * Config::kTileQ, kThreads> lse, d;
  };

  static __device__ __forceinline__ void run(const BackwardParams& params) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const ForwardParams& forward = params.forward;
    const CallParams& call = forward.call;
    const KvTileOfBlock place = KvTileOfBlock::of(forward);
    if (!place.exists(forward)) return;
    const auto [b, kv_head, kv_tile] = place;
    const int kv0 = kv_tile * Config::kTileKv;
    const int q_len = Sequence::q_len(call, b), kv_len = Sequence::kv_len(call, b);
    const unsigned smem = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    const unsigned copy_to = smem + copy_offset();
    const unsigned stages = smem + kStagesOffset;

    Copy<KTile, kThreads> k_copy;
    Copy<VTile, kThreads> v_copy;
    k_copy.start(copy_to, Sequence::head_bytes<Element::kBytes>(forward.k, forward.k_strides, b, kv_head),
                 static_cast<int>(forward.k_strides.row), kv0, kv_len);
    k_copy.settle(copy_to);
    v_copy.start(copy_to + kVOffset,
                 Sequence::head_bytes<Element::kBytes>(forward.v, forward.v_strides, b, kv_head),
                 static_cast<int>(forward.v_strides.row), kv0, kv_len);
    v_copy.settle(copy_to + kVOffset);
    close_copies();
    const bool by_head = kHasK && HeadCounts::are_kept(params);  // what has no dK follows the pass that has
    if (!by_head) await_pass_before();

    Sums<KTile> dk;
    Sums<VTile> dv;
    clear(dk);
    clear(dv);
    Captured captured;
    auto* const room = reinterpret_cast<float*>(shared + kCapturedOffset);
    if constexpr (kCaptures && Captured::kHasTables) Captured::clear_tables(room);
#pragma unroll 1
    for (int h = kv_head * call.group_size; h < (kv_head + 1) * call.group_size; ++h) {
      LaneStore bases;  // of what is copied every tile: the loop has no register to spare
      bases.put(kBaseQ, Sequence::head_bytes<Element::kBytes>(forward.q, forward.q_strides, b, h));
      bases.put(kBaseDo, Sequence::head_bytes<Element::kBytes>(params.d_o, params.d_o_strides, b, h));
      bases.put(kBaseLse, RowStats::of_head(params, b, h).lse);
      bases.put(kBaseD, RowStats::of_head(params, b, h).d);
      if constexpr (kHasQ)
        bases.put(kBaseSums, QuerySums<Element, Config::kHeadDim>::of_rows(params, b, h, 0));
      bases.seal();
      const auto load = [&](int tile, int stage, bool with_stats = true) {
        const unsigned to = copy_to + kStagesOffset + stage * kStageBytes;
        const unsigned pieces = stages + stage * kStageBytes;
        const int q0 = tile * Config::kTileQ;
        Stage copies;
        copies.q.start(to, bases.get(kBaseQ), static_cast<int>(forward.q_strides.row), q0, q_len);
        copies.d_o.start(to + kDoOffset, bases.get(kBaseDo), static_cast<int>(params.d_o_strides.row), q0,
                         q_len);
        if (with_stats) start_stats(copies, pieces, bases, q0);
        // Copies through registers end here: kept over a search for the next tile, they would be spilled.
        copies.q.settle(to);
        copies.d_o.settle(to + kDoOffset);
        if (with_stats) settle_stats(copies, pieces);
      };
      if constexpr (kCaptures) captured.clear();
      Walk walk{{{b, h, kv_tile}}};
      WalkStep now = walk.first(forward);
      int turn = 0;  // of the stages and of dS's rooms: 0, 1, 0, ...
      DelayedQ delayed;
      __syncthreads();  // the head before is done with its last tiles
      if (now.exists()) load(now.tile(), 0, !by_head);
      if (by_head) {
        HeadCounts::await_stats(params, b, h);
        Stage copies;
        if (now.exists()) start_stats(copies, stages, bases, now.tile() * Config::kTileQ);
        if (now.exists()) settle_stats(copies, stages);
      }
      close_copies();
#pragma unroll 1
      while (now.exists()) {
        const WalkStep then = walk.after(forward, now);
        const int stage = Config::kStages == 1 ? 0 : turn;
        await_copies<0>();
        __syncthreads();
        if (Config::kStages == 2 && then.exists()) load(then.tile(), 1 - turn);
        close_copies();
        if constexpr (kDelaysQ) delayed.add(bases, smem + ds_offset(1 - turn), smem);
        const int q0 = now.tile() * Config::kTileQ;
        // Without a mask the walk does not say, and only ends cut a tile.
        const bool full =
            Hooks::kHasMask ? now.full() : q0 + Config::kTileQ <= q_len && kv0 + Config::kTileKv <= kv_len;
#pragma unroll 1
        for (int part = 0; part < Config::kParts; ++part)
          visit(dk, dv, captured, params, {b, h, q0, kv0, q0, kv0}, part, full, smem, shared,
                kStagesOffset + stage * kStageBytes, ds_offset(turn));
        constexpr bool kAddsQ = kHasQ && !kDelaysQ;
        if constexpr (Config::kStages == 1 || (kAddsQ && !kShares))
          __syncthreads();  // dS is there, Q and dO are done with
        if constexpr (Config::kStages == 1) {
          if (then.exists()) load(then.tile(), 0);
          close_copies();
        }
        if constexpr (kAddsQ) QueryPart<Config>::add(sums_of_head(bases), q0, smem + kDsOffset, smem);
        if constexpr (kDelaysQ) delayed.q0 = q0;
        if constexpr (kHasDistances) {
          __syncthreads();
          Captured::flush(params, room, b, h, q0, kv0);
        }
        now = then;
        turn = 1 - turn;
      }
      if constexpr (kDelaysQ) {
        __syncthreads();  // the last dS is there
        delayed.add(bases, smem + ds_offset(1 - turn), smem);
      }
      if constexpr (kCaptures)
        captured.finish(
            params, b, h,
            [&](int line) {
              const int kv_idx = kv0 + row_of_warp() + 16 * (line / 2) + 8 * (line % 2) + lane_of_warp() / 4;
              return kv_idx < kv_len ? kv_idx : -1;
            },
            room);
    }
    await_copies<0>();  // K and V, where there was no tile
    __syncthreads();
    if (kHasQ && by_head) HeadCounts::count_cta_of_keys(params, b, kv_head);
    if constexpr (Config::kQueryWarps > 1) {
      auto* const sums = reinterpret_cast<float*>(shared + kSumsOffset);
      add_up(dk, sums);
      add_up(dv, sums + kFloatsOfColumnTile * kColumnTilesOf<KTile>);
      if (query_warp() > 0) return;
    }
    if constexpr (kHasK)
      store_gradient<KTile>(gradient_rows<Element>(params.d_k, params.d_k_strides, b, kv_head, kv0, kv_len),
                            shared, dk, call.scale * kept_scale<Config>(call), part_of(dk));
    if constexpr (kHasV)
      store_gradient<VTile>(gradient_rows<Element>(params.d_v, params.d_v_strides, b, kv_head, kv0, kv_len),
                            shared + kVOffset, dv, Config::kDropout ? call.keep_scale : 1.0f, part_of(dv));
  }

 private:
  /// lse and D of a tile's rows. `stage`: in shared memory.
  static __device__ __forceinline__ void start_stats(Stage& copies, unsigned stage, const LaneStore& bases,
                                                     int q0) {
    copies.lse.start(stage + kLseOffset, bases.get(kBaseLse) + 4 * q0);
    copies.d.start(stage + kDOffset, bases.get(kBaseD) + 4 * q0);
  }
  static __device__ __forceinline__ void settle_stats(Stage& copies, unsigned stage) {
    copies.lse.settle(stage + kLseOffset);
    copies.d.settle(stage + kDOffset);
  }

  /// The first of this warp's keys, and its number among those that share them.
  static __device__ __forceinline__ int row_of_warp() {
    const int warp = static_cast<int>(warp_of_cta());
    // In parts, too: the remainder tells ptxas the number's range, and it spills nothing (sigmoid_gate, d64).
    return (kSharing > 1 || Config::kParts > 1 ? warp % kRowWarps : warp) * kRowsPerWarp;
  }
  static __device__ __forceinline__ int sharing_warp() { return static_cast<int>(warp_of_cta()) / kRowWarps; }
  static __device__ __forceinline__ int column_warp() { return kShares ? sharing_warp() : 0; }
  static __device__ __forceinline__ int query_warp() { return Config::kQueryWarps > 1 ? sharing_warp() : 0; }
  /// The first row of Q, of the tile, that the warp works on.
  static __device__ __forceinline__ int first_column(int part) {
    return ((kSharing > 1 ? sharing_warp() : 0) * Config::kParts + part) * kColumnsPerWarp;
  }
  /// Adds to the first of the warps that share keys what the others have summed. `room`: a float for each element of a tile.
  template <int kD>
  static __device__ __forceinline__ void add_up(float (&sums)[kM][kD][4], float* room) {
    float* const mine = room + row_of_warp() / kRowsPerWarp * kM * kD * 4 * 32 + lane_of_warp();
#pragma unroll 1
    for (int warp = 1; warp < Config::kQueryWarps; ++warp) {
      __syncthreads();
#pragma unroll
      for (int i = 0; i < kM * kD * 4; ++i) {
        if (query_warp() == warp) mine[32 * i] = sums[i / 4 / kD][i / 4 % kD][i % 4];
      }
      __syncthreads();
#pragma unroll
      for (int i = 0; i < kM * kD * 4; ++i) {
        if (query_warp() == 0) sums[i / 4 / kD][i / 4 % kD][i % 4] += mine[32 * i];
      }
    }
  }
  /// Of a tile with keys down its rows: what these accumulators are.
  template <int kD>
  static __device__ __forceinline__ WarpPart part_of(const float (&)[kM][kD][4]) {
    return {row_of_warp(), column_warp() * kD};
  }

  static __device__ __forceinline__ float* sums_of_head(const LaneStore& bases) {
    return reinterpret_cast<float*>(const_cast<char*>(bases.get(kBaseSums)));
  }

  /// Where in shared memory dS goes in a turn.
  static __device__ __forceinline__ int ds_offset(int turn) {
    return kDsOffset + (kDelaysQ ? turn * DsTile::kBytes : 0);
  }

  /// The tile before, whose part of dQ is still to be added.
  struct DelayedQ {
    int q0 = -1;  // its first query row

    /// `ds`, `k`: in shared memory.
    __device__ __forceinline__ void add(const LaneStore& bases, unsigned ds, unsigned k) const {
      if (q0 >= 0) QueryPart<Config>::add(sums_of_head(bases), q0, ds, k);
    }
  };

  /// `stage_offset`, `ds_offset`: of the tile's stage and of its dS, in shared memory.
  static __device__ __forceinline__ void visit(Sums<KTile>& dk, Sums<VTile>& dv, Captured& captured,
                                               const BackwardParams& params, const ElementsPlace& place,
                                               int part, bool full, unsigned smem, unsigned char* shared,
                                               int stage_offset, int ds_offset) {
    const unsigned stage = smem + stage_offset;
    Scores s, dp;
    const int column = first_column(part);
    const WarpPart scores = {row_of_warp(), column / 8};  // of dS and P
    const auto elements_here = [&] {
      ElementsPlace here = place;
      here.kv0 += row_of_warp();
      here.q0 += column;
      return OfElements(params, here);
    };
    typename OfElements::Listed listed;
    if constexpr (kFindsListsFirst) {
      if (!full) listed = elements_here().find_listed();
    }
    const unsigned warp_rows = smem + row_of_warp() * 128, warp_columns = stage + column * 128;
    multiply_rows<KTile, QTile>(s, warp_rows, warp_columns);
    if constexpr (kHasK)
      multiply_rows<VTile, DoTile>(dp, warp_rows + kVOffset, warp_columns + kDoOffset);
    else
      clear(dp);
    const OfElements elements = elements_here();
    if constexpr (Hooks::kListsKeys && !kFindsListsFirst) {
      if (!full) listed = elements.find_listed();
    }
    const auto* const lse = reinterpret_cast<const float*>(shared + stage_offset + kLseOffset) + column;
    const StatsOfColumns of_columns = {lse, lse + Config::kTileQ};
    auto* const room = reinterpret_cast<float*>(shared + kCapturedOffset);
    if (full)
      elements.template apply<false>(s, dp, of_columns, listed, captured, room);
    else
      elements.template apply<true>(s, dp, of_columns, listed, captured, room);
    if constexpr (kHasQ && Element::kBytes == 4)
      stage_scores_f32<DsTile>(shared + ds_offset, dp, scores);
    else if constexpr (kHasQ || kShares)
      stage_rows<DsTile>(shared + ds_offset, dp, 1.0f, scores);
    if constexpr (kShares) {
      stage_rows<DsTile>(shared + kPOffset, s, 1.0f, scores);
      __syncthreads();  // dS and P are there
      add_product_of_tiles<DsTile, DoTile>(dv, warp_rows + kPOffset, stage + kDoOffset,
                                           part_of(dv).column_tile);
      add_product_of_tiles<DsTile, QTile>(dk, warp_rows + ds_offset, stage, part_of(dk).column_tile);
    } else {
      if constexpr (kHasV) add_product<DoTile>(dv, s, warp_columns + kDoOffset);
      if constexpr (kHasK) add_product<QTile>(dk, dp, warp_columns);
    }
  }
};

}  // namespace fa
