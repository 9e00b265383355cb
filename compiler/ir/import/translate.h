// Translates one normalised function into an expression, value by value. Internal to compiler/ir/import; the
// driver is translate.cpp.
//
// How values are represented:
//   i1            a bool
//   i2 .. i32     an i32 that holds the same signed number
//   i33 .. i64    likewise, where the number provably fits; else only addresses can use it (index.h)
//   float         an f32; half and bfloat only as elements of tensors, which read as f32
#pragma once

#include "compiler/ir/import/parts.h"
// after parts.h
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>

#include "compiler/ir/import/build.h"

namespace llvm {
class DominatorTree;
class PostDominatorTree;
}  // namespace llvm

namespace fa {

struct AddressForm;  // index.h

class Translator {
 public:
  Translator(const CheckedSpec& spec, const HookFile& file, llvm::Function& hook);
  ~Translator();
  ExprPtr run();

 private:
  /// The value's expression; throws the Refusal that its translation met.
  ExprPtr value(const llvm::Value* value);
  ExprPtr translate_constant(const llvm::Constant& constant);
  ExprPtr translate_instruction(const llvm::Instruction& instruction);
  bool is_undefined(const llvm::Value* value) const;
  [[noreturn]] void refuse(const llvm::Value& at, const std::string& problem,
                           const std::string& remedy) const;
  void refuse_type(const llvm::Instruction& at) const;
  void refuse_effects() const;
  void refuse_call(const llvm::CallBase& call) const;

  // flow.cpp: branches
  using OfIncoming = std::function<ExprPtr(const llvm::Value*)>;
  ExprPtr merge(const llvm::PHINode& phi, const OfIncoming& of);
  ExprPtr reached(const llvm::BasicBlock* from, const llvm::BasicBlock* to);
  ExprPtr taken(const llvm::BasicBlock* from, const llvm::BasicBlock* to);
  ExprPtr select(const llvm::SelectInst& select, const OfIncoming& of);

  // int.cpp
  ExprPtr integer_binary(const llvm::BinaryOperator& operation);
  ExprPtr integer_cast(const llvm::CastInst& cast);
  ExprPtr integer_compare(const llvm::ICmpInst& compare);
  ExprPtr low_bits(const llvm::Value* value, int bits);
  ExprPtr fitted(const llvm::Value& at, ExprPtr x);
  ExprPtr zero_extended(const llvm::Value& at, ExprPtr x, unsigned width);
  ExprPtr wrapped_to(ExprPtr x, unsigned width);
  ExprPtr less_unsigned(ExprPtr a, ExprPtr b);
  ExprPtr shift_right_unsigned(ExprPtr x, ExprPtr amount);
  ExprPtr divide_unsigned(ExprPtr a, ExprPtr b);
  ExprPtr divide_toward_zero(ExprPtr a, ExprPtr b);
  ExprPtr remainder_toward_zero(ExprPtr a, ExprPtr b);
  std::optional<ExprPtr> integer_intrinsic(const llvm::CallInst& call);

  // float.cpp
  ExprPtr float_binary(const llvm::BinaryOperator& operation);
  ExprPtr float_cast(const llvm::CastInst& cast);
  ExprPtr float_compare(const llvm::FCmpInst& compare);
  ExprPtr float_from_unsigned(ExprPtr x);
  ExprPtr unsigned_from_float(ExprPtr x);
  ExprPtr float_class(const llvm::CallInst& call);
  ExprPtr call(const llvm::CallInst& call);
  std::optional<ExprPtr> float_call(const llvm::CallInst& call, const std::string& name);

  // memory.cpp
  ExprPtr load(const llvm::LoadInst& load);
  ExprPtr load_at(const llvm::LoadInst& load, const llvm::Value* pointer, AddressForm offset);
  ExprPtr load_scalar(const llvm::LoadInst& load, const llvm::GlobalVariable& global,
                      const AddressForm& offset);
  ExprPtr load_tensor(const llvm::LoadInst& load, int tensor, const AddressForm& offset);
  ExprPtr load_table(const llvm::LoadInst& load, const llvm::GlobalVariable& table,
                     const AddressForm& offset);
  void add_gep(const llvm::LoadInst& load, const llvm::User& gep, AddressForm& offset);
  int tensor_named(llvm::StringRef name) const;

  const CheckedSpec& spec_;
  llvm::Function& hook_;
  ExprBuilder build_;
  std::unordered_map<const llvm::Value*, ExprPtr> values_;
  std::unordered_map<const llvm::Value*, Refusal> refused_;
  std::unique_ptr<llvm::DominatorTree> dominators_;
  std::unique_ptr<llvm::PostDominatorTree> post_dominators_;
  std::map<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>, ExprPtr> reached_;
  int low_bits_left_ = 1000;  // steps that low_bits may still take: shared sums could take exponentially many
};

}  // namespace fa
