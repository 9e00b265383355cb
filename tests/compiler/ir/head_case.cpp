// Conditions of the head by which hooks choose.
#include "compiler/ir/head_case.h"

#include <string>

#include "compiler/compile.h"
#include "tests/catch.h"

using namespace fa;

namespace {

Spec parse(const std::string& hooks) {
  return Spec::parse(
      "attention t\nhead_dim 64\nparam wide : i32 = 0\ntensor flags : bool[num_q_heads]\ntensor ids : "
      "i32[kv_len]\n" +
      hooks + "\n");
}

bool has_case(const std::string& hooks) { return find_head_case(parse(hooks).checked()).has_value(); }

int count_nodes(const ExprPtr& expr) {
  int nodes = 1;
  for (const ExprPtr& arg : expr->args) nodes += count_nodes(arg);
  return nodes;
}

}  // namespace

TEST_CASE("a choice between element's operations by the head alone is a case") {
  CHECK(has_case("mask_mod = where(h % 2 == 0, q_idx / 64 == kv_idx / 64, q_idx % 64 == kv_idx % 64)"));
  CHECK(has_case("mask_mod = where(flags[h], q_idx >= kv_idx, q_idx - kv_idx < 9)"));
  CHECK(has_case("mask_mod = where(wide > 0, q_idx >= kv_idx, q_idx - kv_idx < 9)"));  // of the call
  CHECK(has_case(
      "mask_mod = (h < 4 and q_idx >= kv_idx and q_idx - kv_idx < 9) or (not (h < 4) and q_idx == kv_idx)"));
  CHECK(has_case("score_mod = where(b == 0, tanh(score), score * 0.5)"));
}

TEST_CASE("what costs an element little, or depends on the element, is no case") {
  CHECK(!has_case("mask_mod = q_idx >= kv_idx"));
  CHECK(!has_case("mask_mod = h == 0 or q_idx >= kv_idx"));
  CHECK(!has_case("mask_mod = where(kv_idx % 2 == 0, q_idx >= kv_idx, q_idx - kv_idx < 9)"));
  CHECK(!has_case("mask_mod = where(ids[kv_idx] == h, q_idx >= kv_idx, q_idx - kv_idx < 9)"));
  CHECK(!has_case("score_mod = score + where(h % 2 == 0, 1.0, 2.0)"));
  CHECK(!has_case("mask_mod = any(i < 3: i % 2 == 0 and (q_idx + i) / 16 == kv_idx / 16)"));  // of a step
}

TEST_CASE("in each case the hooks are what is left of them, wherever the condition stands") {
  const Spec spec = parse(
      "score_mod = where(h % 2 == 0, tanh(score), score)\n"
      "mask_mod = where(h % 2 == 0, q_idx / 64 == kv_idx / 64, q_idx >= kv_idx)");
  const auto found = find_head_case(spec.checked());
  REQUIRE(found.has_value());
  CHECK(found->holds.score_mod->kind == ExprKind::call);
  CHECK(found->fails.score_mod->kind == ExprKind::builtin);
  CHECK(found->fails.mask_mod->op == Op::ge);
  CHECK(count_nodes(found->holds.mask_mod) == 7);
}

TEST_CASE("a kernel has hooks for either case and asks which") {
  const Spec spec =
      parse("mask_mod = where(h % 2 == 0, q_idx / 64 == kv_idx / 64, q_idx % 64 == kv_idx % 64)");
  const Compiled compiled = compile_front_end(spec.checked(), find_target("a100"));
  REQUIRE(compiled.cases.has_value());
  const std::string& text = compiled.source->text;
  CHECK(text.find("HooksByHead<head_case_holds::Hooks, head_case_fails::Hooks>") != std::string::npos);
  CHECK(text.find("namespace head_case_holds {") != std::string::npos);
  CHECK(text.find("namespace head_case_fails {") != std::string::npos);
  CHECK(!compile_front_end(spec.checked(), find_target("host")).cases.has_value());
}
