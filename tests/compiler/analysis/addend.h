// The addend of a score_mod, and its slope, at single elements: the functions that the analysis made,
// compiled.
#pragma once

#include <fmt/format.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "compiler/analysis/facts.h"
#include "compiler/spec/spec.h"
#include "runtime/host/hook_jit.h"

namespace fa::test {

constexpr int kQLen = 300, kKvLen = 500, kReach = 40;

inline Spec spec_of(const std::string& score_mod, const std::string& mask_mod) {
  return Spec::parse(
      fmt::format("attention probe\nhead_dim 64\ndtype bf16\nparam reach : i32 = {}\n"
                  "tensor table : f32[num_q_heads, 257]\ntensor ids : i32[q_len + kv_len]\n"
                  "score_mod = {}\nmask_mod = {}\n",
                  kReach, score_mod, mask_mod));
}

/// The addend of a spec at one element.
class Addend {
 public:
  explicit Addend(const Spec& spec) {
    const HookIr hooks = lower(spec.checked());
    facts_ = analyse(spec.checked(), hooks);
    args_ = hooks.args;
    for (std::size_t i = 0; i < table_.size(); ++i) table_[i] = static_cast<float>(i * 37 % 101) / 8;
    for (std::size_t i = 0; i < ids_.size(); ++i) ids_[i] = static_cast<int>(i / 90);
    jit_ = std::make_unique<HookJit>(merge_modules({facts_.logits.module}));
    function_ = jit_->find("logit_addend");
    if (facts_.addend_is_linear) slope_ = jit_->find("logit_addend_slope");
  }

  const Facts& facts() const { return facts_; }

  float operator()(int q_idx, int kv_idx) const { return call(function_, q_idx, kv_idx); }

  /// Where the addend is linear.
  float slope(int q_idx, int kv_idx) const { return call(slope_, q_idx, kv_idx); }

 private:
  float call(HookJit::Function function, int q_idx, int kv_idx) const {
    std::vector<Slot> slots;
    for (const HookArg& arg : args_) slots.push_back(slot_of(arg, q_idx, kv_idx));
    Slot result;
    function(slots.data(), &result);
    return result.f32();
  }

  Slot slot_of(const HookArg& arg, int q_idx, int kv_idx) const {
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

  Facts facts_;
  HookSignature args_;
  std::array<float, 2 * 257> table_{};
  std::array<int, kQLen + kKvLen> ids_{};
  std::unique_ptr<HookJit> jit_;
  HookJit::Function function_ = nullptr;
  HookJit::Function slope_ = nullptr;
};

}  // namespace fa::test
