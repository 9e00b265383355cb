// The CPU kernel: the LLVM IR of compiler/emit/host/host, compiled by ORC for this machine. runtime/host/run
// runs it.
//
//   host_object  compiles; returns bytes that a disk cache may keep under the hash of host_key(...)
//   load_host    links those bytes
//
// A HostKernel is immutable and owns its code.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/compile.h"
#include "compiler/emit/host/backward/backward.h"
#include "compiler/emit/host/baseline/baseline.h"
#include "compiler/emit/host/host.h"
#include "compiler/spec/spec.h"
#include "compiler/target/target.h"

namespace fa {

/// A loaded object: its entries, and `code`, which keeps them in memory.
struct HostKernel {
  std::shared_ptr<void> code;
  HostInfo info{};
  HostStart start = nullptr;
  HostStep step = nullptr;
  HostFinish finish = nullptr;
  HostClass tile_class = nullptr;      // null where info.has_tile_class is 0
  HostKeeps keeps = nullptr;           // null where info.has_tile_map is 0
  std::vector<HostSummary> summaries;  // of queries first; none without a map
};

/// A loaded object of the backward pass. Its tiles and classes are in `tiles`, which has no forward entries.
struct HostBackwardKernel {
  HostKernel tiles;
  HostBackwardInfo info{};
  HostBackwardStart start = nullptr;
  HostBackwardStep step = nullptr;
  HostBackwardFinish finish = nullptr;
  HostBackwardStore store = nullptr;
};

/// A loaded object of a baseline.
struct HostBaselineKernel {
  std::shared_ptr<void> code;
  HostInfo info{};
  HostBaselineInfo baseline{};
  std::vector<HostPass> passes;
};

/// "19.1.7"
std::string_view llvm_version();
/// This machine's CPU, looked up once. Code for a CPU of the same kind with fewer features runs here, too.
const HostCpu& host_cpu();
/// Another CPU of this machine's kind, by LLVM's name and features.
HostCpu host_cpu_with(std::string name, std::string features);
/// find_target("host"), with this machine's CPU.
const Target& host_target();

/// Everything that decides the object's bytes, as text: the functions of all stages, plan, shapes, CPU name,
/// its features, LLVM's version, a hash of the sources of this compiler. Cheap: nothing is emitted. Hash it
/// for a cache key.
std::string host_key(const CheckedSpec& spec, const Compiled& compiled, const HostCpu& cpu = host_cpu());
/// The same of the object of the backward pass, whose derivatives `compiled` must have.
std::string host_backward_key(const CheckedSpec& spec, const Compiled& compiled,
                              const HostCpu& cpu = host_cpu());
/// Compiles to a relocatable object. Throws BuildError with LLVM's words where the code generator refuses.
std::string host_object(HostIr code);
/// Links an object made by host_object. Throws BuildError where the bytes are no such object.
std::shared_ptr<const HostKernel> load_host(std::string_view object);
std::shared_ptr<const HostBackwardKernel> load_host_backward(std::string_view object);
std::shared_ptr<const HostBaselineKernel> load_host_baseline(std::string_view object);

/// Its assembly: `facet emit --stage ptx` on the host.
std::string host_asm(HostIr code);

}  // namespace fa
