#include "compiler/schedule/traffic.h"

#include <algorithm>
#include <cmath>

#include "tests/catch.h"
#include "tests/compiler/schedule/plain_spec.h"

using namespace fa;

namespace {

const Plan kFusedPlan{.family = Family::sm80, .tile_q = 128, .tile_kv = 64, .warps = 4, .min_ctas = 2};
constexpr ProblemSize kSmall{.batch = 2, .num_q_heads = 4, .num_kv_heads = 2, .q_len = 100, .kv_len = 300};

Traffic count(const CheckedSpec& spec, const ProblemSize& size, std::string_view target = "h200",
              const Facts& facts = {}) {
  return count_traffic(spec, facts, kFusedPlan, find_target(target), size);
}

}  // namespace

TEST_CASE("operations are counted on every pair", "[schedule]") {
  const Traffic traffic = count(plain_spec(64, 32), kSmall);
  CHECK(traffic.exps == 2 * 4 * 100 * 300);
  CHECK(traffic.flops == 2.0 * 2 * 4 * 100 * 300 * (64 + 32));
}

TEST_CASE("the fused kernel loads Q once and K and V once for each row of tiles", "[schedule]") {
  // As the kernel does it, element by element: rows past the end are not read.
  double bytes = 0;
  for (int head = 0; head < 2 * 4; ++head) {
    for (int q0 = 0; q0 < kSmall.q_len; q0 += kFusedPlan.tile_q) {
      const int rows = std::min(kFusedPlan.tile_q, kSmall.q_len - q0);
      bytes += rows * 64 * 2 + rows * 32 * 2 + rows * 4;  // q, o, lse
      for (int kv0 = 0; kv0 < kSmall.kv_len; kv0 += kFusedPlan.tile_kv) {
        bytes += std::min(kFusedPlan.tile_kv, kSmall.kv_len - kv0) * (64 + 32) * 2;
      }
    }
  }
  CHECK(count(plain_spec(64, 32), kSmall).fused_bytes == bytes);

  ProblemSize tall = kSmall;
  tall.q_len = 1000;  // eight rows of tiles, the last one ragged
  const double q_o_lse = 8.0 * 1000 * ((64 + 32) * 2 + 4);
  CHECK(count(plain_spec(64, 32), tall).fused_bytes == q_o_lse + 8.0 * 8 * 300 * (64 + 32) * 2);
}

TEST_CASE("unfused attention moves a matrix for every step", "[schedule]") {
  const double tensors = 8.0 * 100 * (64 + 64) * 2 + 4.0 * 300 * (64 + 64) * 2;
  const double matrix = 8.0 * 100 * 300 * 2;
  CHECK(count(plain_spec(64), kSmall).standard_bytes == tensors + 4 * matrix);
  Facts facts;
  facts.has_mask = true;
  facts.score_form = ScoreForm::affine;
  CHECK(count(plain_spec(64), kSmall, "h200", facts).standard_bytes == tensors + 8 * matrix);
  CHECK(count(with_dropout(plain_spec(64)), kSmall, "h200", facts).standard_bytes == tensors + 10 * matrix);
  facts.mask_is_always_true = true;
  CHECK(count(plain_spec(64), kSmall, "h200", facts).standard_bytes == tensors + 6 * matrix);
}

TEST_CASE("the paper's formulas are its formulas", "[schedule]") {
  const ProblemSize square{.batch = 1, .num_q_heads = 1, .num_kv_heads = 1, .q_len = 1024, .kv_len = 1024};
  const Traffic traffic = count(plain_spec(64), square, "a100");
  CHECK(traffic.standard_bytes_by_formula == (1024.0 * 64 + 1024.0 * 1024) * 2);
  const double m = 166912.0 / 2;
  CHECK(std::abs(traffic.fused_bytes_by_formula / (1024.0 * 1024 * 64 * 64 / m * 2) - 1) < 1e-12);
}

TEST_CASE("K and V are read from memory once where CTAs run together or the L2 holds them", "[schedule]") {
  const ProblemSize usual;
  const Traffic traffic = count(plain_spec(128), usual);
  CHECK(traffic.hbm_bytes == traffic.least_bytes);
  CHECK(traffic.fused_bytes > 20 * traffic.hbm_bytes);
  // 300 MB of K and V for one head, and more CTAs than run together: 2^20 / 128 = 8192 CTAs of 264 at a time.
  const ProblemSize long_one{
      .batch = 1, .num_q_heads = 1, .num_kv_heads = 1, .q_len = 1 << 20, .kv_len = 1 << 20};
  const Traffic longer = count(plain_spec(128), long_one);
  const double kv = static_cast<double>(1 << 20) * 256 * 2;
  CHECK(longer.hbm_bytes == longer.least_bytes + 31 * kv);
  CHECK(longer.hbm_bytes <= longer.fused_bytes);
}

TEST_CASE("the bound is the limit that takes longest", "[schedule]") {
  CHECK(count(plain_spec(128), {}).bound == Bound::tensor);
  CHECK(count(plain_spec(16), {}).bound == Bound::exp2);
  // One query row a head: decoding only reads the cache.
  const ProblemSize decode{.batch = 64, .num_q_heads = 8, .num_kv_heads = 8, .q_len = 1, .kv_len = 8192};
  const Traffic traffic = count(plain_spec(128), decode);
  CHECK(traffic.bound == Bound::memory);
  CHECK(traffic.memory_ms > traffic.tensor_ms);
  CHECK(std::abs(traffic.memory_ms / (traffic.hbm_bytes / 4.8e12 * 1e3) - 1) < 1e-12);
}

