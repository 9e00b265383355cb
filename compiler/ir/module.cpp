// Each module's deleter holds the context, which so outlives all modules made in it.
#include "compiler/ir/llvm.h"
// after llvm.h
#include "compiler/ir/llvm/cloning.h"
#include "compiler/ir/module.h"

namespace fa {
namespace {

struct Deleter {
  std::shared_ptr<llvm::LLVMContext> context;
  void operator()(llvm::Module* module) const { delete module; }
};

std::shared_ptr<llvm::Module> make_module_in(std::shared_ptr<llvm::LLVMContext> context,
                                             const std::string& name) {
  auto module = std::make_unique<llvm::Module>(name, *context);
  return std::shared_ptr<llvm::Module>(module.release(), Deleter{std::move(context)});
}

}  // namespace

std::shared_ptr<llvm::Module> make_module(const std::string& name) {
  return make_module_in(std::make_shared<llvm::LLVMContext>(), name);
}

std::shared_ptr<llvm::Module> make_module(const std::string& name, const IrModule& beside) {
  // `beside` keeps its context alive, so that it can stand for the context here.
  return make_module_in(std::shared_ptr<llvm::LLVMContext>(beside, &beside->getContext()), name);
}

llvm::Function* copy_function(const llvm::Function& function, llvm::Module& to, const char* name,
                              llvm::Type* result) {
  llvm::FunctionType* type = function.getFunctionType();
  if (result != nullptr) type = llvm::FunctionType::get(result, type->params(), false);
  llvm::Function* copy = llvm::Function::Create(type, function.getLinkage(), name, to);
  llvm::ValueToValueMapTy map;
  for (const llvm::Argument& argument : function.args()) {
    llvm::Argument* copied = copy->getArg(argument.getArgNo());
    copied->setName(argument.getName());
    map[&argument] = copied;
  }
  for (const llvm::BasicBlock& block : function)
    for (const llvm::Instruction& instruction : block)
      for (const llvm::Value* operand : instruction.operands())
        if (const auto* callee = llvm::dyn_cast<llvm::Function>(operand))
          map[callee] =
              to.getOrInsertFunction(callee->getName(), callee->getFunctionType(), callee->getAttributes())
                  .getCallee();
  llvm::SmallVector<llvm::ReturnInst*, 1> returns;
  // As of a cloned module: hooks have no debug information, of which DifferentModule would begin a list.
  llvm::CloneFunctionInto(copy, &function, map, llvm::CloneFunctionChangeType::ClonedModule, returns);
  return copy;
}

std::shared_ptr<llvm::Module> merge_modules(std::initializer_list<IrModule> modules) {
  const IrModule& first = *modules.begin();
  std::shared_ptr<llvm::Module> merged = make_module(first->getName().str(), first);
  for (const IrModule& module : modules) {
    if (module == nullptr) continue;
    for (const llvm::Function& function : *module)
      if (!function.isDeclaration()) copy_function(function, *merged, function.getName().str().c_str());
  }
  return merged;
}

std::string print_module(const llvm::Module* module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (module != nullptr) module->print(stream, nullptr);
  return text;
}

}  // namespace fa
