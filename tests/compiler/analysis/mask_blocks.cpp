// Which blocks a mask asks for, as plans are chosen by them.
#include "compiler/analysis/mask_blocks.h"

#include <fmt/format.h>

#include "compiler/schedule/mask_tiles.h"
#include "compiler/schedule/plan.h"
#include "tests/catch.h"
#include "tests/compiler/analysis/mask_facts.h"
#include "tests/golden.h"

using namespace fa;
using fa::test::mask_facts;

namespace {

constexpr const char* kLayoutAndIds =
    "param size : i32 = 64\ntensor layout : bool[ceil_div(q_len, 64), ceil_div(kv_len, 128)]\n"
    "tensor ids : i32[kv_len]\n";

double excess(const Facts& facts, int tile_q, int tile_kv) {
  return excess_at_edges(facts, {.tile_q = tile_q, .tile_kv = tile_kv});
}

}  // namespace

TEST_CASE("the blocks of a mask are what it divides the indices by", "[analysis]") {
  struct Case {
    const char* mask_mod;
    MaskBlocks blocks;
  };
  for (
      const auto& [mask_mod, blocks] : {
          Case{"layout[q_idx / 64, kv_idx / 128]", {64, 128, false}},
          Case{"q_idx / 64 == kv_idx / 64 or (q_idx / 96 + kv_idx / 128) % 3 == 0", {32, 64, false}},
          Case{"layout[q_idx / 64, kv_idx / 128] and q_idx >= kv_idx", {64, 128, true}},
          Case{"layout[q_idx / 64, kv_idx / 128] and q_idx + (kv_len - q_len) >= kv_idx", {64, 128, true}},
          // Global tokens: whole blocks, a part of one.
          Case{"layout[q_idx / 64, kv_idx / 128] or q_idx < 64 or kv_idx <= 255", {64, 128, false}},
          Case{"layout[q_idx / 64, kv_idx / 128] or kv_idx < 4", {64, 128, true}},
          // Bits in which the indices differ.
          Case{"(q_idx ^ kv_idx) < 32", {32, 32, false}},
          Case{"(q_idx ^ kv_idx) < 96", {32, 32, false}},
          // One side alone; neither: by a number that is not known, by a token's own value, by its place in a block.
          Case{"q_idx / 64 == ids[kv_idx]", {64, 1, false}},
          Case{"q_idx / size == kv_idx / size", {1, 1, false}},
          Case{"q_idx % 64 == kv_idx % 64", {1, 1, false}},
          Case{"q_idx / 64 == kv_idx / 64 and q_idx % 2 == kv_idx % 2", {1, 1, false}},
          Case{"(q_idx + 1) / 64 == kv_idx / 64", {1, 64, false}},
      }) {
    INFO(mask_mod);
    const MaskBlocks found = mask_facts(kLayoutAndIds, mask_mod).mask_blocks;
    CHECK(found.queries == blocks.queries);
    CHECK(found.keys == blocks.keys);
    CHECK(found.has_line == blocks.has_line);
  }
}

TEST_CASE("a long chain of sums of an index is looked at once", "[analysis][long]") {
  std::string text = "attention a\nhead_dim 64\ndtype bf16\nlet x0 = q_idx + kv_idx\n";
  constexpr int kLong = 40;
  for (int i = 1; i < kLong; ++i)
    text += fmt::format("let x{} = min(x{} + kv_idx, x{} + q_len)\n", i, i - 1, i - 1);
  const MaskBlocks blocks =
      mask_facts(Spec::parse(text + fmt::format("mask_mod = x{} > 5\n", kLong - 1))).mask_blocks;
  CHECK(blocks.queries == 1);
  CHECK(blocks.has_line);
}

TEST_CASE("the shipped layouts' blocks are found, and no others", "[analysis]") {
  const auto check = [](const char* name, int size) {
    INFO(name);
    const MaskBlocks blocks = mask_facts(Spec::load(test::spec_path(name))).mask_blocks;
    CHECK(blocks.queries == size);
    CHECK(blocks.keys == size);
  };
  check("bigbird", 64);
  check("block_sparse", 128);
  check("butterfly", 128);
  check("causal", 1);
  check("document", 1);
  check("neighbourhood_2d", 1);
  check("tree", 1);
}

TEST_CASE("a tile inside a block of the mask has no edge in it", "[analysis][schedule]") {
  const Facts by_blocks = mask_facts(kLayoutAndIds, "layout[q_idx / 64, kv_idx / 128]");
  CHECK(excess(by_blocks, 64, 128) == 1);
  CHECK(excess(by_blocks, 64, 32) == 1);
  CHECK(excess(by_blocks, 128, 128) > 1);
  CHECK(excess(by_blocks, 64, 256) > 1);
  CHECK(excess(by_blocks, 64, 48) > 1);  // it straddles blocks

  const Facts with_line = mask_facts(kLayoutAndIds, "layout[q_idx / 64, kv_idx / 128] and q_idx >= kv_idx");
  CHECK(excess(with_line, 64, 128) > excess(with_line, 64, 64));
  const Facts by_token = mask_facts(kLayoutAndIds, "ids[q_idx] <= ids[kv_idx]");
  CHECK(excess(by_token, 64, 128) > excess(by_token, 64, 64));
}
