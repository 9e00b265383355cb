// What the pieces of the host kernel share while they emit: the builder, the shape, and few helpers for
// loops, vectors and launch arguments. Included by .cpp files after compiler/ir/llvm.h.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "compiler/emit/host/arguments.h"
#include "compiler/emit/host/shape.h"
#include "compiler/ir/llvm.h"
#include "templates/params.h"

namespace fa {

/// One value per query row of a panel: a vector for each of the panel's vectors, or one scalar that all rows
/// share.
struct Wide {
  std::vector<llvm::Value*> parts;
  bool uniform = true;

  static Wide scalar(llvm::Value* value) { return {.parts = {value}, .uniform = true}; }
  static Wide vectors(std::vector<llvm::Value*> values) {
    return {.parts = std::move(values), .uniform = false};
  }
};

/// The module being filled and the facts every piece needs.
struct HostModule {
  const CheckedSpec& spec;
  const HookIr& hooks;
  const Facts& facts;
  const HostCpu& cpu;
  HostShape shape;
  llvm::Module& module;
  bool calls_elementary = false;  // elementary functions are called: in place they would be too long

  llvm::LLVMContext& context() const { return module.getContext(); }
  /// A copy, in the kernel's module, of a function that another stage has derived. It is there to be called,
  /// and inline_call removes it.
  llvm::Function* own(const llvm::Function& derived) const;
  /// An internal function whose pointer arguments do not alias; its body is empty yet.
  llvm::Function* function(const char* name, llvm::Type* result, llvm::ArrayRef<llvm::Type*> args) const;
  template <template <class> class Args>
    requires std::is_aggregate_v<Args<llvm::Type*>>
  llvm::Function* function(const char* name, llvm::Type* result, const Args<llvm::Type*>& types) const {
    return function(name, result, llvm::ArrayRef<llvm::Type*>(in_order(types)));
  }
};

/// The launch's value for one of a hook's arguments; null for those that differ from element to element.
llvm::Value* load_uniform(llvm::IRBuilder<>& ir, llvm::Value* params, const HookArg& arg);

class HostBuilder {
 public:
  /// Starts emitting the body of `function`.
  HostBuilder(const HostModule& host, llvm::Function* function);

  llvm::IRBuilder<>& ir() { return ir_; }
  llvm::Value* arg(unsigned index) const { return function_->getArg(index); }
  llvm::Function* function() const { return function_; }

  llvm::Type* f32() { return ir_.getFloatTy(); }
  llvm::Type* i32() { return ir_.getInt32Ty(); }
  llvm::Type* i64() { return ir_.getInt64Ty(); }
  llvm::Type* ptr() { return ir_.getPtrTy(); }
  llvm::FixedVectorType* vec(llvm::Type* element);
  llvm::Value* i32(std::int64_t value) { return ir_.getInt32(static_cast<std::uint32_t>(value)); }
  llvm::Value* i64(std::int64_t value) { return ir_.getInt64(static_cast<std::uint64_t>(value)); }
  llvm::Value* f32(double value) { return llvm::ConstantFP::get(f32(), value); }
  llvm::Value* splat(llvm::Value* scalar);
  llvm::Value* lane_ids();  // <0, 1, 2, ...> of i32

  /// `base` + `bytes`.
  llvm::Value* at(llvm::Value* base, llvm::Value* bytes) {
    return ir_.CreateGEP(ir_.getInt8Ty(), base, bytes);
  }
  llvm::Value* at(llvm::Value* base, std::size_t bytes) {
    return at(base, i64(static_cast<std::int64_t>(bytes)));
  }
  /// `base` + `index` floats.
  llvm::Value* float_at(llvm::Value* base, llvm::Value* index) { return ir_.CreateGEP(f32(), base, index); }
  llvm::Value* load_vec(llvm::Value* from) { return ir_.CreateAlignedLoad(vec(f32()), from, llvm::Align(4)); }
  void store_vec(llvm::Value* value, llvm::Value* to) { ir_.CreateAlignedStore(value, to, llvm::Align(4)); }
  /// A field of ForwardParams, by its offset.
  llvm::Value* param(llvm::Value* params, llvm::Type* type, std::size_t offset);

  /// `a` where a > b, else `b`; a NaN in `a` is dropped, one in `b` kept.
  llvm::Value* larger(llvm::Value* a, llvm::Value* b) {
    return ir_.CreateSelect(ir_.CreateFCmpOGT(a, b), a, b);
  }
  llvm::Value* min_i64(llvm::Value* a, llvm::Value* b) {
    return ir_.CreateSelect(ir_.CreateICmpSLT(a, b), a, b);
  }

  using Values = std::vector<llvm::Value*>;
  /// for (i = begin; i < end; i += step), counted in `begin`'s type. `body` gets i and the carried values and
  /// returns their next ones; the result is their final ones. `at_least_once` drops the first test.
  Values loop(llvm::Value* begin, llvm::Value* end, llvm::Value* step, const Values& carried,
              const std::function<Values(llvm::Value*, const Values&)>& body, bool at_least_once = false);
  void loop(llvm::Value* begin, llvm::Value* end, llvm::Value* step,
            const std::function<void(llvm::Value*)>& body);
  void if_then(llvm::Value* condition, const std::function<void()>& body);
  void if_else(llvm::Value* condition, const std::function<void()>& then,
               const std::function<void()>& otherwise);
  llvm::BasicBlock* block(const char* name);

 private:
  const HostModule& host_;
  llvm::Function* function_;
  llvm::IRBuilder<> ir_;
};

}  // namespace fa
