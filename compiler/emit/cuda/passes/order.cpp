#include "compiler/emit/cuda/passes/passes.h"

namespace fa {

OrderOfTiles order_of_q_tiles(const Facts& facts) {
  if (!facts.global_tokens.see) return {.grid = Grid::q_tiles, .define = {}};
  return {.grid = Grid::first_q_tiles_first, .define = "#define FA_FIRST_Q_TILES_FIRST\n"};
}

OrderOfTiles order_of_kv_tiles(const Facts& facts) {
  if (!facts.global_tokens.are_seen) return {.grid = Grid::kv_tiles, .define = {}};
  return {.grid = Grid::first_kv_tiles_first, .define = "#define FA_FIRST_KV_TILES_FIRST\n"};
}

}  // namespace fa
