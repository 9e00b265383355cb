// The numbers are fitted to the times of every legal plan of 14 problems on one core of a Xeon with AVX-512 and AMX: f32, f16 and
// bf16, d64 to d256, two of them kept to AVX2. Spearman's correlation with each problem's times was 0.70 to 0.97, but for BigBird
// 0.5, of which the model says no more than that tiles of the mask's blocks are the fastest. Fitted later, on other Xeons: what few
// sums cost FMAs, to three more problems, one of them kept to AVX2 (0.80, 0.79 and 0.79 before; 0.84, 0.78 and 0.92); AMX's
// products, since O is summed up in tiles, to three problems on two machines.
#include "compiler/schedule/host/host_cost.h"

#include <algorithm>
#include <cmath>

#include "compiler/schedule/host/host_blocking.h"
#include "compiler/schedule/mask_tiles.h"
#include "compiler/spec/rounding.h"

namespace fa {
namespace {

constexpr double kL1Bytes = 32 << 10;  // what tiles may take of 32 to 48 KiB

// Cycles:
constexpr double kSoftmax = 12;  // of a vector of scores
constexpr double kMask = 3;      // the mask of a vector of scores
constexpr double kAdd = 0.5;     // a vector of O's sums is read, scaled and written

// Of products by vectors:
constexpr int kFmaCycles = 4;            // until an FMA's sum may be added to again
constexpr double kIdle = 0.0625;         // lost by each FMA where all sums are always being added to
constexpr double kConvert = 0.29;        // a number of K or V is converted, or paired with its neighbour
constexpr double kReadFromBelow = 0.07;  // a q tile reads a number of K or V in place
constexpr double kMiss = 0.026;          // a byte comes from the L2 cache

// Of products by AMX:
constexpr double kTileProduct = 16;   // tiles of 16 x 32 and 32 x 16 numbers
constexpr double kWaits = 2.5;        // times as long, with the loads and stores of tiles
constexpr double kPack = 0.17;        // a number of K or V is brought into the order of tiles
constexpr double kMove = 0.5;         // a vector of O's sums is fetched, or left, as part of a tile
constexpr double kMoveFar = 1.8;      // the same, of sums that the L2 cache holds
constexpr double kBeginStep = 1.5;    // of a query: tiles are set up for a kv tile
constexpr double kMissOfScore = 0.1;  // a score, for each doubling of a panel's beyond half of the L1 cache

/// FMAs of whole vectors that a core does in a cycle. A Zen 4 does those of 512 bits in two halves.
double fmas_per_cycle(const HostCpu& cpu) { return cpu.name == "znver4" && cpu.lanes == 16 ? 1 : 2; }

/// Cycles of an FMA, where a micro-kernel keeps `rows` x `vectors` sums in registers. Units idle while they wait for a sum: the
/// more sums there are, the less.
double cycles_of_fma(double rows, double vectors, const HostCpu& cpu) {
  const double per_cycle = fmas_per_cycle(cpu);
  const double busy = kFmaCycles * per_cycle / (rows * vectors);  // share of the sums that are being added to
  return 1 / per_cycle + kIdle * busy * busy * busy;
}

void add_vectors(const Plan& plan, const CheckedSpec& spec, const HostCpu& cpu, const HostBlocking& blocking,
                 HostCost& cost) {
  const bool is_by_floats = blocking.product == HostProduct::floats;
  const double d = spec.head_dim, d_v = spec.head_dim_v, numbers = is_by_floats ? 1 : 2;
  const int vectors = ceil_div(spec.head_dim_v, blocking.lanes);
  const double of_call = static_cast<double>(vectors) / ceil_div(vectors, blocking.pv_vecs);
  cost.products = (d * cycles_of_fma(blocking.qk_rows, blocking.panel_vecs, cpu) +
                   d_v * cycles_of_fma(blocking.pv_rows, of_call, cpu)) /
                  (numbers * blocking.lanes);
  const bool copies_k = spec.dtype != DType::f32 && is_by_floats;
  const bool copies_v = spec.dtype != DType::f32 || spec.head_dim_v % blocking.lanes != 0;
  cost.copies = ((copies_k ? kConvert : kReadFromBelow) * d + (copies_v ? kConvert : kReadFromBelow) * d_v) /
                plan.tile_q;
  const double bytes = sizeof(float) / numbers;
  const double of_k = plan.tile_kv * d * bytes, of_q = blocking.panel * d * bytes;
  if (of_k > kL1Bytes || of_q > kL1Bytes) cost.misses = (d + d_v) * bytes * kMiss / blocking.panel;
}

void add_tiles(const Plan& plan, const CheckedSpec& spec, const HostBlocking& blocking, HostCost& cost) {
  constexpr double kNumbers = 16 * 16 * 32;  // products of a tile product
  const double d = spec.head_dim, d_v = spec.head_dim_v;
  cost.products = kWaits * kTileProduct * (d + d_v) / kNumbers;
  cost.copies = kPack * (d + d_v) / plan.tile_q;
  // Beside K, V and scores the L1 cache holds a panel's sums up to 64 columns.
  const double move = d_v * blocking.panel * sizeof(float) > kL1Bytes / 4 ? kMoveFar : kMove;
  cost.output = 2 * move * d_v / blocking.lanes / blocking.softmax_rows + kBeginStep / plan.tile_kv;
  // K and V come from the L2 cache as fast as they are multiplied; a panel's scores pass through the softmax in between.
  const double scores = blocking.softmax_rows * blocking.panel * sizeof(float);
  cost.misses = kMissOfScore * std::max(0.0, std::log2(scores / (kL1Bytes / 2)));
}

/// By how much more than the mask keeps a kernel computes where tiles straddle the mask's blocks. Elsewhere a panel computes with
/// the keys between the first and the last one that its rows keep, whatever its tile.
double excess_of_blocks(const Plan& plan, const Facts& facts) {
  const MaskBlocks& blocks = facts.mask_blocks;
  return blocks.queries > 1 && blocks.keys > 1 ? excess_at_edges(facts, plan) : 1;
}

constexpr int kLeastTile = 16;

/// Of the keys that a q tile needs, how many it copies: whole tiles. Its panels compute with those that they need.
double keys_copied(Plan plan, const TilesLeft& tiles_left) {
  const double copied = tiles_left(plan);
  if (copied <= 0) return 0;
  plan.tile_kv = kLeastTile;
  return copied / tiles_left(plan);
}

/// For how many keys the mask is evaluated, beside those that it keeps: all of the tiles at its edges, half of which it keeps.
double keys_masked(Plan plan, const TilesLeft& tiles_left) {
  const double visited = tiles_left(plan);
  if (visited <= 0) return 0;
  plan.tile_q = plan.tile_kv = kLeastTile;
  const double times = visited / tiles_left(plan);
  return std::min(times, 2 * (times - 1));
}

}  // namespace

HostCost predict_on_host(const Plan& plan, const CheckedSpec& spec, const Facts& facts, const HostCpu& cpu,
                         const TilesLeft& tiles_left) {
  const HostBlocking blocking = host_blocking(spec, plan, cpu, product_of(spec.dtype, cpu));
  HostCost cost;
  cost.softmax = kSoftmax / blocking.lanes;
  cost.output = 2 * kAdd * spec.head_dim_v / blocking.lanes / plan.tile_kv;
  if (blocking.product == HostProduct::tiles)
    add_tiles(plan, spec, blocking, cost);
  else
    add_vectors(plan, spec, cpu, blocking, cost);
  cost.copies *= keys_copied(plan, tiles_left);
  cost.mask = kMask / blocking.lanes * keys_masked(plan, tiles_left);
  const double padded = static_cast<double>(blocking.panels) * blocking.panel / plan.tile_q;
  cost.total =
      (padded * (cost.products + cost.softmax + cost.output + cost.mask + cost.misses) + cost.copies) *
      excess_of_blocks(plan, facts);
  return cost;
}

}  // namespace fa
