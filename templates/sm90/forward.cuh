// Forward attention for sm_90a, 16-bit elements: products of whole warpgroups, which run while their warps do
// the softmax, on tiles that warps of their own copy.
//
// Warps        kWarps that multiply, four to a warpgroup, which owns 64 query rows, 16 a warp; and four that copy
//              K and V, and leave them most of their registers.
// Shared       as common/tiles/shared_map.cuh says, with two stages, then the barriers of hand_over.cuh. The
//              swizzle of common/tile.cuh is what the products' descriptors call 128 bytes.
// Protocol     the copying warps walk the tiles ahead, as far as stages are empty. A multiplying warp, per kv tile:
//              K of this tile and V of the one before are there -> S = Q K^T and O += P V of the tile before are both
//              started -> once S is there, logits and softmax, while O's product runs -> once O is there, it is
//              rescaled where it must be, and P packed (FlashAttention-3, section 3.2). Warpgroups take turns in
//              starting products, so that those of one run during the softmax of the others.
// Ragged edge  as in common/forward.cuh.
#pragma once

#include "sm80/mma.cuh"
#include "sm80/tile.cuh"
#include "sm90/hand_over.cuh"
#include "sm90/placement.cuh"
#include "sm90/wgmma.cuh"
// after the architecture's own
#include "common/dependent_launch.cuh"
#include "common/dropout.cuh"
#include "common/lane_store.cuh"
#include "common/output_tile.cuh"
#include "common/products.cuh"
#include "common/row_references.cuh"
#include "common/score/hooks.cuh"
#include "common/score/score_product.cuh"
#include "common/score/staged_reads.cuh"
#include "common/score/table_copies.cuh"
#include "common/softmax.cuh"
#include "common/sync/barrier.cuh"
#include "common/tile.cuh"
#include "common/tiles/key_tiles.cuh"
#include "common/tiles/shared_map.cuh"
#include "common/tiles/tile_walk.cuh"
#include "params.h"

namespace fa {

template <class Config, class Hooks, class Classes>
struct Forward : ScoreProduct<Config, Hooks, Classes>,
                 OutputTile<Config, ScoreProduct<Config, Hooks, Classes>::kHooksKeepQTile> {
  using Scores = ScoreProduct<Config, Hooks, Classes>;
  using Output = OutputTile<Config, Scores::kHooksKeepQTile>;
  using Output::kDTiles;
  using Output::o;
  using Output::softmax;
  using Scores::item;
  using Scores::kHooksKeepQTile;
  using Scores::kKSteps;
  using Scores::kNTiles;
  using Scores::kTileKv;
  using Scores::s;
  using typename Output::OTile;
  using typename Scores::Place;
  using typename Scores::Score;
  using Element = typename Config::Element;
  using Product = Products<Element>;
  using Linear = LinearAddend<Hooks>;
  static constexpr bool kTrusts = kTrustsReferences<Element>;
  using References = RowReferences<1, kTrusts>;
  static constexpr int kThreads = (Config::kWarps + kCopyingWarps) * 32;
  static_assert(Place::kMTiles == 1 && Config::kWarps % 4 == 0 && Config::kStages == 2);
  static constexpr int kDrawnColumns = kTileKv % 32 == 0 ? 32 : 16;
  static constexpr int kSteps = kTileKv / 16;  // of P V

  using Map = SharedMap<Config, Hooks>;
  using QTile = typename Map::QTile;
  using KTile = typename Map::KTile;
  using VTile = typename Map::VTile;
  using Reads = StagedReads<Config, Hooks>;
  using Table = TableCopies<Config, Hooks>;
  static constexpr int kKOffset = Map::kKOffset;
  static constexpr int kVOffset = Map::kVOffset;
  static constexpr int kBarriers = OTile::kBytes > Map::kBytes ? OTile::kBytes : Map::kBytes;  // their offset
  using Barriers = HandOver<kBarriers, Config::kWarps, kCopyingWarps>;
  static constexpr int kSharedBytes = kBarriers + Barriers::kBytes;

  using Walk = typename WalkOf<KeyTiles<Classes, Config::kTileQ, kTileKv, Config::kDropout>>::Type;

  __device__ __forceinline__ void run(const ForwardParams& params) {
    if (item.exists(params)) run_item(params);
  }

 private:
  unsigned p[kSteps][4];  // probabilities of a tile, as A fragments

  /// Warpgroups start their products one after the other, in a ring: `await_turn` is for all of them but the first
  /// warpgroup's first, `pass_turn` for all but the last warpgroup's last.
  static constexpr int kWarpgroups = Config::kWarps / 4;
  static constexpr bool kTakesTurns = kWarpgroups > 1 && !Reads::kColumns;
  // Whether hooks read the table's tile after Q K^T, whose scores else begin with it.
  static constexpr bool kReadsElementsLate = Reads::kElements && !Scores::kBeginsWithAddend;
  static __device__ __forceinline__ void await_turn(int warpgroup) {
    if constexpr (kTakesTurns) asm volatile("bar.sync %0, 256;" ::"r"(2 + warpgroup) : "memory");
  }
  static __device__ __forceinline__ void pass_turn(int warpgroup) {
    if constexpr (kTakesTurns) {
      const int next = warpgroup == kWarpgroups - 1 ? 0 : warpgroup + 1;
      asm volatile("bar.arrive %0, 256;" ::"r"(2 + next) : "memory");
    }
  }

  /// Starts S (+)= Q K^T.
  __device__ __forceinline__ void start_qk(unsigned q_rows, unsigned k_stage) {
#pragma unroll
    for (int step = 0; step < kKSteps; ++step) {
      const unsigned part = step % 4 * 32;
      const unsigned long long k = describe(k_stage + step / 4 * KTile::kPageBytes + part, 0);
      const bool adds = Scores::kBeginsWithAddend || step > 0;
      using Wide = WarpgroupProduct<Element, kNTiles>;
      Wide::of_tiles(s[0], describe(q_rows + step / 4 * QTile::kPageBytes + part, 0), k, adds);
    }
  }

  /// Starts O += P V.
  __device__ __forceinline__ void start_pv(unsigned v_stage) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
      WarpgroupProduct<Element, kDTiles>::template of_fragments<true>(
          o[0], p[step], describe(v_stage + step * 16 * 128, VTile::kPageBytes), true);
  }

