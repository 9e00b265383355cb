// LLVM as the host's assembler: this machine's code generator, ORC to link and hold the code.
#include "compiler/ir/llvm.h"

#include "runtime/host_jit.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#pragma GCC diagnostic pop

#include <cmath>
#include <cstring>
#include <map>
#include <mutex>

#include "compiler/emit/host.h"
#include "fa/error.h"
#include "runtime/host_pool.h"

#if defined(__x86_64__)
extern "C" {  // libgcc's; only their addresses are used, so their types do not matter
void __extendhfsf2();
void __truncsfhf2();
}
#endif

namespace fa {

struct HostKernel {
  std::unique_ptr<llvm::orc::LLJIT> jit;  // owns the code
  HostEntry entry = nullptr;
  HostInfo info{};
};

namespace {

[[noreturn]] void refuse(llvm::Error error, const char* what) {
  throw BuildError(what, llvm::toString(std::move(error)));
}

template <class T>
T expect(llvm::Expected<T> value, const char* what) {
  if (!value) refuse(value.takeError(), what);
  return std::move(*value);
}

std::unique_ptr<llvm::TargetMachine> target_machine(const HostCpu& cpu) {
  static const bool ready = [] {
    return !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
  }();
  std::string problem = "this LLVM has no code generator for the machine it runs on";
  const llvm::Target* target = ready ? llvm::TargetRegistry::lookupTarget(cpu.triple, problem) : nullptr;
  if (!target) throw BuildError("no code generator for " + cpu.triple, problem);
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      cpu.triple, cpu.name, cpu.features, llvm::TargetOptions{}, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      llvm::CodeGenOptLevel::Default, /*JIT=*/true));
  if (!machine) throw BuildError("no code generator for " + cpu.triple, problem);
  return machine;
}

/// All that generated code may call. Listed, not searched for: a static binary does not export them.
llvm::orc::SymbolMap known_symbols(llvm::orc::LLJIT& jit) {
  llvm::orc::SymbolMap known;
  auto add = [&](const char* name, auto* function) {
    known[jit.mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                        llvm::JITSymbolFlags::Exported};
  };
  add("sinf", static_cast<float (*)(float)>(&std::sin));
  add("cosf", static_cast<float (*)(float)>(&std::cos));
  add("memset", &std::memset);
  add("memcpy", &std::memcpy);
  // What a CPU without SSE4.1 or F16C has no instruction for.
  add("rintf", static_cast<float (*)(float)>(&std::rint));
  add("floorf", static_cast<float (*)(float)>(&std::floor));
#if defined(__x86_64__)
  add("__extendhfsf2", &__extendhfsf2);
  add("__truncsfhf2", &__truncsfhf2);
#endif
  return known;
}

/// The finished module, ready for the code generator.
void emit_module(const CheckedSpec& spec, HookIr& hooks, const Facts& facts, const Plan& plan,
                 const HostCpu& cpu, llvm::TargetMachine& machine) {
  hooks.module->setTargetTriple(machine.getTargetTriple().str());
  hooks.module->setDataLayout(machine.createDataLayout());
  emit_host(spec, hooks, facts, plan, cpu);
}

std::string generate(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type))
    throw BuildError("the host's code generator cannot write this file type",
                     machine.getTargetTriple().str());
  passes.run(module);
  return std::string(bytes.data(), bytes.size());
}

}  // namespace

const HostCpu& host_cpu() {
  static const HostCpu cpu = [] {
    std::map<std::string, bool> features;
    for (const auto& feature : llvm::sys::getHostCPUFeatures())
      features[feature.getKey().str()] = feature.getValue();
    std::string text;
    for (const auto& [name, present] : features)
      text += (text.empty() ? "" : ",") + (std::string(present ? "+" : "-") + name);
    return HostCpu::from_features(llvm::sys::getProcessTriple(), llvm::sys::getHostCPUName().str(), text);
  }();
  return cpu;
}

std::string host_key(const CheckedSpec& spec, const HookIr& hooks, const Plan& plan, const HostCpu& cpu) {
  std::string key = "host " + std::to_string(kHostVersion) + " llvm " LLVM_VERSION_STRING "\n";
  key += cpu.triple + " " + cpu.name + " " + cpu.features + "\n";
  key += plan.print() + "\n";
  key += std::string(dtype_name(spec.dtype)) + " " + std::to_string(spec.head_dim) + " " +
         std::to_string(spec.head_dim_v) + (spec.has_dropout ? " dropout\n" : "\n");
  return key + hooks.print();
}

