// Compares values that the analysis takes to depend on q_idx - kv_idx alone with the hooks themselves.
#include "compiler/analysis/relative.h"

#include "tests/catch.h"
#include "tests/compiler/analysis/addend.h"

using fa::test::Addend;
using fa::test::kKvLen;
using fa::test::kQLen;
using fa::test::spec_of;

TEST_CASE("a relative addend is what its distance gives", "[analysis]") {
  for (const char* score_mod : {
           "score + table[h, clamp(kv_idx - q_idx, -128, 128) + 128]",
           "score - 0.5 * abs(q_idx - kv_idx)",
           "score + log(1.0 + max(q_idx + (kv_len - q_len) - kv_idx, 0))",
           "score + where(q_idx - clamp(reach, 0, 99) >= kv_idx, 1.0, table[h, 3])",
           "score + where(q_idx == kv_idx + 9, 1.0, 2.0)",
           "score + where((q_idx - kv_idx) % 4 == 0, 1.0, 2.0)",
           "score + where((q_idx + (kv_len - q_len) - kv_idx) % reach == 0, 1.0, 2.0)",
           "score + f32((q_idx - kv_idx) / 3) * tanh(f32(q_idx) - f32(kv_idx))",
       }) {
    INFO(score_mod);
    const Addend addend(spec_of(score_mod, "q_idx >= kv_idx"));
    CHECK(addend.facts().addend_is_relative);
    CHECK(addend.facts().mask_is_relative);
    for (int q_idx = 0; q_idx < kQLen; q_idx += 7)
      for (int kv_idx = 0; kv_idx < kKvLen; kv_idx += 3)
        CHECK(addend(q_idx, kv_idx) == addend(q_idx - kv_idx, 0));
  }
}

TEST_CASE("what depends on more than the distance is not relative", "[analysis]") {
  for (const char* score_mod : {
           "score + f32(2 * q_idx - kv_idx)", "score + f32(q_idx + kv_idx)",
           "score + f32(q_idx / 2 - kv_idx / 2)", "score + f32(max(q_idx, kv_idx))",
           "score + f32(q_idx) * 0.1 - f32(kv_idx) * 0.1", "score + where(q_idx >= 2 * kv_idx, 1.0, 2.0)",
           "score + where(q_idx % 4 == kv_idx % 3, 1.0, 2.0)",
           "score + where(q_idx % 4 == 2 * kv_idx % 4, 1.0, 2.0)",
           "score + where(q_idx % 4 >= kv_idx % 4, 1.0, 2.0)", "score + f32(q_idx ^ kv_idx)",
           "score + where(ids[q_idx] == ids[kv_idx], 1.0, 2.0)",
           "score + where(q_idx - kv_idx >= reach, f32(q_idx), 2.0)",
           "score + table[h, clamp(q_idx - kv_idx, 0, 100)] * f32(kv_idx)", "score + table[h, 0]",
           "score + where(q_idx - reach >= kv_idx, 1.0, 2.0)",  // may wrap around
       }) {
    INFO(score_mod);
    CHECK_FALSE(Addend(spec_of(score_mod, "q_idx >= kv_idx")).facts().addend_is_relative);
  }
  for (const char* mask_mod :
       {"q_idx >= kv_idx / 2", "q_idx >= kv_idx and kv_idx >= reach", "ids[q_idx] == ids[kv_idx]",
        "q_idx + 2000000000 >= kv_idx + 1900000000 * reach"}) {
    INFO(mask_mod);
    CHECK_FALSE(Addend(spec_of("score + f32(q_idx)", mask_mod)).facts().mask_is_relative);
  }
}