  /// Scores to exponentials, in place.
  __device__ __forceinline__ void exponentiate(const ForwardParams& params, float scale, float shift,
                                               int kv0) {
    float reference[2];
#pragma unroll
    for (int half = 0; half < 2; ++half)
      reference[half] = Score::kHasShift ? softmax[0][half].m - shift : softmax[0][half].m;
    PhiloxWords words[1][2];
#pragma unroll
    for (int n = 0; n < kNTiles; ++n) {
      if constexpr (Config::kDropout) {
        if (n * 8 % kDrawnColumns == 0)
          draw_dropout<kDrawnColumns, Place>(
              params, item, this->first_row(params) + Place::first_row_of_warp(), kv0 + n * 8, words);
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float lo = softmax[0][half].exponential(s[0][n][2 * half], scale, reference[half]);
        float hi = softmax[0][half].exponential(s[0][n][2 * half + 1], scale, reference[half]);
        if constexpr (Config::kDropout) {
          const unsigned bits = words[0][half].word[n % (kDrawnColumns / 8)];
          lo = (bits & 0xffffu) >= params.call.drop_threshold ? lo : 0.0f;
          hi = (bits >> 16) >= params.call.drop_threshold ? hi : 0.0f;
        }
        s[0][n][2 * half] = lo;
        s[0][n][2 * half + 1] = hi;
      }
    }
  }

  /// By the warps that multiply: a tile of K, and the table's with it. Products read K for a whole warp, but each lane reads
  /// elements, and arrives itself, as racecheck wants it (common/sync/stage_barriers.cuh).
  static __device__ __forceinline__ void give_back_k(const Barriers& barriers, int stage) {
    if (Reads::kElements || lane_of_warp() == 0) arrive(barriers.k_empty(stage));
  }

  /// By the copying warps: the table's tile, which belongs to the stage of K that it arrives with. One buffer is
  /// free once the stage before has been given back.
  __device__ __forceinline__ void copy_elements(const ForwardParams& params, const typename Table::Rows& rows,
                                                unsigned char* reads, const Barriers& barriers, int kv0,
                                                int stage, int parity, bool is_first) const {
    if (Reads::kBuffers == 1 && !is_first) wait(barriers.k_empty(1 - stage), parity ^ stage);
    const int buffer = Reads::kBuffers == 1 ? 0 : stage;
    Table::start(reads + buffer * Reads::kElementBytes, rows, params, item, this->find_head(params), kv0,
                 [] {});
  }

  __device__ __forceinline__ void pack_probabilities() {
#pragma unroll
    for (int n = 0; n < kNTiles; ++n)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        Product::place(p[n / 2], n % 2, half, s[0][n][2 * half], s[0][n][2 * half + 1]);
  }

