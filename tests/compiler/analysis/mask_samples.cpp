// What plans and launches are chosen by: how far a mask reaches, and whether it has global tokens.
#include "tests/catch.h"
#include "tests/compiler/analysis/mask_facts.h"
#include "tests/golden.h"

using namespace fa;
using fa::test::mask_facts;

namespace {

constexpr const char* kWindowAndIds = "param window : i32 = 128\ntensor ids : i32[kv_len]\n";

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
    const std::optional<Band> band = mask_facts(kWindowAndIds, mask_mod).mask_band;
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
  check(mask_facts(kWindowAndIds, "abs(q_idx - kv_idx) < window or q_idx < 16 or kv_idx < 16"), true, true);
  check(mask_facts(kWindowAndIds, "q_idx >= kv_idx and (q_idx - kv_idx < window or kv_idx < 4)"), false,
        true);  // StreamingLLM
  check(mask_facts(kWindowAndIds, "abs(q_idx - kv_idx) < window or q_idx < 16"), true, false);
  // Everything, half of it, a window, a prefix: no token has many times the tokens of others.
  check(mask_facts(kWindowAndIds, "q_idx >= 0"), false, false);
  check(mask_facts(kWindowAndIds, "q_idx >= kv_idx"), false, false);
  check(mask_facts(kWindowAndIds, "q_idx >= kv_idx or kv_idx < 1000"), false, false);
  check(mask_facts(kWindowAndIds, "abs(q_idx - kv_idx) < window"), false, false);
  check(mask_facts(kWindowAndIds, "q_idx / 512 == kv_idx / 512"), false, false);
  // A tensor may hold anything.
  check(mask_facts(kWindowAndIds, "ids[kv_idx] > 0 or q_idx < 16"), false, false);

  for (const char* name : {"bigbird", "global_window"}) {
    INFO(name);
    check(mask_facts(Spec::load(test::spec_path(name))), true, true);
  }
}
