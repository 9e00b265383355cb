// Forward attention: one CTA per (q tile, q head, batch), kv tiles in order. The algorithm, written once:
// what copies (Copy, close_copies, await_copies) and what multiplies (Products) are the architecture's, whose
// forward.cuh includes this file last.
//
// Warps        all alike; each owns tile_q / warps query rows, so a softmax never leaves a quad of lanes.
// Shared       Q | K x stages | V x stages, pages of 128 bytes a row (common/tile.cuh). With q_in_registers Q
//              is read once and its room is K's and V's. 16-bit output is staged through the same room at the
//              end.
// One stage    per kv tile: K arrives -> barrier -> V's copy starts -> S = Q K^T -> logits, softmax -> V arrives ->
//              barrier -> the next K's copy starts -> O += P V, as in FlashAttention-2: V's copy hides behind S, the
//              next K's behind P V. Both barriers also say that every warp is done with the buffer that the
//              following copy overwrites. A table's tile is copied with the next K, with a second buffer
//              right behind the first barrier's copy; it is awaited with the next K.
// Two stages   per kv tile: K and V are there -> S = Q K^T -> logits, softmax -> every warp is done with the tile before
//              -> the next tile's copies start into its buffers -> O += P V. Barriers in shared memory say so, one for
//              each stage that is full and one for each that is empty, so that warps are up to a tile apart: tensor
//              cores have the products of some while others are in their softmax. What hooks read a tile ahead has one
//              buffer or two; warps that share one are in step where they are done with it.
//              After the last tile zeros are copied: a branch around the copy would keep ptxas from filling its
//              latencies with exponentials.
// Once more    all tiles are visited again where that is needed (common/row_references.cuh).
// Ragged edge  rows past q_len or kv_len are copied as zeros; columns past kv_len become -inf after the hooks,
//              whose indices are clamped there; rows past q_len are computed and not stored.
#pragma once

#include "common/dependent_launch.cuh"
#include "common/dropout.cuh"
#include "common/lane_store.cuh"
#include "common/odd_outputs.cuh"
#include "common/output_tile.cuh"
#include "common/products.cuh"
#include "common/row_references.cuh"
#include "common/score/hooks.cuh"
#include "common/score/score_product.cuh"
#include "common/score/staged_reads.cuh"
#include "common/score/table_copies.cuh"
#include "common/softmax.cuh"
#include "common/sync/stage_barriers.cuh"
#include "common/tile.cuh"
#include "common/tiles/key_tiles.cuh"
#include "common/tiles/shared_map.cuh"
#include "common/tiles/tile_walk.cuh"
#include "params.h"

