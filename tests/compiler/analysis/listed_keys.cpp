// Masks in which a row lists keys: which are found, and that kernels evaluate what the mask says.
#include "compiler/analysis/listed_keys.h"

#include "compiler/analysis/facts.h"
#include "compiler/schedule/mask_tiles.h"
#include "tests/catch.h"
#include "tests/compiler/analysis/mask_facts.h"
#include "tests/compiler/ir/hook_eval.h"
#include "tests/golden.h"

using namespace fa;
using fa::test::mask_facts;

namespace {

constexpr const char* kKeyTables =
    "tensor keys : i32[batch, q_len, 6] = (i0 + 5 * i1 + 7 * i2 * i2) % 80 - 4\n"
    "tensor far : i32[q_len, 5] = where(i1 == 2, 2147483647 - i0, -2147483647 - 1 + i0)\n"
    "tensor ids : i32[max(q_len, kv_len)] = i0 / 9\n";

constexpr const char* kLists[] = {
    "any(i < 6: keys[b, q_idx, i] == kv_idx)",
    "any(i < 6: kv_idx == keys[b, q_idx, i] + h)",
    "any(i < 6: keys[b, q_idx, i] == kv_idx + q_idx)",
    "kv_idx < 3 or any(i < 6: keys[b, q_idx, i] == kv_idx) or kv_idx == 40",
    "q_idx >= kv_idx and (any(i < 6: keys[b, q_idx, i] == kv_idx) or q_idx - kv_idx < 4)",
    "kv_idx % 2 == 0 and (q_idx >= kv_idx and any(i < 6: keys[b, q_idx, i] == kv_idx))",
    "any(i < 5: far[q_idx, i] == kv_idx) or ids[q_idx] == ids[kv_idx]",
    "kv_idx == q_idx or kv_idx == 2 * q_idx or kv_idx == 3 * q_idx or kv_idx == q_idx / 2 or kv_idx == 70 - "
    "q_idx",
    "(kv_idx == ids[q_idx] or kv_idx == ids[q_idx] + 8) or (kv_idx == ids[q_idx] + 40 or kv_idx == 2 * "
    "ids[q_idx])",
};

}  // namespace

TEST_CASE("lists of keys are found, and are what the mask says", "[analysis]") {
  const ProblemSize size = {.batch = 2, .num_q_heads = 2, .num_kv_heads = 1, .q_len = 33, .kv_len = 71};
  for (const char* mask_mod : kLists) {
    INFO(mask_mod);
    const tools::Problem problem =
        test::small_problem(Spec::parse(std::string("attention a\nhead_dim 64\ndtype bf16\n") + kKeyTables +
                                        "mask_mod = " + mask_mod + "\n"),
                            3, size);
    const test::HookEval eval(problem, test::HookEval::Fuse::allowed);
    REQUIRE(eval.facts().listed_keys.words != nullptr);
    int kept = 0, wrong = 0;
    for (int b = 0; b < size.batch; ++b)
      for (int q = 0; q < size.q_len; ++q)
        for (int kv = 0; kv < size.kv_len; ++kv) {
          const test::Element element = {b, (q + kv) % size.num_q_heads, q, kv};
          kept += eval.mask(element) ? 1 : 0;
          wrong += eval.mask_by_list(element) == eval.mask(element) ? 0 : 1;
        }
    CHECK(kept > 0);
    CHECK(wrong == 0);
  }
}

TEST_CASE("what is no list, or a short one, stays a mask", "[analysis]") {
  for (
      const char* mask_mod : {
          "any(i < 3: keys[b, q_idx, i] == kv_idx)",      // as few comparisons as words cost
          "all(i < 6: keys[b, q_idx, i] == kv_idx)",      // of keys that all are
          "any(i < 6: keys[b, q_idx, i] != kv_idx)",      // nor
          "any(i < 6: keys[b, q_idx, i] >= kv_idx)",      // ranges
          "any(i < 6: keys[b, q_idx, i] == kv_idx / 2)",  // of blocks
          "any(i < 6: keys[b, 0, i] == kv_idx)",          // of keys alone
          "not any(i < 6: keys[b, q_idx, i] == kv_idx)",  // of what is dropped
          "any(i < 6: keys[b, q_idx, i] == kv_idx) or keys[0, q_idx, kv_idx % 6] == 3",  // an element reads
          "q_idx - kv_idx == 1 or q_idx - kv_idx == 2 or q_idx - kv_idx == 4 or q_idx - kv_idx == 8",  // of the distance
      }) {
    INFO(mask_mod);
    CHECK(mask_facts(kKeyTables, mask_mod).listed_keys.words == nullptr);
  }
}

TEST_CASE("a tree's mask is short for a GPU, and still wants small tiles", "[analysis]") {
  const Facts facts = mask_facts(Spec::load(test::spec_path("tree")));
  CHECK(facts.listed_keys.words != nullptr);
  CHECK(facts.element_ops < kLongHook);
  CHECK(wants_small_tiles(facts));  // its keys lie anywhere
  CHECK(facts.print().find("a row lists keys") != std::string::npos);
}
