// Modules of LLVM IR as parts of a stage's value. A stage that makes functions makes a module of its own for
// them; where it starts from functions of an earlier stage it copies them. So nothing changes a value after
// its stage has returned it.
//
// All modules of one compile share one LLVMContext, so that types and constants of different stages are the
// same objects. A context is not thread-safe: one thread at a time uses the values of one compile.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>

namespace llvm {
class Function;
class LLVMContext;
class Module;
class Type;
}  // namespace llvm

namespace fa {

/// Keeps its context alive.
using IrModule = std::shared_ptr<const llvm::Module>;

/// An empty module in a context of its own, or in the context of `beside`.
std::shared_ptr<llvm::Module> make_module(const std::string& name);
std::shared_ptr<llvm::Module> make_module(const std::string& name, const IrModule& beside);

/// A copy of `function` named `name` in `to`, a module of the same context. What it calls is declared there. With another
/// `result`, the caller is to make the copy return a value of that type.
llvm::Function* copy_function(const llvm::Function& function, llvm::Module& to, const char* name,
                              llvm::Type* result = nullptr);

/// One module with copies of all functions of `modules`, of which the first is not null. Their names differ.
std::shared_ptr<llvm::Module> merge_modules(std::initializer_list<IrModule> modules);

/// Textual LLVM IR; empty for null.
std::string print_module(const llvm::Module* module);

}  // namespace fa
