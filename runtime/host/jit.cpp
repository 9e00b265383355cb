// LLVM as the host's assembler: this machine's code generator, ORC to link and hold the code.
#include "compiler/ir/llvm/jit.h"
#include "compiler/ir/llvm.h"

#include "runtime/host/jit.h"

#include <cmath>
#include <cstring>
#include <map>
#include <mutex>

#include "compiler/emit/host/host.h"
#include "compiler/emit/host/sources_hash.h"
#include "fa/error.h"
#include "runtime/system/options.h"

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#if defined(__x86_64__)
extern "C" {  // libgcc's; only their addresses are used, so their types do not matter
void __extendhfsf2();
void __truncsfhf2();
}
#endif

namespace fa {

namespace {

[[noreturn]] void refuse(llvm::Error error, const char* what) {
  throw BuildError(what, llvm::toString(std::move(error)));
}

template <class T>
T expect(llvm::Expected<T> value, const char* what) {
  if (!value) refuse(value.takeError(), what);
  return std::move(*value);
}

bool may_use_tiles() {
#if defined(__x86_64__) && defined(__linux__)
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

/// Whether kernels may use a feature of LLVM's name. What depends on one that they may not use goes with it.
bool is_within(CpuLevel level, const std::string& feature) {
  if (feature.starts_with("amx-")) return level >= CpuLevel::all;
  if (feature == "avx512bf16") return level >= CpuLevel::avx512_bf16;
  const bool is_avx512 =
      feature.starts_with("avx512") || feature.starts_with("avx10") || feature == "evex512";
  return !is_avx512 || level >= CpuLevel::avx512;
}

/// Whether LLVM has a code generator for this machine. Making code and linking it both ask first: a process
/// whose kernels all come from a cache makes none.
bool has_native_target() {
  static const bool ready = [] {
    return !llvm::InitializeNativeTarget() && !llvm::InitializeNativeTargetAsmPrinter();
  }();
  return ready;
}

std::unique_ptr<llvm::TargetMachine> target_machine(const HostCpu& cpu) {
  std::string problem = "this LLVM has no code generator for the machine it runs on";
  const llvm::Target* target =
      has_native_target() ? llvm::TargetRegistry::lookupTarget(cpu.triple, problem) : nullptr;
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
  add("ceilf", static_cast<float (*)(float)>(&std::ceil));
  add("truncf", static_cast<float (*)(float)>(&std::trunc));
  add("roundevenf", static_cast<float (*)(float)>(&std::nearbyint));
#if defined(__x86_64__)
  add("__extendhfsf2", &__extendhfsf2);
  add("__truncsfhf2", &__truncsfhf2);
#endif
  return known;
}

std::string generate(const HostIr& code, llvm::CodeGenFileType type) {
  const std::unique_ptr<llvm::TargetMachine> machine = target_machine(code.cpu);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager passes;
  if (machine->addPassesToEmitFile(passes, stream, nullptr, type))
    throw BuildError("the host's code generator cannot write this file type",
                     machine->getTargetTriple().str());
  passes.run(*code.module);
  return std::string(bytes.data(), bytes.size());
}

}  // namespace

std::string_view llvm_version() { return LLVM_VERSION_STRING; }

const HostCpu& host_cpu() {
  static const HostCpu cpu = [] {
    std::map<std::string, bool> features;
    for (const auto& feature : llvm::sys::getHostCPUFeatures())
      features[feature.getKey().str()] =
          feature.getValue() && is_within(environment().cpu, feature.getKey().str());
    // Linux lets a process use the tile registers when it has asked; a sandbox may refuse.
    if (features["amx-tile"] && !may_use_tiles()) features["amx-tile"] = false;
    std::string text;
    for (const auto& [name, present] : features)
      text += (text.empty() ? "" : ",") + (std::string(present ? "+" : "-") + name);
    HostCpu found =
        HostCpu::from_features(llvm::sys::getProcessTriple(), llvm::sys::getHostCPUName().str(), text);
    found.data_layout = target_machine(found)->createDataLayout().getStringRepresentation();
    return found;
  }();
  return cpu;
}

HostCpu host_cpu_with(std::string name, std::string features) {
  return HostCpu::from_features(host_cpu().triple, std::move(name), std::move(features),
                                host_cpu().data_layout);
}

const Target& host_target() {
  static const Target target = [] {
    Target host = find_target("host");
    host.cpu = &host_cpu();
    return host;
  }();
  return target;
}

std::string host_key(const CheckedSpec& spec, const Compiled& compiled, const HostCpu& cpu) {
  std::string key = "host, compiler " + std::string(sources_hash()) + ", LLVM " LLVM_VERSION_STRING "\n";
  key += cpu.triple + " " + cpu.name + " " + cpu.features + "\n";
  key += compiled.choice.plan.print() + "\n";
  key += std::string(dtype_name(spec.dtype)) + " " + std::to_string(spec.head_dim) + " " +
         std::to_string(spec.head_dim_v) + (spec.has_dropout ? " dropout\n" : "\n");
  for (const IrModule& module :
       {compiled.hooks.module, compiled.facts.logits.module, compiled.classes.module})
    key += print_module(module.get());
  return key;
}

std::string host_backward_key(const CheckedSpec& spec, const Compiled& compiled, const HostCpu& cpu) {
  return "backward of " + spec.text + host_key(spec, compiled, cpu) +
         print_module(compiled.derivatives->module.get()) + compiled.derivatives->print();
}

std::string host_object(HostIr code) { return generate(code, llvm::CodeGenFileType::ObjectFile); }
std::string host_asm(HostIr code) { return generate(code, llvm::CodeGenFileType::AssemblyFile); }

namespace {

constexpr const char* kDoesNotLink = "the host kernel's object does not link";

/// A linked object.
class Linked {
 public:
  explicit Linked(std::string_view object) {
    if (!has_native_target())
      throw BuildError(kDoesNotLink, "this LLVM has no code generator for this machine");
    llvm::orc::JITTargetMachineBuilder machine{llvm::Triple(host_cpu().triple)};
    jit_ = expect(llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(machine).create(), kDoesNotLink);
    // By default ORC reports to stderr; a call below returns every such error as well.
    jit_->getExecutionSession().setErrorReporter(
        [](llvm::Error error) { llvm::consumeError(std::move(error)); });
    if (auto error = jit_->getMainJITDylib().define(llvm::orc::absoluteSymbols(known_symbols(*jit_))))
      refuse(std::move(error), kDoesNotLink);
    const llvm::StringRef bytes(object.data(), object.size());
    if (auto error = jit_->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(bytes, "facet host kernel")))
      refuse(std::move(error), kDoesNotLink);
  }

