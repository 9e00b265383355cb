// The schedule of a backward pass on a GPU.
#include "compiler/schedule/backward/backward_plan.h"

#include "fa/error.h"
#include "tests/catch.h"
#include "tests/compiler/schedule/plain_spec.h"

using namespace fa;

TEST_CASE("plans of a backward pass fit their target", "[schedule][backward]") {
  for (const char* name : {"t4", "a100", "a10", "l4", "rtx4090", "h100", "h200"}) {
    const Target& target = find_target(name);
    for (int head_dim = 8; head_dim <= 256; head_dim += 8)
      for (const int head_dim_v : {head_dim, 8, 128, 256}) {
        const CheckedSpec spec =
            plain_spec(head_dim, head_dim_v, head_dim % 16 == 0 ? DType::f16 : DType::f32);
        // f32 rows of 256 columns are 1 KiB each: 16 of K, V, Q and dO alone fill a T4's shared memory.
        const bool is_wide = target.compute_capability == 75 && spec.dtype == DType::f32;
        if (is_wide && head_dim + head_dim_v > 256) continue;
        const BackwardPlan plan = choose_backward(spec, target);
        INFO(name << " d" << head_dim << " v" << head_dim_v << ": " << plan.print());
        CHECK(keys_shared_memory(plan, spec) <= target.max_smem_per_block);
        CHECK(queries_shared_memory(plan, spec) <= target.max_smem_per_block);
        CHECK(why_illegal(plan, spec, target) == "");
        const int sharing = plan.keys.column_warps * plan.keys.query_warps;
        CHECK(plan.keys.tile_kv / (plan.keys.warps / sharing) % 16 == 0);
        CHECK(plan.keys.tile_q / sharing / plan.keys.parts % 16 == 0);
        CHECK((!plan.delays_dq || plan.dq_by_sums));
        CHECK(plan.queries.warps * 16 == plan.queries.tile_q);
        if (plan.dq_by_sums) CHECK(plan.keys.tile_kv >= plan.keys.tile_q);
      }
  }
}

// With the largest tiles it held four, and a deterministic pass took up to 1.8 times as long.
TEST_CASE("an SM of a large GPU holds eight warps of the pass that sums dQ", "[schedule][backward]") {
  for (const char* name : {"a100", "h100"})
    for (const int head_dim : {64, 80, 128, 256}) {
      const Target& target = find_target(name);
      const CheckedSpec spec = plain_spec(head_dim, 0, DType::bf16);
      const BackwardPlan plan = choose_backward(spec, target, {.deterministic = true});
      const int bytes = queries_shared_memory(plan, spec) + target.reserved_smem_per_block;
      INFO(name << " d" << head_dim << ": " << plan.print());
      // An A100 has no room for more than four of 64 rows at d256.
      CHECK(target.max_smem_per_sm / bytes * plan.queries.warps >=
            (name == std::string("a100") && head_dim == 256 ? 4 : 8));
    }
}

TEST_CASE("a plan of a backward pass says all that it decides", "[schedule][backward]") {
  CHECK(choose_backward(plain_spec(64, 0, DType::bf16), find_target("a100")).print() ==
        "sm80 keys(tile_q=128 tile_kv=128 warps=8 column_warps=1 query_warps=2 parts=2 stages=2) "
        "queries(tile_q=64 tile_kv=128 warps=4 column_warps=1 query_warps=1 parts=1 stages=2) "
        "apart=0 dq_by_sums=1 delays_dq=1 deterministic=0");
  // Wide rows: warps share keys, so that dK and dV fit, but where they gather what is captured.
  const BackwardPlan wide = choose_backward(plain_spec(256, 0, DType::bf16), find_target("h100"));
  CHECK(wide.keys.column_warps == 4);
  CHECK_FALSE(wide.apart);
  CHECK(wide.dq_by_sums);
  const BackwardPlan captures =
      choose_backward(plain_spec(256, 0, DType::bf16), find_target("h100"), {.captures = true});
  CHECK(captures.keys.column_warps == 1);
  CHECK(captures.apart);
  CHECK_FALSE(captures.dq_by_sums);
  // Up to d128 both fit into one warp's registers.
  for (const char* name : {"t4", "a100"})
    CHECK_FALSE(choose_backward(plain_spec(128, 0, DType::f16), find_target(name), {.captures = true}).apart);
  CHECK_FALSE(choose_backward(plain_spec(64, 0, DType::f16), find_target("t4")).dq_by_sums);
  // Products of f32 cost so much that five are better than seven, even on smaller tiles; where dS has no room they are seven.
  CHECK(choose_backward(plain_spec(128, 0, DType::f32), find_target("a100")).dq_by_sums);
  CHECK_FALSE(choose_backward(plain_spec(152, 0, DType::f32), find_target("a10")).dq_by_sums);
  // Sums in memory have no order.
  const BackwardPlan repeats =
      choose_backward(plain_spec(64, 0, DType::f16), find_target("a100"), {.deterministic = true});
  CHECK(repeats.deterministic);
  CHECK_FALSE(repeats.dq_by_sums);
  // What goes to a query's element is summed where the queries stay.
  CHECK_FALSE(choose_backward(plain_spec(64, 0, DType::f16), find_target("a100"), {.rows = true}).dq_by_sums);
}

