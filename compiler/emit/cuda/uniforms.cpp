// Arguments that are the same for all elements of a batch entry, as device code reads them.
#include <fmt/format.h>

#include "compiler/emit/cuda/hooks.h"

namespace fa {
namespace {

std::string_view pointer_type(DType dtype) {
  switch (dtype) {
    case DType::f16:
    case DType::bf16:
      return "const unsigned short*";
    case DType::f32:
      return "const float*";
    case DType::i32:
    case DType::i64:
      return "const int*";
    case DType::i8:
    case DType::u8:
    case DType::boolean:
      break;
  }
  return "const signed char*";
}

}  // namespace

std::string print_uniform(const HookArg& arg, std::string_view b) {
  switch (arg.kind) {
    case HookArgKind::param:
      return fmt::format("p.params[{}].{}", arg.index, arg.type == Type::f32 ? "f32" : "i32");
    case HookArgKind::tensor:
      return fmt::format("static_cast<{}>(p.tensors[{}])", pointer_type(arg.dtype), arg.index);
    case HookArgKind::q_len:
    case HookArgKind::kv_len:
      return fmt::format("Sequence::{}(p, {})", arg.name, b);
    default:
      return "p." + arg.name;  // batch, scale, ...: CallParams has their names
  }
}

std::string print_uniforms(const HookSignature& args, std::string_view b) {
  std::string text;
  for (const HookArg& arg : args)
    if (arg.is_uniform()) text += ", " + print_uniform(arg, b);
  return text;
}

}  // namespace fa
