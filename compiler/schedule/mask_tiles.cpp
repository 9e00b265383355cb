#include "compiler/schedule/mask_tiles.h"

#include <algorithm>

#include "compiler/spec/rounding.h"

namespace fa {
namespace {

constexpr std::int64_t kMostRows = 64;  // of tiles that are looked at: the others lie evenly between these

// How many keys a row keeps side by side, where that is not known: of specs/ at N8192, BigBird, tree and the 2-D
// neighbourhood 10 to 220. Documents and layouts, whose blocks tiles mostly do not straddle, lose little at edges.
constexpr double kKeysOfRange = 2000, kKeysOfRangeInSmallTiles = 250;
// Where rows list keys, most of these stand alone: of a tree of 8192 tokens 4.2% of the tiles of 64 x 32 are left, 2.3% of
// those of 32 x 16 and 1.9% of those of 16 x 16. That is as with 10 to 30 keys side by side; but small tiles cost more than the
// model says, and with 64 it takes those that are fastest, or within 10% of them (an H200, bf16 and f32, d64 to d256; sm_75's
// kernels in f16 at d256 keep tiles that take 1.22 times as long).
constexpr double kKeysOfRangeInLists = 64;
// The same of segments that a table tells: documents of 2,000 tokens that are causal inside.
constexpr double kKeysOfSegment = 1000;
// Of blocks, layouts keep one or a few side by side (BigBird, block routing).
constexpr double kBlocksOfRange = 2;

// A block that no tile leaves: the mask keeps or drops a key for all queries (padding).
constexpr int kAllQueries = std::numeric_limits<int>::max();

/// How many of a tile's rows or columns lie beyond the block of the mask that the first one is in.
int beyond_block(int tile, int block) {
  if (block == 1) return tile;
  if (block == kAllQueries || block % tile == 0) return 0;
  return tile % block == 0 ? tile - block : tile;
}

/// Shares of the tiles of a row of tiles.
struct TilesOfRow {
  double mean, most;
};

TilesOfRow count_tiles(const Band& band, const Plan& plan, const ProblemSize& size) {
  const std::int64_t rows = ceil_div(size.q_len, plan.tile_q);
  const std::int64_t columns = ceil_div(size.kv_len, plan.tile_kv);
  const std::int64_t samples = std::min(rows, kMostRows);
  std::int64_t visited = 0, most = 0;
  for (std::int64_t i = 0; i < samples; ++i) {
    const std::int64_t row = (2 * i + 1) * rows / (2 * samples);
    const std::int64_t first_q = row * plan.tile_q;
    const std::int64_t last_q = std::min<std::int64_t>(first_q + plan.tile_q, size.q_len) - 1;
    const std::int64_t first = std::max<std::int64_t>(0, first_q - band.before);
    const std::int64_t last = std::min<std::int64_t>(size.kv_len - 1, last_q + band.after);
    if (first > last) continue;
    const std::int64_t of_row = last / plan.tile_kv - first / plan.tile_kv + 1;
    visited += of_row;
    most = std::max(most, of_row);
  }
  const auto all = static_cast<double>(columns);
  return {.mean = static_cast<double>(visited) / (static_cast<double>(samples) * all),
          .most = static_cast<double>(most) / all};
}

}  // namespace

double share_of_tiles_kept(const Facts& facts, const Plan& plan, const ProblemSize& size) {
  if (size.q_len <= 0 || size.kv_len <= 0) return 1;
  if (facts.mask_keeps_segments) {
    const MaskBlocks& blocks = facts.mask_blocks;
    const int at_edges = beyond_block(plan.tile_q, blocks.queries) + beyond_block(plan.tile_kv, blocks.keys);
    return std::min(1.0, (kKeysOfSegment + at_edges) / size.kv_len);
  }
  return facts.mask_band ? count_tiles(*facts.mask_band, plan, size).mean : 1;
}

double most_tiles_kept(const Facts& facts, const Plan& plan, const ProblemSize& size) {
  const bool is_empty = size.q_len <= 0 || size.kv_len <= 0;
  return facts.mask_band && !is_empty ? count_tiles(*facts.mask_band, plan, size).most : 0;
}

bool wants_small_tiles(const Facts& facts) {
  if (facts.listed_keys.words != nullptr) return true;
  return facts.has_mask && !facts.mask_is_always_true && facts.element_ops + facts.column_ops / 2 > kLongHook;
}

double MaskEdges::excess(int tile_q, int tile_kv) const {
  return 1 + (beyond_block(tile_q, queries) + beyond_block(tile_kv, keys)) / keys_of_range +
         (tile_q + tile_kv) / keys_of_line;
}

MaskEdges edges_of(const Facts& facts) {
  MaskEdges edges;
  if (!facts.has_mask || facts.mask_is_always_true) return edges;
  if (facts.mask_band) {
    edges.is_band = true;
    if (const std::optional<int> width = facts.mask_band->width()) edges.keys_of_range = *width;
    return edges;
  }
  edges.keys_of_range = facts.listed_keys.words != nullptr ? kKeysOfRangeInLists
                        : wants_small_tiles(facts)         ? kKeysOfRangeInSmallTiles
                                                           : kKeysOfRange;
  const MaskBlocks& blocks = facts.mask_blocks;
  edges.queries = facts.mask_mod.has(DependsOn::q) ? blocks.queries : kAllQueries;
  edges.keys = blocks.keys;
  if (blocks.queries == 1 && blocks.keys == 1) return edges;
  if (blocks.queries > 1 && blocks.keys > 1)
    edges.keys_of_range = std::min(edges.keys_of_range, kBlocksOfRange * blocks.keys);
  if (blocks.has_line) edges.keys_of_line = kKeysOfRange;
  return edges;
}

double excess_at_edges(const Facts& facts, const Plan& plan) {
  return facts.mask_band || facts.mask_keeps_segments ? 1 : edges_of(facts).excess(plan.tile_q, plan.tile_kv);
}

}  // namespace fa