namespace fa {

/// What a plan and a spec fix at compile time. The generated unit derives from this and fills it in.
template <class Config, class Hooks, class Classes>
struct Forward : ScoreProduct<Config, Hooks, Classes>,
                 OutputTile<Config, ScoreProduct<Config, Hooks, Classes>::kHooksKeepQTile> {
  using Scores = ScoreProduct<Config, Hooks, Classes>;
  using Output = OutputTile<Config, Scores::kHooksKeepQTile>;
  using Output::kDTiles;
  using Output::o;
  using Output::softmax;
  using Scores::item;
  using Scores::k_lane;
  using Scores::kHooksKeepQTile;
  using Scores::kMTiles;
  using Scores::kRowsPerWarp;
  using Scores::kTileKv;
  using Scores::q_lane;
  using Scores::s;
  using typename Output::OTile;
  using typename Scores::Place;
  using typename Scores::Score;
  using Element = typename Config::Element;
  using Product = Products<Element>;
  using Linear = LinearAddend<Hooks>;
  static constexpr bool kTrusts = kTrustsReferences<Element> && !Score::kFillsRegisters;
  using References = RowReferences<kMTiles, kTrusts>;
  static constexpr int kThreads = Config::kWarps * 32;
  // common/dropout.cuh; tiles that end inside a group of 32 columns draw it once for each half.
  static constexpr int kDrawnColumns = kTileKv % 32 == 0 ? 32 : 16;

  using Map = SharedMap<Config, Hooks>;
  using QTile = typename Map::QTile;
  using KTile = typename Map::KTile;
  using VTile = typename Map::VTile;
  using Reads = StagedReads<Config, Hooks>;
  using Table = TableCopies<Config, Hooks>;
  static constexpr bool kElementsAhead = Reads::kElements && Reads::kBuffers == 2;  // a whole step
  static constexpr int kKOffset = Map::kKOffset;
  static constexpr int kVOffset = Map::kVOffset;
  // One stage's barriers are those of all threads.
  static constexpr bool kTwoStages = Config::kStages == 2;
  static constexpr bool kSharesReads = kTwoStages && Reads::kAny && !(kElementsAhead && !Reads::kColumns);
  static constexpr int kBarriers =  // their offset: full, empty, and of what hooks read
      Product::kStagesOutput && OTile::kBytes > Map::kBytes ? OTile::kBytes : Map::kBytes;
  using Barriers = StageBarriers<kBarriers, Config::kWarps>;
  static constexpr int kSharedBytes = kBarriers + (kTwoStages ? Barriers::kBytes : 0);

  using Walk = typename WalkOf<KeyTiles<Classes, Config::kTileQ, kTileKv, Config::kDropout, kTrusts>>::Type;

  // Whether the walk's first search is the loop's first turn: then its code is there once (Plan::search_first).
  static constexpr bool kBeginsInLoop = Walk::kSearches && !Config::kSearchFirst && !WorkItem::kDoesMany;

  /// Where this lane reads the first V buffer. Computed each time, because one more register would spill.
  __device__ __forceinline__ unsigned v_lane() const {
    const int lane = lane_of_warp();
    const unsigned shared_start = q_lane - Place::first_row_of_warp() * 128 - Product::lane_offset_q(lane);
    return shared_start + kVOffset + Product::lane_offset_v(lane);
  }

  /// O += P V for one kv tile; P goes from the score accumulators to A fragments without leaving the thread.
  /// The exponentials of a step stand right before its products, so that they fill the tensor cores' latency.
  __device__ __forceinline__ void multiply_pv(const ForwardParams& params, unsigned v_lane_of_stage,
                                              float scale, float shift, int kv0) {
    float reference[kMTiles][2];
#pragma unroll
    for (int m = 0; m < kMTiles; ++m)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        reference[m][half] = Score::kHasShift ? softmax[m][half].m - shift : softmax[m][half].m;
    PhiloxWords words[Config::kDropout ? kMTiles : 1][2];
    constexpr int kTilesOfStep = Product::kDepth / 8;
#pragma unroll
    for (int step = 0; step < kTileKv / Product::kDepth; ++step) {
      if constexpr (Config::kDropout) {
        if (step * Product::kDepth % kDrawnColumns == 0)
          draw_dropout<kDrawnColumns, Place>(params, item,
                                             this->first_row(params) + Place::first_row_of_warp(),
                                             kv0 + step * Product::kDepth, words);
      }
      unsigned p[kMTiles][Product::kPWords];
#pragma unroll
      for (int m = 0; m < kMTiles; ++m)
#pragma unroll
        for (int i = 0; i < 2 * kTilesOfStep; ++i) {
          const int half = i % 2;
          const int n = kTilesOfStep * step + i / 2;
          float lo = softmax[m][half].exponential(s[m][n][2 * half], scale, reference[m][half]);
          float hi = softmax[m][half].exponential(s[m][n][2 * half + 1], scale, reference[m][half]);
          if constexpr (Config::kDropout) {
            const unsigned bits = words[m][half].word[n % (kDrawnColumns / 8)];
            lo = (bits & 0xffffu) >= params.call.drop_threshold ? lo : 0.0f;
            hi = (bits >> 16) >= params.call.drop_threshold ? hi : 0.0f;
          }
          Product::place(p[m], i / 2, half, lo, hi);
        }
#pragma unroll
      for (int d = 0; d < kDTiles; d += Product::kColumnTiles)
        Product::template multiply_pv<VTile>(o, d, p, v_lane_of_stage, step);
    }
  }

  /// Brings the state of every row and acc_o to references that serve this tile as well.
  template <class AnyReferences>
  __device__ __forceinline__ void settle(LaneStore& base, float scale, float shift) {
    const auto multiply = [&](int m, int half, float factor) { this->multiply_row(m, half, factor); };
    if constexpr (!kTrusts) {
      AnyReferences::settle(base, *this, softmax, scale, shift, multiply);
    } else {
      float factor[kMTiles][2];  // both ways to find them lead to one code that multiplies
      const auto keep = [&](int m, int half, float x) { factor[m][half] = x; };
      if (AnyReferences::settle(base, *this, softmax, scale, shift, keep))
        Place::for_each_row(
            [&](typename Place::ThreadRow row) { multiply(row.m, row.half, factor[row.m][row.half]); });
    }
  }

  __device__ __forceinline__ typename Reads::Found find_columns(const ForwardParams& params,
                                                                const typename Hooks::Head& head,
                                                                int tile) const {
    return Reads::find_columns(params, item, this->head_of_tile(params, head), tile * kTileKv);
  }

  static __device__ __forceinline__ Barriers barriers() {
    extern __shared__ __align__(1024) unsigned char shared[];
    return {static_cast<unsigned>(__cvta_generic_to_shared(shared))};
  }

  __device__ __forceinline__ void run(const ForwardParams& params) {
    if constexpr (kTwoStages) barriers().make();
    if constexpr (WorkItem::kDoesMany) {
      for (item.first(params); item.exists(params, Config::kTileQ); item.next(params)) {
        run_item(params);
        __syncthreads();  // the next item overwrites shared memory
      }
    } else if (item.exists(params)) {
      run_item(params);
    }
  }

 private:
  // Whether a walk follows another: the next item's, or an item's once more.
  static constexpr bool kDoesMore = WorkItem::kDoesMany || kTrusts;
  int turn = 0;  // two stages: how many tiles' K and V have been given back, by all items

  __device__ __forceinline__ void run_item(const ForwardParams& params) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const int lane = lane_of_warp();
    const int warp_row = thread_of_cta() / 32 * kRowsPerWarp;
    const int q0 = item.template q_tile<kHooksKeepQTile>(params, Config::kTileQ) * Config::kTileQ;
    const auto [b, h] = item.head(params);
    const unsigned smem = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    q_lane = smem + warp_row * 128 + Product::lane_offset_q(lane);
    const int first_stage = turn % 2;  // of the first visit
    k_lane = smem + kKOffset + first_stage * KTile::kBytes + Product::lane_offset_k(lane);

    // Row 0 of K and of V.
    const int kv_head = Sequence::kv_head(params.call, h);
    LaneStore base;
    base.put(Kept::kRowsOfK, Sequence::head_bytes<Element::kBytes>(params.k, params.k_strides, b, kv_head));
    base.put(Kept::kRowsOfV, Sequence::head_bytes<Element::kBytes>(params.v, params.v_strides, b, kv_head));
    if constexpr (Score::kIsLinear) Linear::keep(base, params, this->find_head(params));
    if constexpr (Reads::kElements)
      Table::keep(base, Table::find_rows(params, item, this->find_head(params), q0));
    base.seal();
    unsigned copy_to = smem + copy_offset();
    Copy<KTile, kThreads> k_copy;
    Copy<VTile, kThreads> v_copy;
    const auto load_k = [&](int tile, int stage) {
      k_copy.start_if_any(copy_to + kKOffset + stage * KTile::kBytes, base.get(Kept::kRowsOfK),
                          static_cast<int>(params.k_strides.row), tile * kTileKv, item.kv_len(params));
    };
    const auto load_v = [&](int tile, int stage) {
      v_copy.start_if_any(copy_to + kVOffset + stage * VTile::kBytes, base.get(Kept::kRowsOfV),
                          static_cast<int>(params.v_strides.row), tile * kTileKv, item.kv_len(params));
    };

    const char* q = Sequence::head_bytes<Element::kBytes>(params.q, params.q_strides, b, h);
    Copy<QTile, kThreads> q_copy;
    // The tile exists; but without sm_75's branch one kernel of specs/ would spill (bigbird in f32, d256).
    q_copy.start_if_any(copy_to, q, static_cast<int>(params.q_strides.row), q0, item.q_len(params));
    q_copy.settle(copy_to);
    close_copies();
    if constexpr (Config::kQInRegisters) {
      await_copies<0>();
      __syncthreads();
      this->keep_q();
      __syncthreads();  // K and V take over the room
    }
    const typename Hooks::Head head = this->find_head(params);
    if constexpr (Classes::kHasTileMap) await_pass_before();
    WalkStep now;
    unsigned char* const reads = shared + Map::kReadsOffset;
    const auto load_elements = [&](int tile, int buffer) {  // in one stage
      if constexpr (Reads::kElements)
        Table::start(reads + buffer * Reads::kElementBytes, Table::kept(base), params, item,
                     this->head_of_tile(params, head), tile * kTileKv, [] {});
    };
    // Loads all of a tile, in two stages. A table's tile may need a branch, which comes first, right behind the barrier's.
    const auto load_stage = [&](const typename Table::Rows& rows, int tile, int stage, int buffer) {
      const auto load_both = [&] {
        load_k(tile, stage);
        load_v(tile, stage);
      };
      if constexpr (Reads::kElements)
        Table::start(reads + buffer * Reads::kElementBytes, rows, params, item,
                     this->head_of_tile(params, head), tile * kTileKv, load_both);
      else
        load_both();
      if constexpr (Reads::kColumns) {
        Reads::store_columns(reads, find_columns(params, head, tile));
        __threadfence_block();  // they are there when this thread arrives
      }
      arrive_with_copies(barriers().full(stage));
    };
    const auto copy_first = [&] {
      if constexpr (kTwoStages) {
        load_stage(Table::kept(base), now.tile(), kTrusts ? turn % 2 : first_stage, 0);
      } else {
        load_k(now.tile(), 0);
        load_elements(now.tile(), 0);
        if constexpr (Reads::kColumns) Reads::store_columns(reads, find_columns(params, head, now.tile()));
        close_copies();
      }
    };
    const float scale = Score::kIsRaw ? params.call.scale_log2 : 1.0f;
    // Scores of the tile, and the references of its exponentials. Returns what shifts its logits.
    const auto find_scores = [&] {
      if constexpr (Score::kIsLinear) Linear::count_from(now.tile() * kTileKv, base, params, softmax);
      this->begin_scores(params, head, now.tile() * kTileKv);
      this->multiply_qk(k_lane);
      const float slope = Score::kIsLinear ? Linear::slope(base) : 0.0f;
      const float shift = this->apply_hooks(params, head, now, slope);
      this->template settle<References>(base, scale, shift);
      return shift;
    };
    const auto visit_in_step = [&](WalkStep then) {
      k_copy.settle(copy_to + kKOffset);
      await_copies<0>();
      __syncthreads();
      load_v(now.tile(), 0);
      if constexpr (kElementsAhead) {
        close_copies();  // V's arrival is awaited earlier
        load_elements(then.tile(), 1 - this->element_buffer);
      }
      close_copies();
      const float shift = find_scores();
      v_copy.settle(copy_to + kVOffset);
      await_copies<kElementsAhead ? 1 : 0>();
      __syncthreads();
      if constexpr (!kElementsAhead) load_elements(then.tile(), 0);
      load_k(then.tile(), 0);
      close_copies();
      typename Reads::Found found;
      if constexpr (Reads::kColumns) found = find_columns(params, head, then.tile());
      multiply_pv(params, v_lane(), scale, shift, now.tile() * kTileKv);
      if constexpr (Reads::kColumns) Reads::store_columns(reads, found);
      now = then;
      if constexpr (kElementsAhead) this->element_buffer = 1 - this->element_buffer;
    };
    const auto visit_apart = [&](WalkStep then) {
      const int stage = turn % 2, other = 1 - stage;
      wait(barriers().full(stage), turn / 2 % 2);
      const float shift = find_scores();
      k_lane += stage == 0 ? KTile::kBytes : -KTile::kBytes;
      if constexpr (kSharesReads) {
        arrive(barriers().reads_empty());
        wait(barriers().reads_empty(), stage);
      }
      const typename Table::Rows rows = Table::kept(base);  // while this waits
      wait(barriers().empty(other), (turn + 3) / 2 % 2);    // turn 0 finds it free
      load_stage(rows, then.tile(), other, kElementsAhead ? 1 - this->element_buffer : 0);
      multiply_pv(params, v_lane() + stage * VTile::kBytes, scale, shift, now.tile() * kTileKv);
      arrive(barriers().empty(stage));
      now = then;
      ++turn;
      if constexpr (kElementsAhead) this->element_buffer = 1 - this->element_buffer;
    };
    const auto visit = [&](WalkStep then) {
      if constexpr (kTwoStages)
        visit_apart(then);
      else
        visit_in_step(then);
    };
    // Rows are found behind the first copies, but where tiles may be visited again: there once, before them.
    constexpr bool kFindsRows = !Hooks::kRowIsCheap;
    if constexpr (kFindsRows && kTrusts) this->find_rows(params, head);
    const auto visit_all = [&] {
      // Compilers would keep what they find from these for the first tile, in registers that the loop does not have.
      if constexpr (kTrusts) {
        hide(copy_to);
        hide(q_lane);
        hide(k_lane);
      }
      Walk walk{{item}};
      now = kBeginsInLoop ? WalkStep::before_first() : walk.first(params);
      if constexpr (!kBeginsInLoop) copy_first();
      this->start_rows();
      if constexpr (kFindsRows && !kTrusts) this->find_rows(params, head);
      if constexpr (kElementsAhead) this->element_buffer = 0;
      // The next step is found here, where no score is held and a search has registers.
      if constexpr (kBeginsInLoop) {
#pragma unroll 1
        while (now.exists()) {
          WalkStep then = walk.search(params, now.tile() + 1);
          if (!now.is_visited()) {
            now = then;
            copy_first();
            if (!now.has_more()) continue;
            then = now.more();
          }
#pragma unroll 1
          do {  // a run: its tiles follow each other by one branch
            visit(then);
            then = now.more();
          } while (now.has_more());
        }
      } else {
#pragma unroll 1
        while (now.exists()) visit(walk.after(params, now));
      }
      // The zeros of no tile took a turn, too: what follows goes on from there.
      if constexpr (kTwoStages && kDoesMore) {
        arrive(barriers().empty(turn % 2));
        if constexpr (kSharesReads) arrive(barriers().reads_empty());
        if constexpr (kTrusts) k_lane += turn % 2 == 0 ? KTile::kBytes : -KTile::kBytes;
        ++turn;
      }
    };
    References::start(base);
    if constexpr (kTrusts) {
#pragma unroll 1
      do visit_all();
      while (References::have_to_repeat(base, *this, softmax));
    } else {
      visit_all();
    }
    if constexpr (Score::kIsLinear) Linear::add_rest(*this, base, params, head, softmax);
    if constexpr (Hooks::kHasRowAddend) this->add_row_addends(params, softmax);
    if constexpr (Hooks::kHasSink) {
      const auto [sink_b, sink_h] = item.head(params);
      this->add_sink(Hooks::sink(params.call, sink_b, sink_h));
    }
    const bool met_nan = Product::kLosesInfinities && this->meets_nan();
    this->template store<!kTrusts>(params, item, shared);
    if constexpr (Product::kLosesInfinities) {
      if (__any_sync(0xffffffffu, met_nan))
        OddOutputs<Config, Hooks>::restore(
            params, item,
            item.template q_tile<false>(params, Config::kTileQ) * Config::kTileQ +
                Place::first_row_of_warp());
    }
  }
};

}  // namespace fa
