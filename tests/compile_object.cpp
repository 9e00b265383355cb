#include "tests/compile_object.h"

#include "compiler/ir/llvm/jit.h"
// after llvm.h
#include <memory>

#include "fa/error.h"
#include "runtime/host/jit.h"

namespace fa::test {

std::string compile_object(llvm::Module& module) {
  const HostCpu& cpu = host_cpu();  // initialises LLVM for this machine, too
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(cpu.triple, error);
  if (target == nullptr) throw InternalError(error);
  const std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      cpu.triple, cpu.name, cpu.features, {}, llvm::Reloc::PIC_, llvm::CodeModel::Small));
  module.setDataLayout(machine->createDataLayout());
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    throw InternalError("this target writes no object files");
  passes.run(module);
  return std::string(bytes.data(), bytes.size());
}

}  // namespace fa::test
