// Compares lowering with the tools' interpreter, which walks the tree in double and int32 and shares no code
// with it; and checks the form of the IR: golden text of every spec, attributes, the rewrites that later
// stages rely on.
#include "compiler/ir/llvm.h"
// after llvm.h
#include <fmt/format.h>

#include "compiler/ir/simplify.h"
#include "compiler/spec/spec.h"
#include "fa/error.h"
#include "tests/compiler/ir/random_hooks.h"
#include "tests/golden.h"

namespace {

using namespace fa;
using namespace fa::test;

void compare(const std::string& text, std::uint32_t seed, int elements) {
  const ProblemSize size = {.batch = 2, .num_q_heads = 4, .num_kv_heads = 2, .q_len = 19, .kv_len = 37};
  const tools::Problem problem = small_problem(Spec::parse(text), seed, size);
  const HookEval eval(problem, HookEval::Fuse::allowed);
  ReferenceEval reference(problem);
  RandomHooks random(seed);
  for (int i = 0; i < elements; ++i) {
    const Element element = random.element(size);
    const float score = static_cast<float>(random.below(800)) / 100.0f - 4.0f;
    INFO(text << "seed " << seed << " b " << element.b << " h " << element.h << " q " << element.q << " kv "
              << element.kv << " score " << score);
    REQUIRE(eval.mask(element) == reference.mask(element));
    const double want = reference.score_mod(static_cast<double>(score), element);
    const double got = static_cast<double>(eval.score_mod(score, element));
    REQUIRE(std::abs(got - want) <= 1e-3 + 1e-4 * std::abs(want));
  }
}

std::string ir_of(const std::string& items) {
  const Spec spec = Spec::parse("attention t\nhead_dim 64\n" + items);
  return lower(spec.checked()).print();
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("random hooks mean what the interpreter says") {
  for (std::uint32_t seed = 1; seed <= 150; ++seed) compare(RandomHooks(seed).spec(), seed, 40);
}

TEST_CASE("every spec means what the interpreter says, also with odd lengths and shared heads") {
  const std::vector<ProblemSize> sizes = {
      {.batch = 2, .num_q_heads = 4, .num_kv_heads = 2, .q_len = 33, .kv_len = 71},
      {.batch = 1, .num_q_heads = 2, .num_kv_heads = 1, .q_len = 130, .kv_len = 130},
      {.batch = 3, .num_q_heads = 3, .num_kv_heads = 3, .q_len = 1, .kv_len = 1},
      {.batch = 1, .num_q_heads = 2, .num_kv_heads = 2, .q_len = 40, .kv_len = 9}};
  for (const std::string& name : all_specs())
    for (const ProblemSize& size : sizes) {
      const tools::Problem problem = small_problem(Spec::load(spec_path(name)), 3, size);
      const HookEval eval(problem, HookEval::Fuse::allowed);
      ReferenceEval reference(problem);
      RandomHooks random(7);
      for (int i = 0; i < 300; ++i) {
        const Element element = random.element(size);
        const float score = static_cast<float>(random.below(800)) / 100.0f - 4.0f;
        INFO(name << " q_len " << size.q_len << " kv_len " << size.kv_len << " b " << element.b << " h "
                  << element.h << " q " << element.q << " kv " << element.kv);
        REQUIRE(eval.mask(element) == reference.mask(element));
        const double want = reference.score_mod(static_cast<double>(score), element);
        REQUIRE(std::abs(static_cast<double>(eval.score_mod(score, element)) - want) <=
                1e-4 * (1 + std::abs(want)));
      }
    }
}

TEST_CASE("golden IR of every spec") {
  for (const std::string& name : all_specs()) {
    const Spec spec = Spec::load(spec_path(name));
    check_golden(name + "/ir.ll", lower(spec.checked()).print());
  }
}

TEST_CASE("arguments carry what callers promise") {
  const std::string text = ir_of("tensor t : f32[kv_len]\nscore_mod = score + t[kv_idx]\n");
  CHECK(count(text, "range(i32 0, 16777216) %kv_idx") == 1);
  CHECK(count(text, "range(i32 1, 16777217) %kv_len") == 1);
  CHECK(count(text, "ptr noalias nocapture noundef readonly align 4 %t.t") == 1);
  CHECK(count(text, "memory(argmem: read)") >= 1);
  CHECK(count(text, "!invariant.load") == 1);
  CHECK(count(ir_of("score_mod = 2 * score\n"), "memory(none)") >= 1);
}

TEST_CASE("only score arithmetic may contract") {
  CHECK(count(ir_of("score_mod = score * 2.5 + 1.0\n"), "contract") == 2);
  CHECK(count(ir_of("mask_mod = q_idx * 0.5 + 1.0 < kv_idx\n"), "contract") == 0);
}

TEST_CASE("a difference of indices becomes floats one side at a time") {
  const std::string text = ir_of("score_mod = score + (kv_idx - q_idx)\n");
  CHECK(count(text, "sitofp i32 %kv_idx to float") == 1);
  CHECK(count(text, "sitofp i32 %q_idx to float") == 1);
  CHECK(count(text, "sub nsw") == 0);
  // Past 2^24 a float would round: the integer subtraction stays.
  CHECK(count(ir_of("score_mod = score + (kv_idx * 4 - q_idx)\n"), "sitofp i32 %q_idx") == 0);
}

TEST_CASE("comparisons split into a row and a column side") {
  const std::string text = ir_of("param window : i32 = 8\nmask_mod = q_idx - kv_idx < window\n");
  CHECK(count(text, "icmp") == 1);
  CHECK(count(text, "%kv_idx\n") == 1);  // compared as it is
  CHECK(count(ir_of("mask_mod = (q_idx - kv_idx) % 4 == 0\n"), "and i32") == 2);
}

TEST_CASE("small reductions are expanded, large ones become one counted loop") {
  CHECK(count(ir_of("mask_mod = any(i < 32: kv_idx == q_idx * i)\n"), "phi") == 0);
  const std::string loop = ir_of("tensor t : i32[40]\nmask_mod = any(i < 40: t[i] == kv_idx)\n");
  CHECK(count(loop, "phi") == 2);
  CHECK(count(loop, "br i1") == 1);
}

TEST_CASE("a range of the call: no iteration, some of them, more than its maximum") {
  for (const int n : {-2147483647, -3, 0, 1, 4, 8, 33, 40, 1000}) {
    const std::string text =
        "attention t\nhead_dim 64\nparam n : i32 = " + std::to_string(n) +
        "\ntensor t : i32[40] = i0 * 13 % 47\n"
        "score_mod = score + 0.001 * (sum(i < n max 8: t[i] + q_idx) + sum(i < n max 40: t[i] + q_idx)) +\n"
        "  clamp(min(i < n max 5: 0.1 * t[i]), -9.0, 9.0) + clamp(max(i < n max 35: 0.1 * t[i]), -9.0, 9.0) "
        "+\n"
        "  0.001 * (min(i < n max 7: t[i] - kv_idx) % 1000 + max(i < n max 36: t[i] - kv_idx) % 1000) +\n"
        "  0.01 * sum(i < n max 34: sum(j < n - 1 max 3: 0.5 * t[i] * j))\n"
        "mask_mod = any(i < n max 8: t[i] == kv_idx) or all(i < n max 40: any(j < n - 1 max 3: t[i] * j < "
        "kv_idx)) "
        "and (any(i < n max 34: t[i] <= q_idx) or all(i < n max 6: t[i] > q_idx))\n";
    compare(text, static_cast<std::uint32_t>(n + 5000), 60);
  }
}

TEST_CASE("a value shared by both hooks is lowered in each, and reads are shared inside one") {
  const std::string text = ir_of(
      "tensor t : f32[kv_len]\nlet bias = t[kv_idx]\nscore_mod = score + bias * bias\nmask_mod = bias > "
      "0.0\n");
  CHECK(count(text, "load float") == 2);
}

TEST_CASE("IR that the verifier refuses is an internal error that names the pass") {
  const HookIr hooks = lower(Spec::parse("attention t\nhead_dim 64\nscore_mod = 2 * score\n").checked());
  const std::shared_ptr<llvm::Module> copies = merge_modules({hooks.module});
  llvm::Function& broken = *copies->getFunction("score_mod");
  broken.back().getTerminator()->eraseFromParent();
  std::string message;
  try {
    verify(broken, "a test");
  } catch (const InternalError& error) {
    message = error.what();
  }
  CHECK(message.starts_with("invalid IR after a test: "));
}
