// tools/reference/half.h: every 16-bit pattern, and the roundings that are easy to get wrong.
#include "tools/reference/half.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include "tests/catch.h"

using namespace fa::tools;

TEST_CASE("every f16 widens and narrows back to itself") {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = f16_to_float(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) {
      CHECK(std::isnan(f16_to_float(float_to_f16(value))));
    } else if (float_to_f16(value) != bits) {
      FAIL("f16 pattern " << bits << " comes back as " << float_to_f16(value));
    }
  }
}

TEST_CASE("every bf16 widens and narrows back to itself") {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = bf16_to_float(static_cast<std::uint16_t>(bits));
    if (std::isnan(value)) {
      CHECK(std::isnan(bf16_to_float(float_to_bf16(value))));
    } else if (float_to_bf16(value) != bits) {
      FAIL("bf16 pattern " << bits << " comes back as " << float_to_bf16(value));
    }
  }
}

TEST_CASE("f16 rounds to nearest even") {
  CHECK(float_to_f16(1.0F) == 0x3c00);
  CHECK(float_to_f16(1.0F + 0x1p-11F) == 0x3c00);             // a tie, down to even
  CHECK(float_to_f16(1.0F + 3 * 0x1p-11F) == 0x3c02);         // a tie, up to even
  CHECK(float_to_f16(1.0F + 0x1p-11F + 0x1p-20F) == 0x3c01);  // just past a tie
  CHECK(float_to_f16(65504.0F) == 0x7bff);
  CHECK(float_to_f16(65519.9F) == 0x7bff);
  CHECK(float_to_f16(65520.0F) == 0x7c00);
  CHECK(float_to_f16(-65520.0F) == 0xfc00);
  CHECK(float_to_f16(0x1p-24F) == 0x0001);
  CHECK(float_to_f16(0x1p-25F) == 0x0000);  // a tie with zero
  CHECK(float_to_f16(0x1.8p-25F) == 0x0001);
  CHECK(float_to_f16(0x1.ff8p-15F) == 0x03ff);
  CHECK(float_to_f16(0x1.ffcp-15F) == 0x0400);  // a tie, up to even and into the normal numbers
  CHECK(float_to_f16(-0.0F) == 0x8000);
}

TEST_CASE("bf16 rounds to nearest even") {
  CHECK(float_to_bf16(1.0F) == 0x3f80);
  CHECK(float_to_bf16(1.0F + 0x1p-8F) == 0x3f80);
  CHECK(float_to_bf16(1.0F + 3 * 0x1p-8F) == 0x3f82);
  CHECK(float_to_bf16(std::numeric_limits<float>::max()) == 0x7f80);
  CHECK(float_to_bf16(std::numeric_limits<float>::infinity()) == 0x7f80);
  CHECK(std::isnan(bf16_to_float(float_to_bf16(std::numeric_limits<float>::quiet_NaN()))));
}
