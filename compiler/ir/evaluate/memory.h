// What the addresses of a hook's file stand for: the spec's tensors and numbers, the file's constant tables,
// local variables.
#pragma once

#include "compiler/ir/llvm.h"
// after llvm.h
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/ir/evaluate/arithmetic.h"
#include "compiler/ir/evaluate/evaluate.h"

namespace fa {

class EvaluatorMemory {
 public:
  EvaluatorMemory(const CheckedSpec& spec, HookData data) : spec_(spec), data_(std::move(data)) {}

  /// A constant of the file. A global becomes the address of its object.
  EvaluatorValue constant(const llvm::Constant& constant, const llvm::DataLayout& layout);
  /// The address of a new local variable.
  EvaluatorValue new_local();
  /// Ends the life of all local variables.
  void forget_locals() { locals_.clear(); }

  EvaluatorValue load(const llvm::LoadInst& load, const EvaluatorValue& at);
  void store(const llvm::StoreInst& store, const EvaluatorValue& value, const EvaluatorValue& at);

  /// How many reads so far lay outside their tensor.
  std::int64_t reads_outside() const { return outside_; }
  /// Whether the file has made an undefined value so far. Only then must the interpreter follow such values.
  bool has_undefined() const { return has_undefined_; }

 private:
  struct Object {
    enum class Kind { tensor, number, table, local, unknown };
    Kind kind = Kind::local;
    int tensor = 0;
    EvaluatorValue number;
    const llvm::GlobalVariable* table = nullptr;
    std::map<std::int64_t, EvaluatorValue> cells;  // local: what was stored, by offset
  };

  Object& object_at(int number);
  int object_of(const llvm::GlobalVariable& global);
  void name_object(const llvm::GlobalVariable& global, Object& object);
  EvaluatorValue local_element(const Object& local, std::int64_t offset);
  EvaluatorValue table_element(const llvm::LoadInst& load, const llvm::GlobalVariable& table,
                               std::int64_t offset);
  EvaluatorValue tensor_element(const llvm::LoadInst& load, int tensor, std::int64_t offset);

  const CheckedSpec& spec_;
  HookData data_;
  std::vector<Object> objects_, locals_;
  std::unordered_map<const llvm::GlobalVariable*, int> globals_;
  std::map<std::pair<const llvm::GlobalVariable*, std::int64_t>, EvaluatorValue> table_cells_;
  std::int64_t outside_ = 0;
  bool has_undefined_ = false;
};

}  // namespace fa
