// HookIr as a value: who owns what, and how it prints.
#include "compiler/ir/llvm.h"
// after llvm.h
#include "compiler/ir/hook_ir.h"

#include <memory>
#include <utility>

namespace fa {

HookIr::HookIr() = default;
HookIr::HookIr(HookIr&&) noexcept = default;
HookIr::~HookIr() = default;

// As a whole, since the old module has to go before the old context, which owns its constants.
HookIr& HookIr::operator=(HookIr&& other) noexcept {
  if (this == &other) return *this;
  std::destroy_at(this);
  return *std::construct_at(this, std::move(other));
}

std::string HookIr::print() const {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (module) module->print(stream, nullptr);
  return text;
}

std::vector<HookArg> hook_args(const CheckedSpec& spec) {
  std::vector<HookArg> args = {
      {.kind = HookArgKind::score, .name = "score", .type = Type::f32},
      {.kind = HookArgKind::b, .name = "b"},
      {.kind = HookArgKind::h, .name = "h"},
      {.kind = HookArgKind::q_idx, .name = "q_idx"},
      {.kind = HookArgKind::kv_idx, .name = "kv_idx"},
      {.kind = HookArgKind::batch, .name = "batch"},
      {.kind = HookArgKind::num_q_heads, .name = "num_q_heads"},
      {.kind = HookArgKind::num_kv_heads, .name = "num_kv_heads"},
      {.kind = HookArgKind::group_size, .name = "group_size"},
      {.kind = HookArgKind::q_len, .name = "q_len"},
      {.kind = HookArgKind::kv_len, .name = "kv_len"},
      {.kind = HookArgKind::scale, .name = "scale", .type = Type::f32},
  };
  for (int i = 0; i < static_cast<int>(spec.params.size()); ++i) {
    const ParamInfo& param = spec.params[static_cast<std::size_t>(i)];
    const bool is_float = std::holds_alternative<float>(param.default_value);
    args.push_back({.kind = HookArgKind::param,
                    .index = i,
                    .name = "p." + param.name,
                    .type = is_float ? Type::f32 : Type::i32});
  }
  for (int i = 0; i < static_cast<int>(spec.tensors.size()); ++i) {
    const TensorInfo& tensor = spec.tensors[static_cast<std::size_t>(i)].info;
    args.push_back(
        {.kind = HookArgKind::tensor, .index = i, .name = "t." + tensor.name, .dtype = tensor.dtype});
  }
  return args;
}

}  // namespace fa
