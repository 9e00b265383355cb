#include "compiler/ir/evaluate/memory.h"

#include <algorithm>

#include "compiler/ir/llvm/folding.h"
#include "compiler/spec/words.h"

namespace fa {
namespace {

using Value = EvaluatorValue;

constexpr int kFirstLocal = 1 << 20;  // objects with numbers from here on are local variables

}  // namespace

EvaluatorMemory::Object& EvaluatorMemory::object_at(int number) {
  if (number >= kFirstLocal) return locals_[static_cast<std::size_t>(number - kFirstLocal)];
  return objects_[static_cast<std::size_t>(number)];
}

int EvaluatorMemory::object_of(const llvm::GlobalVariable& global) {
  if (const auto found = globals_.find(&global); found != globals_.end()) return found->second;
  Object object;
  if (!global.isDeclaration()) {
    object.kind = Object::Kind::table;
    object.table = &global;
  } else {
    name_object(global, object);
  }
  objects_.push_back(object);
  return globals_[&global] = static_cast<int>(objects_.size()) - 1;
}

void EvaluatorMemory::name_object(const llvm::GlobalVariable& global, Object& object) {
  const std::string name = global.getName().str();
  for (std::size_t i = 0; i < spec_.tensors.size(); ++i)
    if (spec_.tensors[i].info.name == name) {
      object.kind = Object::Kind::tensor;
      object.tensor = static_cast<int>(i);
      return;
    }
  object.kind = Object::Kind::number;
  for (std::size_t i = 0; i < spec_.params.size(); ++i)
    if (spec_.params[i].name == name) {
      const Scalar& value = data_.params[i];
      if (const auto* integer = std::get_if<std::int32_t>(&value)) object.number.bits = *integer;
      if (const auto* real = std::get_if<float>(&value))
        object.number = float_value(static_cast<double>(*real));
      return;
    }
  if (name == "head_dim_v") {
    object.number.bits = spec_.head_dim_v;
    return;
  }
  const BuiltinInfo* builtin = find_builtin(name);
  if (builtin == nullptr) {
    object.kind = Object::Kind::unknown;
    return;
  }
  object.number.bits = builtin->builtin == Builtin::head_dim
                           ? spec_.head_dim
                           : data_.builtins[static_cast<std::size_t>(builtin->builtin)];
}

Value EvaluatorMemory::constant(const llvm::Constant& constant, const llvm::DataLayout& layout) {
  Value value;
  if (const auto* integer = llvm::dyn_cast<llvm::ConstantInt>(&constant)) {
    if (integer->getBitWidth() > 64) cannot_evaluate(constant);
    value.bits = integer->getSExtValue();
  } else if (const auto* real = llvm::dyn_cast<llvm::ConstantFP>(&constant)) {
    llvm::APFloat widened = real->getValueAPF();
    bool loses = false;
    widened.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &loses);
    value = float_value(widened.convertToDouble());
  } else if (const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(&constant)) {
    value.object = object_of(*global);
  } else if (const auto* expression = llvm::dyn_cast<llvm::ConstantExpr>(&constant)) {
    value = this->constant(*llvm::cast<llvm::Constant>(expression->getOperand(0)), layout);
    if (const auto* gep = llvm::dyn_cast<llvm::GEPOperator>(expression)) {
      llvm::APInt offset(64, 0);
      if (!gep->accumulateConstantOffset(layout, offset)) cannot_evaluate(constant);
      value.bits += offset.getSExtValue();
    }
  }
  value.is_undefined = llvm::isa<llvm::UndefValue>(constant);
  has_undefined_ |= value.is_undefined;
  return value;  // of undef and null zero
}

Value EvaluatorMemory::load(const llvm::LoadInst& load, const Value& at) {
  if (at.object < 0) cannot_evaluate(load);
  Object& object = object_at(at.object);
  switch (object.kind) {
    case Object::Kind::number:
      return object.number;
    case Object::Kind::local:
      return local_element(object, at.bits);
    case Object::Kind::table:
      return table_element(load, *object.table, at.bits);
    case Object::Kind::unknown:
      cannot_evaluate(load, "reads what the spec does not declare");
    case Object::Kind::tensor:
      break;
  }
  if (load.getType()->isPointerTy()) return at;
  return tensor_element(load, object.tensor, at.bits);
}

/// What was stored there last; undefined before the first store.
Value EvaluatorMemory::local_element(const Object& local, std::int64_t offset) {
  if (const auto found = local.cells.find(offset); found != local.cells.end()) return found->second;
  has_undefined_ = true;
  return {.is_undefined = true};
}

Value EvaluatorMemory::table_element(const llvm::LoadInst& load, const llvm::GlobalVariable& table,
                                     std::int64_t offset) {
  const llvm::DataLayout& layout = load.getModule()->getDataLayout();
  const auto bytes = static_cast<std::int64_t>(layout.getTypeStoreSize(load.getType()).getFixedValue());
  const auto total = static_cast<std::int64_t>(layout.getTypeAllocSize(table.getValueType()).getFixedValue());
  offset = std::clamp<std::int64_t>(offset, 0, total - bytes);
  const auto [place, is_new] = table_cells_.try_emplace({&table, offset});
  if (!is_new) return place->second;
  const llvm::Constant* found =
      llvm::ConstantFoldLoadFromConst(const_cast<llvm::Constant*>(table.getInitializer()), load.getType(),
                                      llvm::APInt(64, static_cast<std::uint64_t>(offset)), layout);
  if (found == nullptr) cannot_evaluate(load);
  return place->second = constant(*found, layout);
}

Value EvaluatorMemory::tensor_element(const llvm::LoadInst& load, int tensor, std::int64_t offset) {
  const std::vector<std::int64_t>& shape = data_.shapes[static_cast<std::size_t>(tensor)];
  const std::int64_t bytes = dtype_bytes(spec_.tensors[static_cast<std::size_t>(tensor)].info.dtype);
  std::int64_t row = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) row *= shape[i];
  std::int64_t index = offset / bytes - (offset % bytes < 0 ? 1 : 0);
  const std::int64_t inner = ((index % row) + row) % row;
  const std::int64_t outer = (index - inner) / row;
  if (outer < 0 || outer >= shape[0]) ++outside_;
  index = std::clamp<std::int64_t>(outer, 0, shape[0] - 1) * row + inner;
  const double value = data_.read(tensor, index);
  if (load.getType()->isFloatingPointTy()) return float_value(value);
  return {.bits = sign_extended(static_cast<std::int64_t>(value), load.getType()->getIntegerBitWidth())};
}

Value EvaluatorMemory::new_local() {
  locals_.emplace_back();
  return {.object = kFirstLocal + static_cast<int>(locals_.size()) - 1};
}

void EvaluatorMemory::store(const llvm::StoreInst& store, const Value& value, const Value& at) {
  if (at.object < kFirstLocal) cannot_evaluate(store);
  object_at(at.object).cells[at.bits] = value;
}

}  // namespace fa