std::string host_object(const CheckedSpec& spec, HookIr hooks, const Facts& facts, const Plan& plan,
                        const HostCpu& cpu) {
  const std::unique_ptr<llvm::TargetMachine> machine = target_machine(cpu);
  emit_module(spec, hooks, facts, plan, cpu, *machine);
  return generate(*hooks.module, *machine, llvm::CodeGenFileType::ObjectFile);
}

std::string host_asm(const CheckedSpec& spec, HookIr hooks, const Facts& facts, const Plan& plan,
                     const HostCpu& cpu) {
  const std::unique_ptr<llvm::TargetMachine> machine = target_machine(cpu);
  emit_module(spec, hooks, facts, plan, cpu, *machine);
  return generate(*hooks.module, *machine, llvm::CodeGenFileType::AssemblyFile);
}

std::string host_ir(const CheckedSpec& spec, HookIr hooks, const Facts& facts, const Plan& plan,
                    const HostCpu& cpu) {
  const std::unique_ptr<llvm::TargetMachine> machine = target_machine(cpu);
  emit_module(spec, hooks, facts, plan, cpu, *machine);
  return hooks.print();
}

std::shared_ptr<const HostKernel> load_host(std::string_view object) {
  const char* what = "the host kernel's object does not link";
  llvm::orc::JITTargetMachineBuilder machine{llvm::Triple(host_cpu().triple)};
  auto kernel = std::make_shared<HostKernel>();
  kernel->jit = expect(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(machine).create(), what);
  llvm::orc::LLJIT& jit = *kernel->jit;
  // ORC reports to stderr unless told otherwise; every error it reports comes back from a call below as well.
  jit.getExecutionSession().setErrorReporter([](llvm::Error error) { llvm::consumeError(std::move(error)); });
  if (auto error = jit.getMainJITDylib().define(llvm::orc::absoluteSymbols(known_symbols(jit))))
    refuse(std::move(error), what);
  const llvm::StringRef bytes(object.data(), object.size());
  if (auto error = jit.addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(bytes, "facet host kernel")))
    refuse(std::move(error), what);
  kernel->info = *expect(jit.lookup(kHostInfoSymbol), what).toPtr<const HostInfo*>();
  if (kernel->info.version != kHostVersion)
    throw BuildError(
        what, "it was made by version " + std::to_string(kernel->info.version) + " of the host back end");
  kernel->entry = expect(jit.lookup(kHostEntrySymbol), what).toPtr<HostEntry>();
  return kernel;
}

std::shared_ptr<const HostKernel> build_host(const CheckedSpec& spec, HookIr hooks, const Facts& facts,
                                             const Plan& plan, const HostCpu& cpu) {
  return load_host(host_object(spec, std::move(hooks), facts, plan, cpu));
}

std::size_t host_workspace_bytes(const HostKernel& kernel) { return kernel.info.workspace_bytes; }

void run_host(const HostKernel& kernel, const ForwardParams& params, int num_threads) {
  if (params.batch < 1 || params.num_q_heads < 1 || params.q_len < 1) return;
  const auto tile = static_cast<std::size_t>(kernel.info.tile_q);
  const std::size_t tiles = (static_cast<std::size_t>(params.q_len) + tile - 1) / tile;
  const std::size_t heads =
      static_cast<std::size_t>(params.batch) * static_cast<std::size_t>(params.num_q_heads);
  run_items(tiles * heads, num_threads, kernel.info.workspace_bytes, [&](std::size_t item, void* workspace) {
    // A head's tiles run together, so that its K and V stay in cache; the last first, as causal masks make it
    // the longest.
    const std::size_t head = item / tiles;
    const std::size_t first = (tiles - 1 - item % tiles) * tile;
    const auto q_heads = static_cast<std::size_t>(params.num_q_heads);
    kernel.entry(&params, workspace, static_cast<std::int32_t>(head / q_heads),
                 static_cast<std::int32_t>(head % q_heads), static_cast<std::int32_t>(first));
  });
}

}  // namespace fa
