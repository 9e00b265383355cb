// Masks that divide a sequence by a table, as plans are chosen by them.
#include "compiler/analysis/mask_segments.h"

#include "compiler/schedule/mask_tiles.h"
#include "compiler/schedule/plan.h"
#include "tests/catch.h"
#include "tests/compiler/analysis/mask_facts.h"
#include "tests/golden.h"

using namespace fa;
using fa::test::mask_facts;

namespace {

constexpr const char* kTables =
    "tensor ids : i32[batch, max(q_len, kv_len)]\ntensor others : i32[max(q_len, kv_len)]\n"
    "tensor pairs : i32[q_len, kv_len]\n";

bool keeps_segments_of(const std::string& mask_mod) {
  return mask_facts(kTables, mask_mod).mask_keeps_segments;
}

}  // namespace

TEST_CASE("a mask keeps segments where tables' numbers must be equal", "[analysis]") {
  for (const char* mask_mod : {
           "ids[b, q_idx] == ids[b, kv_idx]",
           "ids[b, kv_idx] == ids[b, q_idx] and q_idx >= kv_idx",
           "q_idx >= kv_idx and kv_idx % 2 == 0 and ids[b, q_idx] == others[kv_idx]",
           "others[q_idx] / 2 == others[kv_idx] / 2 and (q_idx >= kv_idx or kv_idx < 16)",
           "(ids[b, q_idx] == ids[b, kv_idx] and q_idx >= kv_idx) and h > 1",
       }) {
    INFO(mask_mod);
    CHECK(keeps_segments_of(mask_mod));
  }
  for (const char* mask_mod : {
           "q_idx >= kv_idx",
           "q_idx / 64 == kv_idx / 64",                           // no table
           "ids[b, q_idx] == ids[b, kv_idx] or q_idx >= kv_idx",  // other pairs are kept, too
           "ids[b, q_idx] != ids[b, kv_idx]", "ids[b, q_idx] >= ids[b, kv_idx]",
           "ids[b, q_idx] == kv_idx",    // one key
           "pairs[q_idx, kv_idx] == 3",  // of each pair
           "pairs[q_idx, kv_idx] == others[kv_idx]",
           "ids[b, q_idx] == 3 and ids[b, kv_idx] == 3",  // each for itself
       }) {
    INFO(mask_mod);
    CHECK_FALSE(keeps_segments_of(mask_mod));
  }
}

TEST_CASE("long chains of conditions are looked at once", "[analysis][long]") {
  std::string text = "attention a\nhead_dim 64\ndtype bf16\nlet x0 = q_idx > kv_idx\n";
  constexpr int kLong = 40;
  for (int i = 1; i < kLong; ++i) {
    const std::string before = "x" + std::to_string(i - 1);
    text += "let x" + std::to_string(i) + " = (" + before + " and q_idx != " + std::to_string(i) + ") and (" +
            before + " and kv_idx != " + std::to_string(i) + ")\n";
  }
  CHECK_FALSE(mask_facts(Spec::parse(text + "mask_mod = x39\n")).mask_keeps_segments);
}

TEST_CASE("of specs/ documents keep segments, and rows of them few tiles", "[analysis][schedule]") {
  for (const std::string& name : test::all_specs())
    CHECK(mask_facts(Spec::load(test::spec_path(name))).mask_keeps_segments == (name == "document"));

  const Facts facts = mask_facts(Spec::load(test::spec_path("document")));
  const auto share = [&](int tile_q, int tile_kv, int length) {
    ProblemSize size;
    size.q_len = size.kv_len = length;
    return share_of_tiles_kept(facts, {.tile_q = tile_q, .tile_kv = tile_kv}, size);
  };
  CHECK(share(128, 128, 512) == 1);
  CHECK(share(64, 64, 8192) < share(128, 128, 8192));
  CHECK(share(128, 128, 65536) * 65536 == share(128, 128, 8192) * 8192);
  CHECK(excess_at_edges(facts, {.tile_q = 128, .tile_kv = 128}) == 1);
}

TEST_CASE("a tile inside a block of segments has no edge in it", "[analysis][schedule]") {
  const Facts blocks = mask_facts(kTables, "others[q_idx / 64] == others[kv_idx / 64]");
  const auto share = [&](int tile_q, int tile_kv) {
    return share_of_tiles_kept(blocks, {.tile_q = tile_q, .tile_kv = tile_kv}, {});
  };
  CHECK(share(64, 64) == share(32, 16));
  CHECK(share(128, 64) > share(64, 64));
}
