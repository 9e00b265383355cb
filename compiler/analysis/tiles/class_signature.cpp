#include "compiler/ir/llvm.h"
// after llvm.h
#include "compiler/analysis/tiles/class_signature.h"

#include <iterator>

namespace fa {
namespace {

constexpr unsigned kTile = static_cast<unsigned>(std::size(kClassArgNames));

}  // namespace

llvm::Argument* class_argument(const llvm::Function& tile_class, ClassArg which) {
  return tile_class.getArg(static_cast<unsigned>(which));
}

llvm::Argument* class_uniform(const llvm::Function& tile_class, HookArgKind kind) {
  return tile_class.getArg(kTile + place_of(kind) - kFirstUniform);
}

llvm::Argument* summary_argument(const llvm::Function& summary, SummaryArg which) {
  return summary.getArg(static_cast<unsigned>(which));
}

llvm::Argument* summary_end(const llvm::Function& tile_class, int j, bool is_high,
                            const llvm::Function& mask) {
  const unsigned uniforms = static_cast<unsigned>(mask.arg_size()) - kFirstUniform;
  return tile_class.getArg(kTile + uniforms + 2 * static_cast<unsigned>(j) + (is_high ? 1 : 0));
}

llvm::Argument* uniform_in(const llvm::Function& derived, std::size_t leading,
                           const llvm::Argument& uniform) {
  return derived.getArg(static_cast<unsigned>(leading) + uniform.getArgNo() - kFirstUniform);
}

}  // namespace fa
