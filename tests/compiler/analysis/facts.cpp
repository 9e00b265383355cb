// Facts: what depends on what, the form of score_mod, and that kernels evaluate what the spec says.
#include "compiler/analysis/facts.h"

#include <cmath>

#include "compiler/ir/llvm.h"
// after llvm.h
#include "compiler/spec/spec.h"
#include "tests/compiler/ir/random_hooks.h"
#include "tests/golden.h"

namespace {

using namespace fa;
using namespace fa::test;

struct Analysed {
  HookIr hooks;
  Facts facts;
};

Analysed analyse_items(const std::string& items) {
  const Spec spec = Spec::parse(
      "attention t\nhead_dim 64\nparam n : i32 = 4\nparam x : f32 = 2.0\n"
      "tensor heads : f32[num_q_heads]\ntensor rows : f32[q_len]\n"
      "tensor columns : f32[kv_len]\ntensor bias : f32[q_len, kv_len]\n" +
      items);
  Analysed analysed;
  analysed.hooks = lower(spec.checked());
  analysed.facts = analyse(spec.checked(), analysed.hooks);
  return analysed;
}

Facts score(const std::string& expression) { return analyse_items("score_mod = " + expression + "\n").facts; }
Facts mask(const std::string& expression) { return analyse_items("mask_mod = " + expression + "\n").facts; }

}  // namespace

TEST_CASE("dependence of hooks") {
  CHECK(mask("q_idx >= kv_idx").mask_mod.print() == "{q, kv}");
  CHECK(mask("heads[h] > x").mask_mod.print() == "{h}");
  CHECK(mask("n > 3").mask_mod.print() == "{}");
  CHECK(mask("columns[kv_idx] + b > 1.0").mask_mod.print() == "{b, kv}");
  CHECK(score("score * rows[q_idx] + heads[h]").score_mod.print() == "{h, q, score}");
  CHECK(mask("any(i < 40: rows[i % q_len] > columns[kv_idx])").mask_mod.print() == "{kv}");
  CHECK(mask("(q_idx - q_idx) + kv_idx > 5").mask_mod.print() == "{kv}");  // after simplification
}

TEST_CASE("the form of score_mod in the score") {
  struct Case {
    const char* expression;
    ScoreForm form;
  };
  const Case cases[] = {
      {"score", ScoreForm::identity},
      {"score * 1.0", ScoreForm::identity},
      {"score / 1.0", ScoreForm::identity},
      {"-(-score)", ScoreForm::identity},
      {"score * 2.0", ScoreForm::affine},
      {"-score", ScoreForm::affine},
      {"score + heads[h]", ScoreForm::affine},
      {"heads[h] - score", ScoreForm::affine},
      {"(score + rows[q_idx]) * columns[kv_idx] / x", ScoreForm::affine},
      {"score + score * x", ScoreForm::affine},
      {"where(q_idx > kv_idx, score, 2.0 * score + 1.0)", ScoreForm::affine},
      {"score + where(q_idx > kv_idx, 0.0, -inf)", ScoreForm::affine},
      {"where(q_idx > kv_idx, score, -inf)",
       ScoreForm::general},  // 0 * score would be NaN for an infinite score
      {"where(score > 0.0, score, 2.0 * score)", ScoreForm::general},
      {"score * score", ScoreForm::general},
      {"x / score", ScoreForm::general},
      {"x * tanh(score / x)", ScoreForm::general},
      {"max(score, 0.0)", ScoreForm::general},
      {"rows[q_idx] + columns[kv_idx]", ScoreForm::general},
      {"sum(i < 40: score * 0.25)", ScoreForm::general},
  };
  for (const Case& c : cases) {
    INFO(c.expression);
    CHECK(static_cast<int>(score(c.expression).score_form) == static_cast<int>(c.form));
  }
}

TEST_CASE("what an affine form depends on") {
  const Facts alibi = score("score + heads[h] * (kv_idx - q_idx)");
  CHECK(alibi.multiplier_is_one);
  CHECK_FALSE(alibi.addend_is_zero);
  CHECK(alibi.multiplier.print() == "{}");
  CHECK(alibi.addend.print() == "{h, q, kv}");

  const Facts scaled = score("score * rows[q_idx]");
  CHECK_FALSE(scaled.multiplier_is_one);
  CHECK(scaled.addend_is_zero);
  CHECK(scaled.multiplier.print() == "{q}");

  const Facts both = score("(score + rows[q_idx]) * columns[kv_idx]");
  CHECK(both.multiplier.print() == "{kv}");
  CHECK(both.addend.print() == "{q, kv}");
}

