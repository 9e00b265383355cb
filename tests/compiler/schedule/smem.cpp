#include "compiler/schedule/plan.h"
#include "tests/catch.h"
#include "tests/compiler/schedule/plain_spec.h"

using namespace fa;

namespace {

int bytes(const CheckedSpec& spec, int tile_q, int tile_kv, int stages = 1, bool q_in_registers = false) {
  return shared_memory_bytes(
      {.tile_q = tile_q, .tile_kv = tile_kv, .warps = 4, .stages = stages, .q_in_registers = q_in_registers},
      spec);
}

}  // namespace

TEST_CASE("shared memory is Q, then K and V for each stage", "[schedule]") {
  CHECK(bytes(plain_spec(64), 128, 128) == 48 * 1024);
  CHECK(bytes(plain_spec(128), 128, 64) == 64 * 1024);
  CHECK(bytes(plain_spec(128), 128, 64, 2) == 96 * 1024 + 5 * 8);  // and barriers
  CHECK(bytes(plain_spec(256), 64, 64) == 96 * 1024);
  CHECK(bytes(plain_spec(256), 128, 64) == 128 * 1024);
}

TEST_CASE("head dims take whole pages of 64 columns", "[schedule]") {
  CHECK(bytes(plain_spec(16), 64, 64) == bytes(plain_spec(64), 64, 64));
  CHECK(bytes(plain_spec(72), 64, 64) == bytes(plain_spec(128), 64, 64));
  CHECK(bytes(plain_spec(192), 64, 64) == 72 * 1024);
  CHECK(bytes(plain_spec(192, 128), 64, 64) == (24 + 24 + 16) * 1024);
}

TEST_CASE("a Q kept in registers shares its room", "[schedule]") {
  CHECK(bytes(plain_spec(128), 128, 64, 1, true) == 32 * 1024);
  CHECK(bytes(plain_spec(128), 64, 64, 1, true) == 32 * 1024);   // K and V are larger
  CHECK(bytes(plain_spec(128), 128, 16, 1, true) == 32 * 1024);  // Q is
}

TEST_CASE("the output is staged through the whole buffer, which must hold it", "[schedule]") {
  CHECK(bytes(plain_spec(16, 256), 128, 16) == 64 * 1024);
  CHECK(bytes(plain_spec(256, 16), 128, 16) == 64 * 1024 + 16 * 512 + 16 * 128);
}

TEST_CASE("f32 takes twice the room, and its output none", "[schedule]") {
  CHECK(bytes(plain_spec(64, 0, DType::f32), 128, 64) == 64 * 1024);
  CHECK(bytes(plain_spec(40, 0, DType::f32), 64, 64) == bytes(plain_spec(64, 0, DType::f32), 64, 64));
  CHECK(bytes(plain_spec(32, 0, DType::f32), 64, 64) == 24 * 1024);
  CHECK(bytes(plain_spec(16, 256, DType::f32), 128, 16) == (128 + 16) * 128 + 16 * 1024);
}

TEST_CASE("the host asks for no shared memory", "[schedule]") {
  const Plan plan{.family = Family::host, .tile_q = 64, .tile_kv = 128, .warps = 1};
  CHECK(shared_memory_bytes(plan, plain_spec(64, 0, DType::f32)) == 0);
  CHECK(register_estimate(plan, plain_spec(64)) == 0);
}