TEST_CASE("a mask that is mostly edge has tiles of fewer keys in the backward pass", "[schedule][backward]") {
  const auto keys_of = [](const MaskEdges& edges, int head_dim, const char* target) {
    return choose_backward(plain_spec(head_dim, 0, DType::bf16), find_target(target), {.edges = edges}).keys;
  };
  const MaskEdges blocks_of_64 = {.queries = 64, .keys = 64, .keys_of_range = 128};
  const MaskEdges blocks_of_128 = {.queries = 128, .keys = 128, .keys_of_range = 256};
  const MaskEdges narrow = {.keys_of_range = 128, .is_band = true},
                  wide = {.keys_of_range = 1024, .is_band = true};
  for (const char* target : {"h100", "a100"})
    for (const int head_dim : {64, 128}) {
      INFO(target << " " << head_dim);
      const bool has_room_for_two = head_dim == 64 || target == std::string_view("h100");
      if (has_room_for_two)
        for (const MaskEdges& edges : {blocks_of_64, narrow, MaskEdges{.keys_of_range = 250}}) {
          CHECK(keys_of(edges, head_dim, target).tile_kv == 64);
          CHECK(keys_of(edges, head_dim, target).warps == 4);
        }
      for (const MaskEdges& edges : {MaskEdges{}, blocks_of_128, wide, MaskEdges{.keys_of_range = 2000}})
        CHECK(keys_of(edges, head_dim, target) == keys_of({}, head_dim, target));
      CHECK(keys_of({}, head_dim, target).tile_kv == 128);
    }
  // Four warps alone leave half of an SM idle where a second CTA has no room.
  for (const char* target : {"a100", "rtx4090"}) {
    const TilePass keys = keys_of(blocks_of_64, 128, target);
    CHECK(keys.tile_kv == 64);
    CHECK(keys.warps == 8);
  }
}

TEST_CASE("a backward plan's text is read back, whole or in parts", "[schedule][backward]") {
  const CheckedSpec spec = plain_spec(128, 0, DType::bf16);
  const Target& target = find_target("h100");
  for (const int head_dim : {32, 64, 128, 256}) {
    const BackwardPlan plan = choose_backward(plain_spec(head_dim, 0, DType::bf16), target);
    CHECK(parse_backward_plan(plan.print(), {}) == plan);
  }
  const BackwardPlan chosen = choose_backward(spec, target);
  CHECK(choose_backward_forced(spec, target, {}, "") == chosen);
  BackwardPlan other = chosen;
  other.keys.stages = 1;
  other.keys.tile_q = 32;
  other.queries.tile_kv = 32;
  other.delays_dq = false;
  CHECK(choose_backward_forced(spec, target, {},
                               "keys(stages=1, tile_q=32) delays_dq=0 queries( tile_kv=32 )") == other);
}

