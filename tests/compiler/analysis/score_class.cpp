// Score classes against brute force: in a tile of the class plain the addend is one number.
#include "compiler/analysis/score_class.h"

#include <fmt/format.h>

#include <random>

#include "compiler/spec/spec.h"
#include "runtime/host/hook_jit.h"
#include "tests/catch.h"

namespace {

using fa::HookJit;
using fa::Slot;

constexpr int kQueries = 700;
constexpr int kKeys = 900;
constexpr int kReach = 40;  // the run-time parameter of the expressions

/// A score_mod, its class and a captured table, ready to be evaluated.
class Probe {
 public:
  explicit Probe(const std::string& score_mod) {
    const fa::Spec spec =
        fa::Spec::parse(fmt::format("attention probe\nhead_dim 64\ndtype bf16\nparam reach : i32 = "
                                    "{}\ntensor table : f32[num_q_heads, 257]\n"
                                    "tensor ids : i32[q_len + kv_len]\nscore_mod = {}\n",
                                    kReach, score_mod));
    const fa::HookIr hooks = fa::lower(spec.checked());
    const fa::Facts facts = fa::analyse(spec.checked(), hooks);
    const fa::ScoreClass found = fa::derive_score_class(facts, {}, spec.checked().scale);
    has_class_ = found.function != nullptr;
    args_ = hooks.args;
    std::mt19937 random(7);
    for (float& x : table_) x = static_cast<float>(random() % 1000) / 100;
    for (std::size_t i = 0; i < ids_.size(); ++i) ids_[i] = static_cast<int>(i / 90);
    if (!has_class_) return;
    jit_ = std::make_unique<HookJit>(fa::merge_modules({facts.logits.module, found.module}));
    addend_ = jit_->find("logit_addend");
    class_ = jit_->find("score_class");
    slots_ = {Slot::of(0.0f), Slot::of(0), Slot::of(0), Slot::of(0), Slot::of(0)};
    add_uniforms(slots_);
  }

  bool has_class() const { return has_class_; }

  float addend(int h, int q, int kv) {
    slots_[2] = Slot::of(h);
    slots_[3] = Slot::of(q);
    slots_[4] = Slot::of(kv);
    Slot result;
    addend_(slots_.data(), &result);
    return result.f32();
  }

  bool is_plain(int h, int q_lo, int q_hi, int kv_lo, int kv_hi) const {
    std::vector<Slot> slots = {Slot::of(0),    Slot::of(h),     Slot::of(q_lo),
                               Slot::of(q_hi), Slot::of(kv_lo), Slot::of(kv_hi)};
    add_uniforms(slots);
    Slot result;
    class_(slots.data(), &result);
    return result.i32() != 0;
  }

 private:
  void add_uniforms(std::vector<Slot>& slots) const {
    for (std::size_t i = 5; i < args_.size(); ++i) {
      switch (args_[i].kind) {
        case fa::HookArgKind::q_len:
          slots.push_back(Slot::of(kQueries));
          break;
        case fa::HookArgKind::kv_len:
          slots.push_back(Slot::of(kKeys));
          break;
        case fa::HookArgKind::scale:
          slots.push_back(Slot::of(0.125f));
          break;
        case fa::HookArgKind::param:
          slots.push_back(Slot::of(kReach));
          break;
        case fa::HookArgKind::tensor:
          slots.push_back(args_[i].index == 0 ? Slot::of(static_cast<const void*>(table_.data()))
                                              : Slot::of(static_cast<const void*>(ids_.data())));
          break;
        default:
          slots.push_back(Slot::of(2));
          break;
      }
    }
  }

  fa::HookSignature args_;
  std::array<float, 2 * 257> table_{};
  std::array<int, kQueries + kKeys> ids_{};
  std::unique_ptr<HookJit> jit_;
  std::vector<Slot> slots_;  // of the addend, which is evaluated millions of times
  HookJit::Function addend_ = nullptr;
  HookJit::Function class_ = nullptr;
  bool has_class_ = false;
};

struct Count {
  int plain = 0;  // tiles said to be plain
  int equal = 0;  // tiles whose addend is one number
  int wrong = 0;  // said to be plain, and are not
};

Count compare(Probe& probe, int tile_q, int tile_kv) {
  Count count;
  for (int q_lo = 0; q_lo < kQueries; q_lo += tile_q)
    for (int kv_lo = 0; kv_lo < kKeys; kv_lo += tile_kv) {
      const int q_hi = std::min(q_lo + tile_q, kQueries) - 1;
      const int kv_hi = std::min(kv_lo + tile_kv, kKeys) - 1;
      const float first = probe.addend(1, q_lo, kv_lo);
      bool equal = true;
      for (int q = q_lo; q <= q_hi && equal; ++q)
        for (int kv = kv_lo; kv <= kv_hi && equal; ++kv) equal = probe.addend(1, q, kv) == first;
      const bool plain = probe.is_plain(1, q_lo, q_hi, kv_lo, kv_hi);
      count.plain += plain;
      count.equal += equal;
      count.wrong += plain && !equal;
    }
  return count;
}

}  // namespace

TEST_CASE("a plain tile adds one number, and every such tile of a clamped table is seen") {
  for (const char* text :
       {"score + table[h, clamp(kv_idx - q_idx, -128, 128) + 128]",
        "score + table[h, clamp(kv_idx - q_idx, -reach, reach) + 128]",
        "score + table[h, min(abs(q_idx - kv_idx) / 16, 9)]",
        "score + where(abs(q_idx - kv_idx) < 100, 1.5, 0.25)",
        "score + table[h, 3] * max(q_idx - kv_idx, -100.5)",
        "score + table[h, min(16 + i32(log(max(q_idx - kv_idx, 1) / 16.0) / log(8.0) * 16), 31)]",
        "score + table[h, i32(min(sqrt(abs(q_idx - kv_idx) * 0.5), 12.0))]",
        "score + table[h, (q_idx / 128 + kv_idx / 64) % 257]"}) {
    Probe probe(text);
    INFO(text);
    REQUIRE(probe.has_class());
    const Count aligned = compare(probe, 128, 64);
    CHECK(aligned.wrong == 0);
    CHECK(aligned.plain == aligned.equal);
    CHECK(aligned.plain > 0);
    const Count odd = compare(probe, 48, 80);
    CHECK(odd.wrong == 0);
  }
}

TEST_CASE("a score whose addend moves everywhere, or on one side only, has no class") {
  CHECK_FALSE(Probe("score + table[h, 0] * (kv_idx - q_idx)").has_class());
  CHECK_FALSE(Probe("score + table[h, clamp(kv_idx, 0, 200)]").has_class());
  CHECK_FALSE(Probe("score * 0.5 + table[h, clamp(kv_idx - q_idx, -128, 128) + 128]").has_class());
  CHECK_FALSE(Probe("tanh(score)").has_class());
  CHECK_FALSE(Probe("score").has_class());
}