TEST_CASE("captured tensors count once on every side", "[schedule]") {
  ProblemSize size = kSmall;
  const Traffic without = count(plain_spec(64), size);
  size.captured_bytes = 1000;
  const Traffic with = count(plain_spec(64), size);
  CHECK(with.standard_bytes == without.standard_bytes + 1000);
  CHECK(with.fused_bytes == without.fused_bytes + 1000);
  CHECK(with.hbm_bytes == without.hbm_bytes + 1000);
  CHECK(with.least_bytes == without.least_bytes + 1000);
}

TEST_CASE("empty problems and the host are counted too", "[schedule]") {
  const ProblemSize empty{.batch = 0, .num_q_heads = 4, .num_kv_heads = 4, .q_len = 0, .kv_len = 0};
  const Traffic traffic = count(plain_spec(64), empty);
  CHECK(traffic.flops == 0);
  CHECK(traffic.hbm_bytes == 0);
  CHECK(traffic.memory_ms == 0);
  const Traffic host = count(plain_spec(64), kSmall, "host");
  CHECK(host.tensor_ms == 0);
  CHECK(host.fused_bytes_by_formula == 0);
  CHECK(host.hbm_bytes == host.least_bytes);
}

TEST_CASE("traffic prints itself", "[schedule]") {
  const ProblemSize size{.batch = 2, .num_q_heads = 16, .num_kv_heads = 16, .q_len = 8192, .kv_len = 8192};
  CHECK(count(plain_spec(128), size).print() ==
        "flops: 1.1e+12\n"
        "exp2: 2.147e+09\n"
        "standard attention: 1.745e+10 bytes (4.362e+09 by the formula N d + N^2)\n"
        "fused kernel: 8.725e+09 bytes loaded and stored (6.055e+08 by the formula N^2 d^2 / M)\n"
        "of these from memory: 2.695e+08 bytes (at least 2.695e+08)\n"
        "bound: tensor (tensor 1.793 ms, exp2 0.5556 ms, memory 0.05614 ms)\n");
  const std::string host = count(plain_spec(128), size, "host").print();
  CHECK(host.find("bound") == std::string::npos);
  CHECK(host.find("formula N^2 d^2 / M") == std::string::npos);
}

TEST_CASE("baselines move S and P, or each row's sums, as often as their passes do", "[schedule]") {
  const auto moved = [](Plan plan, const CheckedSpec& spec) {
    return count_traffic(spec, {}, plan, find_target("h200"), kSmall).baseline_bytes;
  };
  CHECK(moved(kFusedPlan, plain_spec(64)) == 0);

  Plan standard = kFusedPlan;
  standard.loop_order = LoopOrder::standard;
  double bytes = 0;
  for (int row = 0; row < 2 * 4 * kSmall.q_len; ++row) {
    bytes += 64 * 2 + 64 * 2 + 4;  // q, o, lse
    for (int kv0 = 0; kv0 < kSmall.kv_len; kv0 += standard.tile_kv) {
      bytes += 2 * standard.tile_kv + 4;  // scores: S and its tile's maximum are written
      bytes += 2 * standard.tile_kv + 4 + 2 * standard.tile_kv;  // softmax: they are read, P is written
      bytes += 2 * standard.tile_kv;                             // outputs
    }
    bytes += 8 + 8;  // the row's maximum and sum, written and read
  }
  bytes += 2.0 * 2 * kSmall.kv_len * (64 + 64) * 2;  // k and v of the kv heads
  CHECK(moved(standard, plain_spec(64)) == bytes);

  Plan kv_outer = kFusedPlan;
  kv_outer.loop_order = LoopOrder::kv_outer;
  bytes = 0;
  for (int row = 0; row < 2 * 4 * kSmall.q_len; ++row) {
    for (int kv0 = 0; kv0 < kSmall.kv_len; kv0 += kv_outer.tile_kv) {
      bytes += 64 * 2;                   // q
      if (kv0 > 0) bytes += 48 * 4 + 8;  // the sums of O, of whole products, and m and l
      bytes += 48 * 4 + 8;               // which are written
    }
    bytes += 48 * 4 + 8 + 40 * 2 + 4;  // read once more; o, lse
  }
  bytes += 2.0 * 4 * kSmall.kv_len * (64 + 40) * 2;  // k and v, read by each q head
  CHECK(moved(kv_outer, plain_spec(64, 40)) == bytes);
}

TEST_CASE("baselines on the host move S and P in f32, and sums as wide as its vectors", "[schedule]") {
  HostCpu cpu;
  cpu.lanes = 16;
  Target host = find_target("host");
  host.cpu = &cpu;
  Plan plan{
      .family = Family::host, .loop_order = LoopOrder::standard, .tile_q = 96, .tile_kv = 64, .warps = 1};
  const auto moved = [&] { return count_traffic(plain_spec(64, 40), {}, plan, host, kSmall).baseline_bytes; };
  const double rows = 2 * 4 * kSmall.q_len, columns = 320;     // kv_len up to whole tiles
  const double once = 64 * 2 + 40 * 2 + 4;                     // q, o, lse
  const double k_and_v = 2.0 * kSmall.kv_len * (64 + 40) * 2;  // of a head of each batch entry
  CHECK(moved() == rows * (once + 4 * columns * 4 + 8 + 8) + 2 * k_and_v);
  plan.loop_order = LoopOrder::kv_outer;
  const auto of_sums = [&](int width) {
    return rows * (once + 4 * 64 * 2 + (2 * 5 - 1 + 1) * (width * 4 + 8)) + 4 * k_and_v;
  };
  CHECK(moved() == of_sums(48));
  cpu.amx = true;
  CHECK(moved() == of_sums(64));
}