TEST_CASE("the constants move to where they cost least") {
  // One product and one sum an element, whatever the spec's scale and log2(e).
  CHECK(score("score + heads[h] * (kv_idx - q_idx)").element_ops == 1);  // linear: one number a column
  CHECK(score("score + heads[h] * abs(kv_idx - q_idx)").element_ops == 3);
  CHECK(score("x * tanh(score / x)").element_ops == 3);
  CHECK(score("score + rows[q_idx]").element_ops == 0);
  CHECK(score("score + rows[q_idx] * columns[kv_idx]").element_ops == 1);
  CHECK(score("score * 3.0").element_ops == 0);
  CHECK(score("log(abs(score) + 1.0)").element_ops == 4);  // becomes log2
}

TEST_CASE("masks that do nothing are found") {
  CHECK(mask("kv_idx < kv_len").mask_is_always_true);
  CHECK(mask("q_idx + kv_idx >= 0").mask_is_always_true);
  CHECK(mask("h / group_size < num_kv_heads or q_idx > 3 or true").mask_is_always_true);
  CHECK(mask("kv_idx >= kv_len and q_idx > 3").mask_is_always_false);
  CHECK_FALSE(mask("q_idx >= kv_idx").mask_is_always_true);
  CHECK_FALSE(mask("q_idx >= kv_idx").mask_is_always_false);
}

TEST_CASE("logit is log2(e) * score_mod(scale * s), random hooks") {
  const ProblemSize size = {.batch = 2, .num_q_heads = 4, .num_kv_heads = 2, .q_len = 19, .kv_len = 37};
  for (std::uint32_t seed = 1000; seed < 1100; ++seed) {
    RandomHooks random(seed);
    const std::string text = random.spec();
    const tools::Problem problem = small_problem(Spec::parse(text), seed, size);
    const HookEval eval(problem, HookEval::Fuse::allowed);
    ReferenceEval reference(problem);
    const double scale = problem.spec.checked().scale;
    for (int i = 0; i < 40; ++i) {
      const Element element = random.element(size);
      const float s = static_cast<float>(random.below(6400)) / 100.0f - 32.0f;
      const double want = 1.4426950408889634 * reference.score_mod(scale * static_cast<double>(s), element);
      const double got = static_cast<double>(eval.logit(s, element));
      INFO(text << "seed " << seed << " b " << element.b << " h " << element.h << " q " << element.q << " kv "
                << element.kv << " s " << s);
      REQUIRE(std::abs(got - want) <= 2e-3 + 1e-4 * std::abs(want));
    }
  }
}

TEST_CASE("logit of every spec, with infinite scores as the spec has them") {
  const ProblemSize size = {.batch = 2, .num_q_heads = 4, .num_kv_heads = 2, .q_len = 33, .kv_len = 71};
  for (const std::string& name : all_specs()) {
    const tools::Problem problem = small_problem(Spec::load(spec_path(name)), 5, size);
    const HookEval eval(problem, HookEval::Fuse::allowed);
    ReferenceEval reference(problem);
    const double scale = problem.spec.checked().scale;
    RandomHooks random(11);
    for (int i = 0; i < 200; ++i) {
      const Element element = random.element(size);
      float s = static_cast<float>(random.below(6400)) / 100.0f - 32.0f;
      if (i % 20 == 0) s = std::numeric_limits<float>::infinity();
      if (i % 20 == 1) s = -std::numeric_limits<float>::infinity();
      const double want = 1.4426950408889634 * reference.score_mod(scale * static_cast<double>(s), element);
      const double got = static_cast<double>(eval.logit(s, element));
      INFO(name << " q " << element.q << " kv " << element.kv << " s " << s << " want " << want << " got "
                << got);
      if (std::isfinite(want))
        CHECK(std::abs(got - want) <= 1e-3 + 1e-5 * std::abs(want));
      else
        CHECK((std::isnan(want) ? std::isnan(got) : got == want));
    }
  }
}

TEST_CASE("analysis leaves valid functions and the hooks themselves untouched") {
  const Analysed analysed =
      analyse_items("score_mod = (score + rows[q_idx]) / x\nmask_mod = q_idx >= kv_idx\n");
  const Logits& logits = analysed.facts.logits;
  for (const IrModule& module : {analysed.hooks.module, logits.module})
    for (const llvm::Function& function : *module) CHECK_FALSE(llvm::verifyFunction(function, nullptr));
  CHECK(logits.general == nullptr);
  CHECK(logits.multiplier->getName() == "logit_multiplier");
  CHECK(hook_argument(*logits.addend, HookArgKind::score)->getName() == "s");
  CHECK(analysed.hooks.module->size() == 2);
  CHECK(analysed.hooks.score_mod->getArg(0)->getName() == "score");
}

TEST_CASE("golden facts of every spec") {
  for (const std::string& name : all_specs()) {
    const Spec spec = Spec::load(spec_path(name));
    const HookIr hooks = lower(spec.checked());
    check_golden(name + "/facts.txt", analyse(spec.checked(), hooks).print());
  }
}
