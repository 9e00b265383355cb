#include "compiler/analysis/mask_tensors.h"

#include "compiler/ir/llvm.h"

namespace fa {

std::vector<std::string> mask_tensors(const CheckedSpec& spec, const HookIr& hooks) {
  std::vector<std::string> names;
  if (hooks.mask_mod == nullptr) return names;
  for (std::size_t i = 0; i < spec.tensor_infos.size(); ++i) {
    const unsigned place = hooks.args.place(HookArgKind::tensor, static_cast<int>(i));
    if (!hooks.mask_mod->getArg(place)->use_empty()) names.push_back(spec.tensor_infos[i].name);
  }
  return names;
}

}  // namespace fa