  template <class T>
  T find(const std::string& symbol) const {
    return expect(jit_->lookup(symbol), kDoesNotLink).template toPtr<T>();
  }

  /// All of a HostKernel but the entries of its pass.
  HostKernel tiles() const {
    HostKernel kernel;
    kernel.info = *find<const HostInfo*>(kHostInfoSymbol);
    const HostInfo& info = kernel.info;
    if (info.has_tile_class != 0) kernel.tile_class = find<HostClass>(kHostClassSymbol);
    if (info.has_tile_map != 0) {
      kernel.keeps = find<HostKeeps>(kHostKeepsSymbol);
      for (std::uint32_t j = 0; j < info.num_query_summaries + info.num_key_summaries; ++j)
        kernel.summaries.push_back(find<HostSummary>(kHostSummarySymbol + std::to_string(j)));
    }
    kernel.code = jit_;
    return kernel;
  }

 private:
  std::shared_ptr<llvm::orc::LLJIT> jit_;
};

}  // namespace

std::shared_ptr<const HostKernel> load_host(std::string_view object) {
  const Linked linked(object);
  auto kernel = std::make_shared<HostKernel>(linked.tiles());
  kernel->start = linked.find<HostStart>(kHostStartSymbol);
  kernel->step = linked.find<HostStep>(kHostStepSymbol);
  kernel->finish = linked.find<HostFinish>(kHostFinishSymbol);
  return kernel;
}

std::shared_ptr<const HostBackwardKernel> load_host_backward(std::string_view object) {
  const Linked linked(object);
  return std::make_shared<HostBackwardKernel>(
      HostBackwardKernel{.tiles = linked.tiles(),
                         .info = *linked.find<const HostBackwardInfo*>(kHostBackwardInfoSymbol),
                         .start = linked.find<HostBackwardStart>(kHostBackwardStartSymbol),
                         .step = linked.find<HostBackwardStep>(kHostBackwardStepSymbol),
                         .finish = linked.find<HostBackwardFinish>(kHostBackwardFinishSymbol),
                         .store = linked.find<HostBackwardStore>(kHostBackwardStoreSymbol)});
}

std::shared_ptr<const HostBaselineKernel> load_host_baseline(std::string_view object) {
  const Linked linked(object);
  const HostKernel tiles = linked.tiles();
  auto kernel = std::make_shared<HostBaselineKernel>(
      HostBaselineKernel{.code = tiles.code,
                         .info = tiles.info,
                         .baseline = *linked.find<const HostBaselineInfo*>(kHostBaselineInfoSymbol),
                         .passes = {}});
  for (std::uint32_t pass = 0; pass < kernel->baseline.passes; ++pass)
    kernel->passes.push_back(linked.find<HostPass>(kHostPassSymbol + std::to_string(pass)));
  return kernel;
}

}  // namespace fa
