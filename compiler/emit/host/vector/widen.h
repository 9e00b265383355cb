// Hooks over a panel of query rows: one scalar hook becomes vector code in place. What depends on the query
// row alone is put before the kv loop, what depends on the kv row alone stays scalar, the rest becomes one
// vector a panel vector.
#pragma once

#include <map>
#include <vector>

#include "compiler/emit/host/builder.h"

namespace fa {

class HookInliner {
 public:
  /// `before` stands ahead of the kv loop that `body` emits into; `rows` are the panel's query rows. Loads
  /// the launch arguments through `before`.
  HookInliner(const HostModule& host, HostBuilder& body, llvm::IRBuilder<>& before, llvm::Value* params,
              llvm::Value* b, llvm::Value* h, Wide rows);

  /// Emits `hook` at `body`'s place and returns its value for every row of the panel. `loops`: the indices,
  /// i32, of reductions whose iterations the caller runs, where the function takes them after the arguments
  /// of all hooks.
  Wide call(const llvm::Function& hook, const Wide& score, llvm::Value* kv_idx,
            const std::vector<llvm::Value*>& loops = {});

  /// Part `i` of `value` as a vector, made at `body`'s place.
  llvm::Value* vector(const Wide& value, std::size_t i);

 private:
  struct Traits {
    bool divergent = false;  // differs between the panel's rows
    bool in_loop = false;    // differs between kv rows, or must stay in its block
  };
  Wide argument(std::size_t index, const Wide& score, llvm::Value* kv_idx);
  void classify(const llvm::Function& hook);
  Traits traits(const llvm::Value* value) const;
  Wide operand(const llvm::Value* value) const;
  llvm::Value* vector(llvm::IRBuilder<>& ir, const Wide& value, std::size_t i);
  Wide instruction(const llvm::Instruction& from);
  Wide address(llvm::IRBuilder<>& ir, const llvm::GetElementPtrInst& from);
  llvm::Value* clone_uniform(llvm::IRBuilder<>& ir, const llvm::Instruction& from);
  llvm::Value* widened(llvm::IRBuilder<>& ir, const llvm::Instruction& from,
                       const std::vector<llvm::Value*>& operands);
  llvm::Value* widened_call(llvm::IRBuilder<>& ir, const llvm::CallInst& from,
                            const std::vector<llvm::Value*>& operands);
  llvm::Value* gather(llvm::IRBuilder<>& ir, const llvm::LoadInst& from, llvm::Value* base,
                      llvm::Value* offsets);
  llvm::Value* divide(llvm::IRBuilder<>& ir, const llvm::Instruction& from, llvm::Value* a, llvm::Value* b);

  const HostModule& host_;
  HostBuilder& body_;
  llvm::IRBuilder<>& before_;
  llvm::Value *b_, *h_;
  Wide rows_;
  std::vector<Wide> uniforms_;  // by argument index; those that the call does not give
  std::map<const llvm::Value*, Traits> traits_;
  std::map<const llvm::Value*, Wide> values_;
  std::map<const llvm::Value*, llvm::Value*>
      bases_;  // of divergent addresses, whose Wide is their offsets in elements
};

}  // namespace fa
