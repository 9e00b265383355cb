#include "compiler/emit/cuda/passes/passes.h"

namespace fa {

namespace {

/// Whether a row keeps the more keys the later it is, as under a causal mask.
bool do_rows_grow(const Facts& facts) {
  return facts.mask_band && facts.mask_band->before == Band::kUnbounded &&
         facts.mask_band->after != Band::kUnbounded;
}

}  // namespace

OrderOfTiles order_of_q_tiles(const Facts& facts) {
  if (facts.global_tokens.see)
    return {.grid = Grid::first_q_tiles_first,
            .define = "#define FA_Q_TURNS_CROSS_ENTRIES\n#define FA_FIRST_Q_TILES_FIRST\n"};
  if (do_rows_grow(facts))
    return {.grid = Grid::last_q_tiles_first, .define = "#define FA_Q_TURNS_CROSS_ENTRIES\n"};
  if (facts.addend_reads_elements && !facts.addend.has(DependsOn::h))
    return {.grid = Grid::q_tiles_of_shared_table, .define = {}};
  return {.grid = Grid::q_tiles, .define = {}};
}

OrderOfTiles order_of_kv_tiles(const Facts& facts) {
  constexpr std::string_view kCrosses = "#define FA_KV_TURNS_CROSS_ENTRIES\n";
  // Of a tree, those near its root are listed by far more rows than others.
  const bool may_be_tree = facts.listed_keys.words != nullptr;
  if (facts.global_tokens.are_seen || may_be_tree)
    return {.grid = Grid::first_kv_tiles_first, .define = std::string(kCrosses)};
  if (do_rows_grow(facts)) return {.grid = Grid::longest_kv_tiles_first, .define = std::string(kCrosses)};
  return {.grid = Grid::kv_tiles, .define = {}};
}

}  // namespace fa