  __device__ __forceinline__ void run_item(const ForwardParams& params) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const unsigned smem = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    const Barriers barriers{smem};
    barriers.make(Reads::kElements ? 32 : 1);
    // The same for the whole warp, which compilers see by the shuffle.
    const int warp = __shfl_sync(0xffffffffu, static_cast<int>(warp_of_cta()), 0);
    if (warp >= Config::kWarps) {
      give_registers<Config::kCopyRegisters>();
      copy_tiles(params, shared, barriers);
    } else {
      take_registers<Config::kMultiplyRegisters>();
      multiply_tiles(params, shared, barriers, warp);
    }
  }

  /// The copying warps: K and V of the tiles that the walk visits, and a table's tiles.
  __device__ __forceinline__ void copy_tiles(const ForwardParams& params, unsigned char* shared,
                                             const Barriers& barriers) {
    const unsigned thread = thread_of_cta() - Config::kWarps * 32;
    const auto [b, h] = item.head(params);
    const int kv_head = Sequence::kv_head(params.call, h);
    const char* const k_base = Sequence::head_bytes<Element::kBytes>(params.k, params.k_strides, b, kv_head);
    const char* const v_base = Sequence::head_bytes<Element::kBytes>(params.v, params.v_strides, b, kv_head);
    const unsigned copy_to = barriers.smem + copy_offset(thread);
    const auto copy = [](int, unsigned to, const char* from, bool valid) { cp_async_16(to, from, valid); };
    typename Table::Rows rows;
    if constexpr (Reads::kElements)
      rows = Table::find_rows(params, item, this->find_head(params), this->first_row(params));
    if constexpr (Classes::kHasTileMap) await_pass_before();
    Walk walk{{item}};
    int stage = 0, parity = 1;
    bool is_first = true;
    const auto copy_all = [&] {
      WalkStep now = walk.first(params);
#pragma unroll 1
      while (now.exists()) {
        const int kv0 = now.tile() * kTileKv;
        wait(barriers.k_empty(stage), parity);
        KTile::template for_each_piece<kCopyingWarps * 32>(copy_to + kKOffset + stage * KTile::kBytes, k_base,
                                                           static_cast<int>(params.k_strides.row), kv0,
                                                           item.kv_len(params), copy, thread);
        if constexpr (Reads::kElements)
          copy_elements(params, rows, shared + Map::kReadsOffset, barriers, kv0, stage, parity, is_first);
        is_first = false;
        arrive_with_copies(barriers.k_full(stage));
        wait(barriers.v_empty(stage), parity);
        VTile::template for_each_piece<kCopyingWarps * 32>(copy_to + kVOffset + stage * VTile::kBytes, v_base,
                                                           static_cast<int>(params.v_strides.row), kv0,
                                                           item.kv_len(params), copy, thread);
        arrive_with_copies(barriers.v_full(stage));
        now = walk.after(params, now);
        parity ^= stage;
        stage ^= 1;
      }
    };
    if constexpr (kTrusts) {
      int visit = 0;
#pragma unroll 1
      do copy_all();
      while (barriers.is_told_to_repeat(visit++));
    } else {
      copy_all();
    }
    close_copies();
    await_copies<0>();  // a thread leaves after what it has started
  }

  /// A multiplying warp.
  __device__ __forceinline__ void multiply_tiles(const ForwardParams& params, unsigned char* shared,
                                                 const Barriers& barriers, int warp) {
    const unsigned smem = barriers.smem;
    const int lane = lane_of_warp();
    const int warpgroup = warp / 4;
    const unsigned q_rows = smem + warpgroup * 64 * 128;
    const int q0 = item.template q_tile<kHooksKeepQTile>(params, Config::kTileQ) * Config::kTileQ;
    const auto [b, h] = item.head(params);

    LaneStore base;
    if constexpr (Score::kIsLinear) Linear::keep(base, params, this->find_head(params));
    base.seal();
    const char* q = Sequence::head_bytes<Element::kBytes>(params.q, params.q_strides, b, h);
    Copy<QTile, Config::kWarps * 32> q_copy;
    q_copy.start(smem + copy_offset(), q, static_cast<int>(params.q_strides.row), q0, item.q_len(params));
    const typename Hooks::Head head = this->find_head(params);
    if constexpr (Classes::kHasTileMap) await_pass_before();
    Walk walk{{item}};
    unsigned char* const reads = shared + Map::kReadsOffset;
    close_copies();
    if constexpr (!Hooks::kRowIsCheap) this->find_rows(params, head);
    const float scale = Score::kIsRaw ? params.call.scale_log2 : 1.0f;
    int stage = 0, parity = 0;
    const auto visit_all = [&] {
      WalkStep now = walk.first(params);
      if constexpr (Reads::kColumns)
        Reads::store_columns(
            reads, Reads::find_columns(params, item, this->head_of_tile(params, head), now.tile() * kTileKv));
      this->start_rows();
      Place::for_each(s, [](float& x) { x = 0.0f; });
      await_copies<0>();
      show_to_products();
      sync_multiplying_warps<Config>();
      bool has_p = false;
#pragma unroll 1
      while (now.exists()) {
        const int kv0 = now.tile() * kTileKv;
        if constexpr (Reads::kColumns) {
          if (has_p) sync_multiplying_warps<Config>();
        }
        wait(barriers.k_full(stage), parity);
        this->element_buffer = stage;
        if constexpr (Scores::kBeginsWithAddend) this->begin_scores(params, head, kv0);
        if (has_p) wait(barriers.v_full(1 - stage), parity ^ 1 ^ stage);
        show_to_products();
        if (has_p || warpgroup > 0) await_turn(warpgroup);
        pin(s[0]);
        pin(o[0]);
        pin(p);
        begin_products();
        start_qk(q_rows, smem + kKOffset + stage * KTile::kBytes);
        close_products();
        if (has_p) {
          start_pv(smem + kVOffset + (1 - stage) * VTile::kBytes);
          close_products();
          pass_turn(warpgroup);
          await_products<1>();
        } else {
          pass_turn(warpgroup);
          await_products<0>();
        }
        pin(s[0]);
        if constexpr (!kReadsElementsLate) give_back_k(barriers, stage);
        if constexpr (Score::kIsLinear) Linear::count_from(kv0, base, params, softmax);
        const float slope = Score::kIsLinear ? Linear::slope(base) : 0.0f;
        const float shift = this->apply_hooks(params, head, now, slope);
        if constexpr (kReadsElementsLate) give_back_k(barriers, stage);
        const WalkStep then = walk.after(params, now);
        if constexpr (Reads::kColumns) {
          sync_multiplying_warps<Config>();  // hooks of this tile have read theirs
          Reads::store_columns(reads, Reads::find_columns(params, item, this->head_of_tile(params, head),
                                                          then.tile() * kTileKv));
        }
        float factor[2] = {1.0f, 1.0f};  // of O, whose product is on its way
        const auto keep = [&](int, int half, float x) { factor[half] = x; };
        const bool moves = References::settle(base, *this, softmax, scale, shift, keep);
        exponentiate(params, scale, shift, kv0);
        pin(s[0]);
        end_block(params.call.kv_len);  // or ptxas moves the wait up before the exponentials
        await_products<0>();
        pin(o[0]);
        if (moves) {
#pragma unroll
          for (int half = 0; half < 2; ++half) this->multiply_row(0, half, factor[half]);
        }
        pin(p);
        if (has_p && lane == 0) arrive(barriers.v_empty(1 - stage));
        pack_probabilities();
        has_p = true;
        now = then;
        parity ^= stage;
        stage ^= 1;
      }
      if (has_p) {
        wait(barriers.v_full(1 - stage), parity ^ 1 ^ stage);
        show_to_products();
        await_turn(warpgroup);
        pin(o[0]);
        pin(p);
        begin_products();
        start_pv(smem + kVOffset + (1 - stage) * VTile::kBytes);
        close_products();
        if (warpgroup < kWarpgroups - 1) pass_turn(warpgroup);
        await_products<0>();
        pin(o[0]);
        if (kTrusts && lane == 0) arrive(barriers.v_empty(1 - stage));
      }
    };
    if constexpr (kTrusts) {
      References::start(base);
      bool again;
#pragma unroll 1
      do {
        visit_all();
        again = References::have_to_repeat(base, *this, softmax);
        barriers.tell(again);
      } while (again);
    } else {
      visit_all();
    }
    if constexpr (Score::kIsLinear) Linear::add_rest(*this, base, params, head, softmax);
    if constexpr (Hooks::kHasRowAddend) this->add_row_addends(params, softmax);
    if constexpr (Hooks::kHasSink) {
      const auto [sink_b, sink_h] = item.head(params);
      this->add_sink(Hooks::sink(params.call, sink_b, sink_h));
    }
    this->template store<!kTrusts>(params, item, shared);
  }
};

}  // namespace fa
