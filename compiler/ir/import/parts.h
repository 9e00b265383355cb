// The steps of importing a hook, each a verb. Internal to compiler/ir/import.
#pragma once

#include "compiler/ir/llvm.h"
// after llvm.h
#include <memory>
#include <string>
#include <string_view>

#include "compiler/ir/import/import.h"

namespace fa {

/// The reason why a file holds no hook; import.cpp makes a finding of it.
struct Refusal {
  std::string message;
  std::string remedy;
};

/// "score_mod" or "mask_mod": the function's name in the file.
std::string hook_name(HookKind kind);

/// An instruction as messages show it: its text on one line, and where its source is if the file says so.
std::string quote(const llvm::Value& value);

/// Text or bitcode to a verified module with Facet's data layout and no triple. Throws Refusal.
std::unique_ptr<llvm::Module> read_hook_module(const std::string& bytes, llvm::LLVMContext& context);

/// Text of a later LLVM without the words that only later versions know and that do not affect values. Lines
/// keep their numbers.
std::string without_newer_words(const std::string& text);

/// Throws Refusal, with the line, where LLVM would run out of stack, memory or time reading the text.
void refuse_unreadable_text(std::string_view text);

/// The first line of text whose instruction makes a value and has a label among its operands, or 0.
int line_of_label_value(std::string_view text);

/// The hook's function, its signature checked. Throws Refusal.
llvm::Function& find_hook(llvm::Module& module, HookKind kind);

/// Turns vector instructions, which a vectoriser made, back into scalar ones, by LLVM's own passes.
void scalarise(llvm::Module& module);

/// Inlines, promotes and unrolls until the function has no call to a function of its file, no loop and one
/// return. Throws Refusal where that cannot be.
void normalise(llvm::Function& hook);

/// The normalised function as an expression over the spec's names. Throws Refusal.
ExprPtr translate(const CheckedSpec& spec, const HookFile& file, llvm::Function& hook);

}  // namespace fa
