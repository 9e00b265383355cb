// Compares addends that the analysis takes to be linear in kv_idx with the hooks themselves.
#include "compiler/analysis/slope.h"

#include <cmath>

#include "tests/catch.h"
#include "tests/compiler/analysis/addend.h"

using fa::test::Addend;
using fa::test::kKvLen;
using fa::test::kQLen;
using fa::test::spec_of;

TEST_CASE("a linear addend is a start and a slope", "[analysis]") {
  for (const char* score_mod : {
           "score - table[h, 3] * (q_idx + (kv_len - q_len) - kv_idx)",
           "score + 0.25 * (kv_idx - q_idx)",
           "score - f32(q_idx - kv_idx) / 7.0",
           "score + f32(2 * q_idx - 3 * kv_idx) * table[b, 1]",
           "score + table[h, 9] * (f32(q_idx) - f32(kv_idx)) - 0.5 * f32(q_idx)",
           "score + table[h, clamp(q_idx, 0, 100)] + table[h, 1] * f32(kv_idx) - 0.125 * f32(kv_idx)",
           "(score - f32(q_idx - kv_idx)) + tanh(f32(q_idx)) * 0.5",
       }) {
    INFO(score_mod);
    const Addend addend(spec_of(score_mod, "q_idx >= kv_idx"));
    REQUIRE(addend.facts().addend_is_linear);
    CHECK(addend.facts().print().find("linear in kv") != std::string::npos);
    const float slope = addend.slope(0, 0);
    CHECK(slope != 0.0f);
    for (int q_idx = 0; q_idx < kQLen; q_idx += 7)
      for (int kv_idx = 0; kv_idx < kKvLen; kv_idx += 3) {
        CHECK(addend.slope(q_idx, kv_idx) == slope);
        const float found = addend(q_idx, 0) + static_cast<float>(kv_idx) * slope;
        const float most = std::abs(addend(q_idx, 0)) + static_cast<float>(kv_idx) * std::abs(slope);
        CHECK(std::abs(found - addend(q_idx, kv_idx)) <= 4e-7f * most);
      }
  }
}

TEST_CASE("an addend of shared parts has its slope at once", "[analysis]") {
  std::string lets = "let x0 = 0.5 * f32(kv_idx)\n";
  for (int i = 1; i <= 40; ++i) lets += fmt::format("let x{} = 0.5 * (x{} + x{})\n", i, i - 1, i - 1);
  const fa::Spec spec = fa::Spec::parse("attention shared\nhead_dim 64\ndtype bf16\n" + lets +
                                        "score_mod = score + x40 - f32(q_idx)\n");
  const fa::HookIr hooks = fa::lower(spec.checked());
  CHECK(fa::analyse(spec.checked(), hooks).addend_is_linear);
}

TEST_CASE("what bends, or grows differently from row to row, is not linear", "[analysis]") {
  for (const char* score_mod : {
           "score - 0.5 * abs(q_idx - kv_idx)",
           "score - 0.5 * max(q_idx - kv_idx, 0)",
           "score + f32(q_idx) * f32(kv_idx)",
           "score + table[h, clamp(q_idx, 0, 100)] * f32(kv_idx)",
           "score + f32((q_idx - kv_idx) / 3)",
           "score + f32(q_idx) - tanh(f32(kv_idx))",
           "score + table[h, clamp(q_idx - kv_idx, 0, 100)]",
           "score + where(q_idx >= kv_idx, f32(kv_idx), f32(q_idx))",
           "score + f32(kv_idx - q_idx) - f32(kv_idx)",  // the slope cancels
           "score + f32(q_idx - kv_idx * reach)",        // may wrap around
           "score + 0.1 * f32(kv_idx)",                  // once a column as it is
           "score + 0.1 * f32(q_idx)",
           "score * 2.0 + 0.1 * f32(q_idx - kv_idx)",  // multiplies by more than the scale
           "tanh(score) + 0.1 * f32(q_idx - kv_idx)",
       }) {
    INFO(score_mod);
    fa::Spec spec = spec_of(score_mod, "q_idx >= kv_idx");
    const fa::HookIr hooks = fa::lower(spec.checked());
    const fa::Facts facts = fa::analyse(spec.checked(), hooks);
    CHECK_FALSE(facts.addend_is_linear);
    CHECK(facts.logits.addend_slope == nullptr);
  }
}
