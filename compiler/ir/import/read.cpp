// Turns a file's bytes into a module: text or bitcode of this LLVM or an earlier one, and text of a later one
// whose new words are attributes.
#include "compiler/ir/import/parts.h"
#include "compiler/ir/llvm/reading.h"
// after llvm.h
#include <fmt/format.h>

namespace fa {
namespace {

// Whatever machine the file was made for: elements have the same sizes everywhere, and hooks hold no
// structures.
constexpr const char* kLayout = "e-m:e-i64:64-i128:128-f80:128-n8:16:32:64-S128";

std::unique_ptr<llvm::Module> parse(llvm::StringRef bytes, llvm::LLVMContext& context,
                                    llvm::SMDiagnostic& error) {
  const auto layout = [](llvm::StringRef, llvm::StringRef) { return std::string(kLayout); };
  return llvm::parseIR(llvm::MemoryBufferRef(bytes, "hook"), error, context, llvm::ParserCallbacks(layout));
}

// Lifetimes say nothing about values, and later LLVMs write them with other arguments.
void drop_lifetimes(llvm::Module& module) {
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    if (!function.getName().starts_with("llvm.lifetime.")) continue;
    for (llvm::User* user : llvm::make_early_inc_range(function.users()))
      if (auto* call = llvm::dyn_cast<llvm::CallInst>(user)) call->eraseFromParent();
    if (function.use_empty()) function.eraseFromParent();
  }
}

std::string signature(HookKind kind, bool in_rust) {
  if (kind == HookKind::score_mod)
    return in_rust ? "extern \"C\" fn score_mod(score: f32, b: i32, h: i32, q_idx: i32, kv_idx: i32) -> f32"
                   : "float score_mod(float score, int b, int h, int q_idx, int kv_idx)";
  return in_rust ? "extern \"C\" fn mask_mod(b: i32, h: i32, q_idx: i32, kv_idx: i32) -> bool"
                 : "bool mask_mod(int b, int h, int q_idx, int kv_idx)";
}

// A function that would be the hook if the file's language had not changed its name.
const llvm::Function* mangled_hook(const llvm::Module& module, const std::string& name) {
  for (const llvm::Function& function : module) {
    const std::string plain = llvm::demangle(function.getName());
    const std::size_t at = plain.find(name);
    const bool is_whole = at != std::string::npos && (at == 0 || plain[at - 1] == ':') &&
                          (at + name.size() == plain.size() || plain[at + name.size()] == '(');
    if (!function.isDeclaration() && is_whole) return &function;
  }
  return nullptr;
}

}  // namespace

std::string quote(const llvm::Value& value) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  value.print(stream);
  text.erase(0, text.find_first_not_of(' '));
  text = text.substr(0, text.find('\n'));
  text = text.substr(0, text.find(", !"));  // metadata
  if (const std::size_t group = text.rfind(" #"); group != std::string::npos) text.resize(group);
  std::string where;
  if (const auto* instruction = llvm::dyn_cast<llvm::Instruction>(&value))
    if (const llvm::DebugLoc& at = instruction->getDebugLoc())
      where = fmt::format(" ({}:{})", at->getFilename().str(), at.getLine());
  return fmt::format("`{}`{}", text, where);
}

std::unique_ptr<llvm::Module> read_hook_module(const std::string& bytes, llvm::LLVMContext& context) {
  // LLVM's messages are not printed: those that matter become errors here.
  context.setDiagnosticHandlerCallBack([](const llvm::DiagnosticInfo*, void*) {});
  const auto* begin = reinterpret_cast<const unsigned char*>(bytes.data());
  const bool is_bitcode = llvm::isBitcode(begin, begin + bytes.size());
  if (!is_bitcode) refuse_unreadable_text(bytes);
  if (const int line = is_bitcode ? 0 : line_of_label_value(bytes); line != 0)
    throw Refusal{fmt::format("not valid LLVM IR: line {} has a label where a value belongs", line),
                  "give the file as the compiler wrote it"};
  llvm::SMDiagnostic error;
  std::unique_ptr<llvm::Module> module = parse(bytes, context, error);
  if (module == nullptr && !is_bitcode) {
    llvm::SMDiagnostic second;
    module = parse(without_newer_words(bytes), context, second);
  }
  if (module == nullptr) {
    const std::string where =
        error.getLineNo() > 0 ? fmt::format("{}:{}: ", error.getLineNo(), error.getColumnNo() + 1) : "";
    throw Refusal{fmt::format("{}{}", where, error.getMessage().str()),
                  fmt::format("hooks are read as LLVM {} reads them: {}", LLVM_VERSION_STRING,
                              is_bitcode ? "of a later LLVM, give the text (clang -S -emit-llvm, rustc "
                                           "--emit=llvm-ir) instead of bitcode"
                                         : "make the file with that version or an earlier one")};
  }
  drop_lifetimes(*module);
  std::string why;
  llvm::raw_string_ostream stream(why);
  if (llvm::verifyModule(*module, &stream))
    throw Refusal{fmt::format("not valid LLVM IR: {}", why.substr(0, why.find('\n'))),
                  fmt::format("`opt-{} -passes=verify` says more", LLVM_VERSION_MAJOR)};
  module->setTargetTriple("");
  return module;
}

llvm::Function& find_hook(llvm::Module& module, HookKind kind) {
  const std::string name = hook_name(kind);
  llvm::Function* function = module.getFunction(name);
  if (function == nullptr || function->isDeclaration()) {
    if (const llvm::Function* other = mangled_hook(module, name))
      throw Refusal{fmt::format("no function @{}, but @{}", name, other->getName().str()),
                    "write extern \"C\" before it in C++, #[no_mangle] in Rust"};
    throw Refusal{fmt::format("no function @{}", name),
                  fmt::format("define `{}`, in Rust `{}`", signature(kind, false), signature(kind, true))};
  }
  llvm::LLVMContext& context = module.getContext();
  llvm::Type* i32 = llvm::Type::getInt32Ty(context);
  llvm::Type* f32 = llvm::Type::getFloatTy(context);
  const bool is_score = kind == HookKind::score_mod;
  std::vector<llvm::Type*> arguments(is_score ? 1 : 0, f32);
  arguments.insert(arguments.end(), 4, i32);
  const auto* wanted =
      llvm::FunctionType::get(is_score ? f32 : llvm::Type::getInt1Ty(context), arguments, false);
  if (function->getFunctionType() != wanted) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << "@" << name << " has the type `" << *function->getFunctionType() << "`; a " << name << " has `"
           << *wanted << "`";
    throw Refusal{
        text, fmt::format("declare it `{}`, in Rust `{}`", signature(kind, false), signature(kind, true))};
  }
  return *function;
}

}  // namespace fa
