// The CPU kernel: compiler/emit/host/host's LLVM IR, compiled by ORC for this machine. runtime/host/run runs it.
//
//   build_host  = load_host(host_object(...)): the usual way from a front end's values to a kernel
//   host_object -> bytes that a disk cache may keep under the hash of host_key(...); load_host takes them
//   back
//
// A HostKernel is immutable and owns its code.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/analysis/facts.h"
#include "compiler/analysis/tiles/tile_class.h"
#include "compiler/emit/host/host.h"
#include "compiler/ir/hook_ir.h"
#include "compiler/schedule/plan.h"
#include "compiler/spec/spec.h"
#include "compiler/target/target.h"

namespace fa {

/// A loaded object: its entries, and what keeps them there.
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

/// "19.1.7"
std::string_view llvm_version();
/// This machine, looked up once. Code for a lesser CPU of the same kind runs here too.
const HostCpu& host_cpu();
/// find_target("host"), with what its CPU has.
const Target& host_target();

/// Emits, compiles and links. `classes` are of these hooks. Throws BuildError with LLVM's words where the
/// code generator refuses.
std::shared_ptr<const HostKernel> build_host(const CheckedSpec& spec, HookIr hooks, const Facts& facts,
                                             const TileClasses& classes, const Plan& plan,
                                             const HostCpu& cpu = host_cpu());

/// Everything that decides the object's bytes, as text: hooks, plan, shapes, CPU name, its features, LLVM's
/// version, a hash of the sources of this compiler. Cheap: nothing is emitted. Hash it for a cache key.
std::string host_key(const CheckedSpec& spec, const HookIr& hooks, const Plan& plan,
                     const HostCpu& cpu = host_cpu());
/// Emits and compiles to a relocatable object.
std::string host_object(const CheckedSpec& spec, HookIr hooks, const Facts& facts, const TileClasses& classes,
                        const Plan& plan, const HostCpu& cpu = host_cpu());
/// Links an object made by host_object. Throws BuildError where the bytes are no such object.
std::shared_ptr<const HostKernel> load_host(std::string_view object);

/// The whole module before code generation, and its assembly: `facet emit --stage source|asm` on the host.
std::string host_ir(const CheckedSpec& spec, HookIr hooks, const Facts& facts, const TileClasses& classes,
                    const Plan& plan, const HostCpu& cpu = host_cpu());
std::string host_asm(const CheckedSpec& spec, HookIr hooks, const Facts& facts, const TileClasses& classes,
                     const Plan& plan, const HostCpu& cpu = host_cpu());

}  // namespace fa
