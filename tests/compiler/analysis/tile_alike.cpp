// What the analysis claims about lines of a block: that summaries see a line through its block alone.
// (tests/generated checks the claim at every line of made-up specs.)
#include "compiler/analysis/tiles/alike.h"

#include <fmt/format.h>

#include "compiler/compile.h"
#include "compiler/spec/spec.h"
#include "compiler/target/target.h"
#include "tests/catch.h"

using namespace fa;

namespace {

TileMap map_of(const std::string& mask_mod) {
  const Spec spec =
      Spec::parse(fmt::format("attention probe\ntensor ids : i32[max(q_len, kv_len)]\n"
                              "tensor kinds : i32[40]\ntensor layout : bool[128, 128]\nmask_mod = {}\n",
                              mask_mod));
  const Compiled compiled = compile_front_end(spec.checked(), find_target("a100"));
  REQUIRE(compiled.classes.map.has_value());
  return *compiled.classes.map;
}

}  // namespace

TEST_CASE("summaries of what only blocks decide are the same all over a block", "[analysis]") {
  const TileMap map = map_of("layout[q_idx / 64, kv_idx / 128] and ids[q_idx / 64] != ids[kv_idx / 128]");
  CHECK(map.row_block == 64);
  CHECK(map.column_block == 128);
  CHECK(map.by_blocks == (TileMap::kRowsAlike | TileMap::kColumnsAlike));
}

TEST_CASE("summaries of single rows or columns are no blocks'", "[analysis]") {
  for (const char* mask_mod : {
           "layout[q_idx / 64, kv_idx / 64] and ids[q_idx] == 3 and ids[kv_idx] == 3",
           // Clamping cuts a block in two.
           "kinds[min(q_idx, 39)] == kinds[min(kv_idx, 39)]",
           "kinds[min(q_idx + 3, 39) / 8] == kinds[(kv_idx + 1) / 8 % 40]",
       }) {
    INFO(mask_mod);
    CHECK(map_of(mask_mod).by_blocks == 0);
  }
}
