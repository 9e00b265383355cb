#include "compiler/ir/llvm.h"
// after llvm.h
#include "compiler/ir/signature.h"
#include "fa/error.h"

namespace fa {

HookSignature::HookSignature(const CheckedSpec& spec)
    : args_({
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
      }) {
  for (int i = 0; i < static_cast<int>(spec.params.size()); ++i) {
    const ParamInfo& param = spec.params[static_cast<std::size_t>(i)];
    const bool is_float = std::holds_alternative<float>(param.default_value);
    args_.push_back({.kind = HookArgKind::param,
                     .index = i,
                     .name = "p." + param.name,
                     .type = is_float ? Type::f32 : Type::i32});
  }
  for (int i = 0; i < static_cast<int>(spec.tensors.size()); ++i) {
    const TensorInfo& tensor = spec.tensors[static_cast<std::size_t>(i)].info;
    args_.push_back(
        {.kind = HookArgKind::tensor, .index = i, .name = "t." + tensor.name, .dtype = tensor.dtype});
  }
}

unsigned HookSignature::place(HookArgKind kind, int index) const {
  for (std::size_t i = 0; i < args_.size(); ++i)
    if (args_[i].kind == kind && args_[i].index == index) return static_cast<unsigned>(i);
  throw InternalError("a hook names an argument that its signature does not list");
}

llvm::Argument* hook_argument(const llvm::Function& hook, HookArgKind kind) {
  return hook.getArg(place_of(kind));
}

bool is_hook_argument(const llvm::Argument& value, HookArgKind kind) {
  return value.getArgNo() == place_of(kind);
}

}  // namespace fa
