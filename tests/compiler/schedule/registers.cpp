#include "compiler/schedule/plan.h"
#include "compiler/schedule/shape.h"
#include "tests/catch.h"
#include "tests/compiler/schedule/plain_spec.h"

using namespace fa;

namespace {

int registers(const CheckedSpec& spec, int tile_q, int tile_kv, int warps, bool q_in_registers = false) {
  return register_estimate(
      {.tile_q = tile_q, .tile_kv = tile_kv, .warps = warps, .q_in_registers = q_in_registers}, spec);
}

}  // namespace

TEST_CASE("the tiles FlashAttention-2 runs without spills fit the register file", "[schedule]") {
  CHECK(registers(plain_spec(64), 128, 128, 4) == 232);
  CHECK(registers(plain_spec(96), 128, 64, 4) == 200);
  CHECK(registers(plain_spec(128), 128, 64, 4) == 232);
  CHECK(registers(plain_spec(192), 128, 64, 8) == 160);
  CHECK(registers(plain_spec(256), 64, 64, 4) == 192);
  CHECK(registers(with_dropout(plain_spec(64)), 128, 64, 4) <= 255);
  CHECK(registers(with_dropout(plain_spec(128)), 128, 32, 4) <= 255);
  CHECK(registers(with_hooks(plain_spec(128)), 128, 64, 4) == 232 + 8 + 8);
}

TEST_CASE("the tiles it found to spill do not", "[schedule]") {
  CHECK(registers(plain_spec(64), 256, 64, 4) > 255);
  CHECK(registers(plain_spec(256), 128, 64, 4) > 255);
  CHECK(registers(with_dropout(plain_spec(64)), 128, 128, 4) > 255);
  CHECK(registers(with_dropout(plain_spec(128)), 128, 64, 4) > 255);
}

TEST_CASE("a Q kept in registers is paid for", "[schedule]") {
  CHECK(registers(plain_spec(128), 64, 64, 4, true) == registers(plain_spec(128), 64, 64, 4) + 7 * 4);
  CHECK(registers(plain_spec(128), 128, 64, 4, true) > 255);
}

TEST_CASE("a copy that runs through registers holds some", "[schedule]") {
  Plan plan{.family = Family::sm80, .tile_q = 128, .tile_kv = 64, .warps = 8};
  const CheckedSpec spec = plain_spec(128, 0, DType::f16);
  const int by_itself = register_estimate(plan, spec);
  plan.family = Family::sm75;
  CHECK(register_estimate(plan, spec) == by_itself + 4 * 4);  // 64 rows of 256 bytes, 256 threads of 16
  CHECK(register_estimate(plan, plain_spec(256, 0, DType::f16)) ==
        by_itself + (256 - 128) / 8 * 4 + 4 * 8);  // at most eight pieces
}

TEST_CASE("warps that copy and warps that multiply share the registers of an SM", "[schedule]") {
  const Target& h200 = find_target("h200");
  int plans = 0;
  for (const int head_dim : {32, 64, 96, 128, 192, 256})
    for (const Plan& plan : legal_plans(plain_spec(head_dim), h200)) {
      const int copying = traits_of(plan.family).copying_warps;
      if (copying == 0) continue;
      ++plans;
      const int copy = copy_registers(plan, h200), multiply = register_budget(plan, h200);
      CAPTURE(head_dim, plan.print(), copy, multiply);
      // The range and the step of setmaxnreg (PTX ISA), which may take none away from warps that are to have more.
      CHECK((copy >= 24 && copy <= launch_registers(plan, h200) && copy % 8 == 0));
      CHECK((multiply <= 256 && multiply % 8 == 0));
      CHECK(copy >= least_copy_registers(plan));
      CHECK(kWarpThreads * plan.min_ctas * (copying * copy + plan.warps * multiply) <= h200.registers_per_sm);
    }
  CHECK(plans > 50);
}