TEST_CASE("a bad backward plan is an error that says what is wrong", "[schedule][backward]") {
  const auto why = [](std::string_view text, BackwardNeeds needs = {}) {
    try {
      choose_backward_forced(plain_spec(128, 0, DType::bf16), find_target("h100"), needs, text);
    } catch (const ArgumentError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::pair<const char*, const char*> cases[] = {
      {"keys(tile_q=64", "keys( has no ')'"},
      {"stages=1)", "a ')' ends nothing"},
      {"keys( queries(stages=1))", "queries( begins inside of keys("},
      {"keys(tile_x=64)",
       "keys has no field 'tile_x'; the fields are tile_q, tile_kv, warps, column_warps, "
       "query_warps, parts, stages"},
      {"stages=1",
       "'stages' is neither of apart, dq_by_sums, delays_dq, deterministic, nor inside keys(...)"},
      {"keys(stages=x)", "stages = 'x' is not a number"},
      {"junk", "'junk' is neither name=number nor a family of kernels"},
      {"delays_dq=2", "delays_dq = 2 is neither 0 nor 1"},
      {"sm90", "sm90: h100 runs the backward pass by sm80 kernels"},
      {"keys(tile_q=0)", "tile_q=0: it is a power of two from 16 to 128"},
      {"keys(tile_kv=24)", "tile_kv=24: it is a power of two from 16 to 256"},
      // Row stats and sums of dQ end at a multiple of 128 rows: such tiles would reach beyond them.
      {"keys(tile_q=48)", "tile_q=48: it is a power of two"},
      {"keys(tile_q=256 tile_kv=256)", "tile_q=256: it is a power of two from 16 to 128"},
      {"queries(tile_q=96 warps=6)", "queries: tile_q=96: it is a power of two"},
      // A warp's keys would begin in the middle of a call of Philox.
      {"keys(tile_kv=192 warps=8)", "tile_kv=192: it is a power of two"},
      {"queries(tile_kv=16)", "queries: tile_kv=16: it is a power of two from 32 to 256"},
      {"keys(warps=3)", "warps=3: it is a power of two up to 16"},
      {"keys(warps=32)", "warps=32: it is a power of two up to 16"},
      {"keys(warps=-1)", "warps=-1"},
      {"keys(stages=3)", "stages=3: sm80 kernels take 1 or 2"},
      {"keys(column_warps=3)", "each is 1, 2 or 4"},
      {"keys(query_warps=2)", "column_warps=2: query_warps and parts are then 1"},
      {"keys(tile_kv=32)", "tile_kv=32 warps=8: 2 warps share keys, and have a multiple of 16"},
      {"keys(tile_q=16)", "a warp works on 8 rows at a time"},
      {"keys(tile_kv=256)", "bytes of shared memory a CTA, h100 has 232448"},
      {"queries(warps=2)", "each warp has 16 rows"},
      {"queries(parts=2)", "queries: column_warps, query_warps and parts are 1"},
      {"dq_by_sums=0 delays_dq=1", "delays_dq=1: dq_by_sums is then 1"},
      {"deterministic=1", "ask for it as such"},
  };
  for (const auto& [text, said] : cases) {
    const std::string reason = why(text);
    INFO(text << ": " << reason);
    CHECK(reason.find(said) != std::string::npos);
  }
  CHECK(why("apart=1 dq_by_sums=0 delays_dq=0 keys(column_warps=2)").find("apart=1") == 0);
  CHECK(why("keys(query_warps=2)", {.captures = true}).find("captured") != std::string::npos);
  CHECK(why("dq_by_sums=1", {.deterministic = true}).find("its bits differ") != std::string::npos);
  CHECK(why("dq_by_sums=1", {.rows = true}).find("query rows are captured") != std::string::npos);
  BackwardPlan sums = choose_backward(plain_spec(64, 0, DType::f16), find_target("t4"));
  sums.dq_by_sums = true;
  CHECK(why_illegal(sums, plain_spec(64, 0, DType::f16), find_target("t4"), {}) ==
        "dq_by_sums=1: only sm80 kernels sum dQ so");
}

TEST_CASE("a backward pass that no tiles of a target can hold is an error with a remedy",
          "[schedule][backward]") {
  try {
    choose_backward(plain_spec(256, 0, DType::f32), find_target("t4"));
    FAIL("no error");
  } catch (const SpecError& error) {
    CHECK(error.diagnostics().at(0).message ==
          "the backward pass of head_dim 256 and head_dim_v 256 in f32 takes more shared memory than t4 has");
    CHECK(error.diagnostics().at(0).remedy ==
          "write `dtype f16` (facet: --dtype f16), or run it on the host");
  }
}
