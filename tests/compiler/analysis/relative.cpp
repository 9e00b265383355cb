// What is said to depend on q_idx - kv_idx alone, against the hooks themselves.
#include "compiler/analysis/relative.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "compiler/analysis/facts.h"
#include "compiler/spec/spec.h"
#include "runtime/hook_jit.h"
#include "tests/catch.h"

namespace {

using fa::HookArgKind;
using fa::Slot;

constexpr int kQLen = 300, kKvLen = 500, kReach = 40;

fa::Spec spec_of(const std::string& score_mod, const std::string& mask_mod) {
  return fa::Spec::parse(
      fmt::format("attention probe\nhead_dim 64\ndtype bf16\nparam reach : i32 = {}\n"
                  "tensor table : f32[num_q_heads, 257]\ntensor ids : i32[q_len + kv_len]\n"
                  "score_mod = {}\nmask_mod = {}\n",
                  kReach, score_mod, mask_mod));
}

/// The addend of a spec at one element.
class Addend {
 public:
  explicit Addend(const fa::Spec& spec) {
    fa::HookIr hooks = fa::lower(spec.checked());
    facts_ = fa::analyse(spec.checked(), hooks);
    args_ = hooks.args;
    for (std::size_t i = 0; i < table_.size(); ++i) table_[i] = static_cast<float>(i * 37 % 101) / 8;
    for (std::size_t i = 0; i < ids_.size(); ++i) ids_[i] = static_cast<int>(i / 90);
    jit_ = std::make_unique<fa::HookJit>(std::move(hooks));
    function_ = jit_->find("logit_addend");
  }

  const fa::Facts& facts() const { return facts_; }

  float operator()(int q_idx, int kv_idx) const {
    std::vector<Slot> slots;
    for (const fa::HookArg& arg : args_) slots.push_back(slot_of(arg, q_idx, kv_idx));
    Slot result;
    function_(slots.data(), &result);
    return result.f32();
  }

 private:
  Slot slot_of(const fa::HookArg& arg, int q_idx, int kv_idx) const {
    switch (arg.kind) {
      case HookArgKind::score:
        return Slot::of(0.0f);
      case HookArgKind::q_idx:
        return Slot::of(q_idx);
      case HookArgKind::kv_idx:
        return Slot::of(kv_idx);
      case HookArgKind::q_len:
        return Slot::of(kQLen);
      case HookArgKind::kv_len:
        return Slot::of(kKvLen);
      case HookArgKind::scale:
        return Slot::of(0.125f);
      case HookArgKind::param:
        return Slot::of(kReach);
      case HookArgKind::tensor:
        return Slot::of(arg.index == 0 ? static_cast<const void*>(table_.data()) : ids_.data());
      default:
        return Slot::of(arg.kind == HookArgKind::h ? 1 : 2);
    }
  }

  fa::Facts facts_;
  std::vector<fa::HookArg> args_;
  std::array<float, 2 * 257> table_{};
  std::array<int, kQLen + kKvLen> ids_{};
  std::unique_ptr<fa::HookJit> jit_;
  fa::HookJit::Function function_ = nullptr;
};

}  // namespace

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
