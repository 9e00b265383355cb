// Terms of an addend that no key changes.
#include "compiler/analysis/row_addend.h"

#include <string>

#include "compiler/ir/llvm.h"
// after llvm.h
#include "compiler/analysis/facts.h"
#include "compiler/emit/cuda/hooks.h"
#include "tests/catch.h"

using namespace fa;

namespace {

struct Split {
  HookIr hooks;
  Facts facts;
};

Split split(const std::string& score_mod) {
  const Spec spec = Spec::parse(
      "attention t\nhead_dim 64\ntensor gate : f32[q_len + kv_len]\ntensor slopes : f32[num_q_heads]\n"
      "tensor pair : f32[q_len, kv_len]\nscore_mod = " +
      score_mod + "\n");
  Split result{lower(spec.checked()), {}};
  result.facts = analyse(spec.checked(), result.hooks);
  return result;
}

}  // namespace

TEST_CASE("a row's terms leave the addend, whatever stands beside them", "[analysis]") {
  for (const char* score_mod :
       {"score + gate[q_idx] - gate[kv_idx]", "score - gate[kv_idx] + 2.0 * gate[q_idx] + slopes[h]",
        "score + (gate[q_idx] - (gate[kv_idx] - 1.5))", "0.5 * (score + gate[q_idx]) + pair[q_idx, kv_idx]",
        "score * slopes[h] - gate[q_idx] + gate[kv_idx] * gate[q_idx]"}) {
    const Split found = split(score_mod);
    INFO(score_mod);
    CHECK(found.facts.has_row_addend);
    CHECK(!found.facts.addend_is_zero);
    CHECK(found.facts.addend.has(DependsOn::kv));
  }
  const Split columns = split("score + gate[q_idx] - gate[kv_idx]");
  CHECK(!columns.facts.addend.has(DependsOn::q));
}

TEST_CASE("a score that gains a row's terms alone is the score", "[analysis]") {
  for (const char* score_mod : {"score + gate[q_idx]", "score + slopes[h] * 2.0", "score + 1.0"}) {
    const Split found = split(score_mod);
    INFO(score_mod);
    CHECK(found.facts.has_row_addend);
    CHECK(found.facts.addend_is_zero);
  }
}

TEST_CASE("what a key changes has no row's terms, nor has a slope", "[analysis]") {
  for (const char* score_mod : {"score + gate[kv_idx]", "score + gate[q_idx] * gate[kv_idx]",
                                "score + min(gate[q_idx], gate[kv_idx])",
                                "score - slopes[h] * f32(q_idx - kv_idx)", "tanh(score) + gate[q_idx]"}) {
    INFO(score_mod);
    CHECK(!split(score_mod).facts.has_row_addend);
  }
}
