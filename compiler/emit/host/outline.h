// What the outlines of the host's kernels, forward and backward, share: entries, views of a head, what an
// object says of itself. Included by .cpp files after compiler/ir/llvm.h.
#pragma once

#include "compiler/analysis/tiles/tile_class.h"
#include "compiler/emit/host/builder.h"
#include "compiler/emit/host/products/products.h"

namespace fa {

/// A module for that CPU, in the hooks' context.
std::shared_ptr<llvm::Module> start_module(const CheckedSpec& spec, const HookIr& hooks, const HostCpu& cpu);

/// `pointer` and `strides`: offsets of the tensor's address and of its TensorStrides in the launch's params.
HeadView head_view(HostBuilder& build, llvm::Value* params, std::size_t pointer, std::size_t strides,
                   int bytes, llvm::Value* b, llvm::Value* h);

TileKinds kinds_of_tiles(const HostModule& host, const TileClasses& classes);

/// An entry of a kernel: the fields of `Args` that hold addresses are pointers, the others i32.
template <template <class> class Args>
llvm::Function* entry(const HostModule& host, const char* name) {
  auto* i32 = llvm::Type::getInt32Ty(host.context());
  auto* pointer = llvm::PointerType::get(host.context(), 0);
  Args<llvm::Type*> types;
  auto all = in_order(types);
  all.fill(i32);
  types = std::bit_cast<Args<llvm::Type*>>(all);
  types.params = pointer;
  if constexpr (requires { types.workspace; }) types.workspace = pointer;
  if constexpr (requires { types.item; }) types.item = pointer;
  if constexpr (requires { types.kept; }) types.kept = pointer;
  if constexpr (requires { types.d_k; }) types.d_k = types.d_v = pointer;
  llvm::Function* function = host.function(name, llvm::Type::getVoidTy(host.context()), types);
  function->setLinkage(llvm::Function::ExternalLinkage);
  return function;
}

/// The object's HostInfo; `workspace_bytes` is what its steps need.
void emit_info(const HostModule& host, const TileClasses& classes, TileKinds tiles,
               std::size_t workspace_bytes);

/// Verifies and tidies every function of the module. The last thing that is done to it.
void polish(const HostModule& host);

}  // namespace fa
