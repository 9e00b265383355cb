// What plans and launches are chosen by: how far a mask reaches, and whether it has global tokens.
#include "compiler/analysis/facts.h"
#include "compiler/ir/import/import.h"
#include "fa/spec.h"
#include "tests/catch.h"
#include "tests/golden.h"

using namespace fa;

namespace {

Facts mask_facts(const Spec& spec) {
  CheckedSpec imported = import_hooks(spec.checked());
  imported.score_from = imported.mask_from = {};
  return analyse(imported, lower(imported));
}

Facts mask_facts(const std::string& mask_mod) {
  return mask_facts(
      Spec::parse("attention a\nhead_dim 64\ndtype bf16\nparam window : i32 = 128\n"
                  "tensor ids : i32[kv_len]\nmask_mod = " +
                  mask_mod + "\n"));
}

struct Width {
  const char* mask_mod;
  int least, most;  // 0: as wide as the sequence, or not known
};

}  // namespace

TEST_CASE("a relative mask's band is as wide as its window, or a little wider", "[analysis]") {
  for (const auto& [mask_mod, least, most] : {
           Width{"q_idx >= kv_idx and q_idx - kv_idx < window", 128, 129},
           Width{"q_idx >= kv_idx and q_idx - kv_idx < 3 * window + 16", 400, 512},
           Width{"abs(q_idx - kv_idx) <= 100", 201, 256},
           Width{"q_idx == kv_idx", 1, 2},
           Width{"q_idx >= kv_idx and q_idx - kv_idx < 1024 and (q_idx - kv_idx) % 4 == 0", 1021, 1280},
           Width{"q_idx >= kv_idx", 0, 0},
           Width{"kv_idx >= q_idx", 0, 0},
           Width{"q_idx - kv_idx < 100", 0, 0},
           Width{"(q_idx - kv_idx) % 64 == 0", 0, 0},
           // What is not relative.
           Width{"q_idx >= kv_idx and q_idx - kv_idx < window and ids[kv_idx] > 0", 0, 0},
           Width{"q_idx / 64 == kv_idx / 64", 0, 0},
       }) {
    INFO(mask_mod);
    const std::optional<Band> band = mask_facts(mask_mod).mask_band;
    const int width = band ? band->width().value_or(0) : 0;
    CHECK(width >= least);
    CHECK(width <= most);
  }
}

TEST_CASE("global tokens are found where the first tokens see or are seen by far more", "[analysis]") {
  const auto check = [](const Facts& facts, bool see, bool are_seen) {
    CHECK(facts.global_tokens.see == see);
    CHECK(facts.global_tokens.are_seen == are_seen);
  };
  check(mask_facts("abs(q_idx - kv_idx) < window or q_idx < 16 or kv_idx < 16"), true, true);
  check(mask_facts("q_idx >= kv_idx and (q_idx - kv_idx < window or kv_idx < 4)"), false,
        true);  // StreamingLLM
  check(mask_facts("abs(q_idx - kv_idx) < window or q_idx < 16"), true, false);
  // Everything, half of it, a window, a prefix: no token has many times the tokens of others.
  check(mask_facts("q_idx >= 0"), false, false);
  check(mask_facts("q_idx >= kv_idx"), false, false);
  check(mask_facts("q_idx >= kv_idx or kv_idx < 1000"), false, false);
  check(mask_facts("abs(q_idx - kv_idx) < window"), false, false);
  check(mask_facts("q_idx / 512 == kv_idx / 512"), false, false);
  // A tensor may hold anything.
  check(mask_facts("ids[kv_idx] > 0 or q_idx < 16"), false, false);

  for (const char* name : {"bigbird", "global_window"}) {
    INFO(name);
    check(mask_facts(Spec::load(test::spec_path(name))), true, true);
  }
}
