// What the host's model foretells: the order of plans by panels, by AMX's blocks, and by the mask's blocks.
#include "compiler/schedule/host/host_cost.h"

#include <algorithm>
#include <string>

#include "compiler/schedule/mask_tiles.h"
#include "compiler/schedule/plan.h"
#include "tests/catch.h"
#include "tests/compiler/schedule/plain_spec.h"

using namespace fa;

namespace {

HostCpu cpu(const char* name, const char* more = "") {
  return HostCpu::from_features("x86_64-pc-linux-gnu", name,
                                std::string("+avx2,+fma,+avx512f,+avx512bw,+avx512dq,+avx512vl") + more);
}

const HostCpu& with_amx() {
  static const HostCpu amx = cpu("sapphirerapids", ",+avx512bf16,+amx-tile,+amx-bf16");
  return amx;
}

double cycles(const CheckedSpec& spec, int tile_q, int tile_kv, const HostCpu& of = with_amx(),
              const Facts& facts = {}, const ProblemSize& size = {}) {
  const Plan plan = {.family = Family::host, .tile_q = tile_q, .tile_kv = tile_kv, .warps = 1};
  return predict_on_host(plan, spec, facts, of,
                         [&](const Plan& any) { return share_of_tiles_kept(facts, any, size); })
      .total;
}

Facts mask_of_blocks(int queries, int keys) {
  Facts facts = masked();
  facts.mask_blocks = {.queries = queries, .keys = keys};
  return facts;
}

}  // namespace

TEST_CASE("the host's model prefers panels of three vectors, then of two", "[schedule]") {
  const CheckedSpec f32 = plain_spec(64, 0, DType::f32);
  CHECK(cycles(f32, 96, 64) < cycles(f32, 128, 64));
  CHECK(cycles(f32, 128, 64) < cycles(f32, 16, 64));
  CHECK(cycles(f32, 96, 64) < cycles(f32, 96, 512));  // K does not fit the L1 cache
  CHECK(cycles(f32, 96, 64) < cycles(f32, 96, 32));   // sums of O are read and written twice as often
  // Where types are converted once for each q tile, tall tiles save more.
  const CheckedSpec f16 = plain_spec(64, 0, DType::f16);
  CHECK(cycles(f16, 48, 64) / cycles(f16, 192, 64) > cycles(f32, 48, 64) / cycles(f32, 192, 64));
}

TEST_CASE("the host's model knows whole blocks of AMX's tiles", "[schedule]") {
  const CheckedSpec bf16 = plain_spec(64, 0, DType::bf16);
  CHECK(cycles(bf16, 64, 64) < cycles(bf16, 48, 64));  // as many blocks for fewer rows
  CHECK(cycles(bf16, 192, 64) < cycles(bf16, 64, 64));
  CHECK(cycles(bf16, 128, 64) < cycles(plain_spec(64, 0, DType::f32), 128, 64) / 2);
  for (const int d : {64, 128}) {
    const CheckedSpec spec = plain_spec(d);
    CHECK(cycles(spec, 128, 128) < cycles(spec, 128, 32));  // sums of O are read and written more often
    CHECK(cycles(spec, 128, 256) < cycles(spec, 128, 128));
  }
  CHECK(cycles(plain_spec(128), 128, 256) <
        cycles(plain_spec(128), 128, 512));  // scores do not fit the L1 cache
  CHECK(cycles(plain_spec(64), 128, 256) >
        cycles(plain_spec(64), 128, 512));  // of which a softmax has 64 rows
}

TEST_CASE("a Zen 4 does half the FMAs of 512 bits", "[schedule]") {
  const CheckedSpec f32 = plain_spec(64, 0, DType::f32);
  const HostCpu zen4 = cpu("znver4"), intel = cpu("skylake-avx512");
  CHECK(cycles(f32, 96, 64, zen4) > 1.5 * cycles(f32, 96, 64, intel));
  // Its loads hide behind them: the panel matters less.
  CHECK(cycles(f32, 16, 64, zen4) / cycles(f32, 96, 64, zen4) <
        cycles(f32, 16, 64, intel) / cycles(f32, 96, 64, intel));
}

TEST_CASE("a q tile copies whole tiles of keys", "[schedule]") {
  Facts causal = masked();
  causal.mask_band = Band{.before = Band::kUnbounded, .after = 0};
  const ProblemSize small = {.q_len = 1024, .kv_len = 1024};
  const auto wide = [&](const Facts& facts) {
    return cycles(plain_spec(128), 128, 512, with_amx(), facts, small) /
           cycles(plain_spec(128), 128, 128, with_amx(), facts, small);
  };
  CHECK(wide(causal) > wide({}));
}

TEST_CASE("masks cost the host what tiles at their edges have", "[schedule]") {
  const Facts window = masked();
  const auto tall_beside_low = [&](double kept) {
    const auto total = [&](int tile_q) {
      const Plan plan = {.family = Family::host, .tile_q = tile_q, .tile_kv = 64, .warps = 1};
      return predict_on_host(
                 plan, plain_spec(64, 0, DType::f32), window, cpu("skylake-avx512"),
                 [&](const Plan& any) { return std::min(1.0, kept + (any.tile_q + any.tile_kv) / 4096.0); })
          .total;
    };
    return total(192) / total(48);
  };
  CHECK(tall_beside_low(0.02) > tall_beside_low(0.9));
  // A mask that leaves nothing is no division by zero.
  const Plan plan = {.family = Family::host, .tile_q = 96, .tile_kv = 64, .warps = 1};
  CHECK(predict_on_host(plan, plain_spec(64), window, with_amx(), [](const Plan&) { return 0.0; }).total > 0);
}

TEST_CASE("the host chooses tiles that lie in the mask's blocks", "[schedule]") {
  Target target = find_target("host");
  target.cpu = &with_amx();
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const CheckedSpec spec = plain_spec(64, 0, dtype);
    const Choice table = choose(spec, {}, target);
    const Choice of_blocks = choose(spec, mask_of_blocks(64, 64), target);
    CHECK(of_blocks.plan.tile_q == 64);
    CHECK(of_blocks.plan.tile_kv == 64);
    CHECK(of_blocks.why.find("the mask's blocks") != std::string::npos);
    // Blocks that no tile straddles, and masks whose blocks are not known, change nothing.
    CHECK(choose(spec, mask_of_blocks(1, 1), target).plan == table.plan);
    CHECK(rank_plans(spec, mask_of_blocks(64, 64), target).front().plan == of_blocks.plan);
  }
  CHECK(choose(plain_spec(64), mask_of_blocks(128, 256), target).plan ==
        choose(plain_spec(64), {}, target).plan);
  CHECK(choose(plain_spec(64), mask_of_blocks(128, 128), target).plan.tile_kv == 128);
}
