// The steps of importing in order (read, normalise, translate), and the findings made of refusals.
#include "compiler/ir/import/import.h"

#include <fmt/format.h>

#include "compiler/ir/import/parts.h"
#include "compiler/spec/parse/ast.h"

namespace fa {
namespace {

[[noreturn]] void report(const CheckedSpec& spec, const HookFile& file, const Refusal& refusal) {
  throw SpecError({Diagnostic{.place = {.file = spec.file, .line = file.line, .column = file.column},
                              .message = fmt::format("'{}': {}", file.path, refusal.message),
                              .remedy = refusal.remedy,
                              .source_line = spec.ast->source->line(file.line),
                              .length = static_cast<int>(file.path.size()) + 2}});
}

/// The context lives until the expressions are made; those hold nothing of LLVM's.
template <class Use>
auto with_normalised(const CheckedSpec& spec, const HookFile& file, HookKind kind, Use use) {
  if (file.bytes == nullptr) throw InternalError("a hook's file was never read");
  try {
    llvm::LLVMContext context;
    const std::unique_ptr<llvm::Module> module = read_hook_module(*file.bytes, context);
    llvm::Function& hook = find_hook(*module, kind);
    normalise(hook);
    return use(hook);
  } catch (const Refusal& refusal) {
    report(spec, file, refusal);
  }
}

ExprPtr import_hook(const CheckedSpec& spec, const HookFile& file, HookKind kind) {
  return with_normalised(spec, file, kind, [&](llvm::Function& hook) { return translate(spec, file, hook); });
}

}  // namespace

std::string hook_name(HookKind kind) { return kind == HookKind::score_mod ? "score_mod" : "mask_mod"; }

CheckedSpec import_hooks(const CheckedSpec& spec) {
  CheckedSpec imported = spec;
  if (!spec.score_from.path.empty())
    imported.score_mod = import_hook(spec, spec.score_from, HookKind::score_mod);
  if (!spec.mask_from.path.empty()) imported.mask_mod = import_hook(spec, spec.mask_from, HookKind::mask_mod);
  return imported;
}

std::string print_normalised(const CheckedSpec& spec, HookKind kind) {
  const HookFile& file = kind == HookKind::score_mod ? spec.score_from : spec.mask_from;
  return with_normalised(spec, file, kind, [](llvm::Function& hook) {
    std::string text;
    llvm::raw_string_ostream(text) << hook;
    return text;
  });
}

}  // namespace fa
