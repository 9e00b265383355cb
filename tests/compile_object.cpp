#include "tests/compile_object.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetMachine.h>
#pragma GCC diagnostic pop

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
