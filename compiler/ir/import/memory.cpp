// Reads. A hook reads globals of the file: external ones are the spec's tensors, params and lengths, by name;
// constants with a value are the file's own tables.
#include "compiler/ir/llvm.h"
#include "compiler/ir/llvm/folding.h"
// after llvm.h
#include <fmt/format.h>

#include "compiler/ir/import/index.h"
#include "compiler/ir/import/translate.h"
#include "compiler/spec/words.h"

namespace fa {
namespace {

constexpr std::int64_t kMostTableBytes = 4096;
constexpr std::int64_t kMostTableElements = 256;

/// What an element of the type is in the file, and how to say so in C.
struct Storage {
  llvm::Type* type;
  const char* c_type;
};

Storage storage_of(DType dtype, llvm::LLVMContext& context) {
  switch (dtype) {
    case DType::f16:
      return {llvm::Type::getHalfTy(context), "_Float16"};
    case DType::bf16:
      return {llvm::Type::getBFloatTy(context), "__bf16"};
    case DType::f32:
      return {llvm::Type::getFloatTy(context), "float"};
    case DType::i32:
      return {llvm::Type::getInt32Ty(context), "int"};
    case DType::i64:
      return {llvm::Type::getInt64Ty(context), "long long"};
    case DType::i8:
      return {llvm::Type::getInt8Ty(context), "signed char"};
    case DType::u8:
      return {llvm::Type::getInt8Ty(context), "unsigned char"};
    case DType::boolean:
      break;
  }
  return {llvm::Type::getInt8Ty(context), "bool"};
}

std::string printed(const llvm::Type& type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// A number that addresses are made of, as a polynomial. Sums and products of 64 bits are exact, of fewer
/// bits only where the file or the ranges promise that they do not wrap around.
class AddressReader {
 public:
  using Value = std::function<ExprPtr(const llvm::Value*)>;
  AddressReader(ExprBuilder& build, Value value) : build_(build), value_(std::move(value)) {}

  Polynomial read(const llvm::Value* number) {
    using llvm::Instruction;
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(number); constant != nullptr)
      if (constant->getValue().isSignedIntN(40)) return Polynomial::constant(constant->getSExtValue());
    if (--steps_ < 0) return Polynomial::of(value_(number));
    if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(number)) {
      const llvm::Value* from = cast->getOperand(0);
      const bool is_integer = from->getType()->isIntegerTy() && !from->getType()->isIntegerTy(1);
      if (is_integer && cast->getOpcode() == Instruction::SExt) return read(from);
      if (is_integer && cast->getOpcode() == Instruction::ZExt && is_counted(*cast)) return read(from);
      return Polynomial::of(value_(number));
    }
    const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(number);
    if (operation == nullptr || !is_exact(*operation)) return Polynomial::of(value_(number));
    // A sum without a product has no stride: it stays one index, with what is known of its range.
    if (operation->getType()->getIntegerBitWidth() <= 32 && !has_product(*operation, 8))
      return Polynomial::of(value_(number));
    const auto operand = [&](unsigned i) { return read(operation->getOperand(i)); };
    switch (operation->getOpcode()) {
      case Instruction::Add:
        return add(operand(0), operand(1), 1);
      case Instruction::Or:  // disjoint
        return add(operand(0), operand(1), 1);
      case Instruction::Sub:
        return add(operand(0), operand(1), -1);
      case Instruction::Mul:
        return checked(multiply(operand(0), operand(1)), number);
      case Instruction::Shl: {
        const auto* by = llvm::dyn_cast<llvm::ConstantInt>(operation->getOperand(1));
        if (by == nullptr || by->getValue().uge(32)) break;
        return checked(multiply(operand(0), Polynomial::constant(std::int64_t{1} << by->getZExtValue())),
                       number);
      }
      default:
        break;
    }
    return Polynomial::of(value_(number));
  }

 private:
  static bool has_product(const llvm::Value& number, int depth) {
    using llvm::Instruction;
    const auto* step = llvm::dyn_cast<llvm::Instruction>(&number);
    if (step == nullptr || depth == 0) return false;
    switch (step->getOpcode()) {
      case Instruction::Mul:
      case Instruction::Shl:
        return true;
      case Instruction::Add:
      case Instruction::Sub:
      case Instruction::Or:
        return has_product(*step->getOperand(0), depth - 1) || has_product(*step->getOperand(1), depth - 1);
      case Instruction::SExt:
      case Instruction::ZExt:
        return has_product(*step->getOperand(0), depth - 1);
      default:
        return false;
    }
  }

  Polynomial checked(Polynomial product, const llvm::Value* number) {
    return product.is_tractable() ? product : Polynomial::of(value_(number));
  }

  bool is_counted(const llvm::CastInst& zext) {
    return zext.hasNonNeg() || build_.range(value_(zext.getOperand(0))).lo >= 0;
  }

  bool is_exact(const llvm::BinaryOperator& operation) {
    using llvm::Instruction;
    if (operation.getOpcode() == Instruction::Or)
      return llvm::cast<llvm::PossiblyDisjointInst>(operation).isDisjoint();
    const auto* arithmetic = llvm::dyn_cast<llvm::OverflowingBinaryOperator>(&operation);
    if (arithmetic == nullptr) return false;
    if (operation.getType()->getIntegerBitWidth() > 32 || arithmetic->hasNoSignedWrap()) return true;
    return !build_.may_wrap(value_(&operation));
  }

  ExprBuilder& build_;
  Value value_;
  int steps_ = 200;
};

}  // namespace

int Translator::tensor_named(llvm::StringRef name) const {
  for (std::size_t i = 0; i < spec_.tensors.size(); ++i)
    if (spec_.tensors[i].info.name == name) return static_cast<int>(i);
  return -1;
}

ExprPtr Translator::load(const llvm::LoadInst& load) {
  return load_at(load, load.getPointerOperand(), {.bytes = {}, .index = nullptr, .index_bytes = 0});
}

void Translator::add_gep(const llvm::LoadInst& load, const llvm::User& gep, AddressForm& offset) {
  const llvm::DataLayout& layout = hook_.getDataLayout();
  AddressReader reader(build_, [this](const llvm::Value* number) { return value(number); });
  for (auto it = llvm::gep_type_begin(gep), end = llvm::gep_type_end(gep); it != end; ++it) {
    const llvm::Value* index = it.getOperand();
    if (const llvm::StructType* structure = it.getStructTypeOrNull()) {
      const auto field = static_cast<unsigned>(llvm::cast<llvm::ConstantInt>(index)->getZExtValue());
      const auto at = layout.getStructLayout(const_cast<llvm::StructType*>(structure))
                          ->getElementOffset(field)
                          .getFixedValue();
      offset.bytes = add(std::move(offset.bytes), Polynomial::constant(static_cast<std::int64_t>(at)), 1);
      continue;
    }
    const llvm::TypeSize step = it.getSequentialElementStride(layout);
    if (step.isScalable())
      refuse(load, "steps by vectors of unknown length",
             "compile for a machine without them, or -fno-vectorize");
    const auto stride = static_cast<std::int64_t>(step.getFixedValue());
    if (const auto* zero = llvm::dyn_cast<llvm::ConstantInt>(index); zero != nullptr && zero->isZero())
      continue;
    // An unsigned number past 2^31 is also past every tensor, and is clamped like the largest i32.
    Polynomial form;
    const auto* widened = llvm::dyn_cast<llvm::ZExtInst>(index);
    const bool may_be_large = widened != nullptr && widened->getOperand(0)->getType()->isIntegerTy(32) &&
                              !widened->hasNonNeg() && build_.range(value(widened->getOperand(0))).lo < 0;
    if (may_be_large) {
      const ExprPtr x = value(widened->getOperand(0));
      const ExprPtr below = build_.binary(Op::lt, x, build_.integer(0));
      form = Polynomial::of(build_.where(below, build_.integer(0x7fffffff), x));
    } else {
      form = reader.read(index);
    }
    if (!form.is_tractable()) refuse(load, "reads at an index that is too long a formula", "shorten it");
    const bool is_first = offset.index == nullptr && offset.bytes.terms.empty();
    const auto direct = values_.find(index);
    offset.index = is_first && direct != values_.end() && !may_be_large ? direct->second : nullptr;
    offset.index_bytes = stride;
    offset.bytes = add(std::move(offset.bytes), multiply(form, Polynomial::constant(stride)), 1);
    if (!is_first) offset.index = nullptr;
  }
}

/// The value at `pointer` + `offset`.
ExprPtr Translator::load_at(const llvm::LoadInst& load, const llvm::Value* pointer, AddressForm offset) {
  while (true) {
    if (const auto* gep = llvm::dyn_cast<llvm::GEPOperator>(pointer)) {
      add_gep(load, *gep, offset);
      pointer = gep->getPointerOperand();
    } else if (const auto* cast = llvm::dyn_cast<llvm::Operator>(pointer);
               cast != nullptr && (cast->getOpcode() == llvm::Instruction::AddrSpaceCast ||
                                   cast->getOpcode() == llvm::Instruction::BitCast)) {
      pointer = cast->getOperand(0);
    } else if (const auto* frozen = llvm::dyn_cast<llvm::FreezeInst>(pointer)) {
      pointer = frozen->getOperand(0);
    } else {
      break;
    }
  }
  const OfIncoming there = [&](const llvm::Value* incoming) { return load_at(load, incoming, offset); };
  if (const auto* choice = llvm::dyn_cast<llvm::SelectInst>(pointer)) return select(*choice, there);
  if (const auto* phi = llvm::dyn_cast<llvm::PHINode>(pointer)) return merge(*phi, there);
  if (const auto* through = llvm::dyn_cast<llvm::LoadInst>(pointer)) {
    // extern const int *doc: the kernel is given the pointer itself.
    const auto* global =
        llvm::dyn_cast<llvm::GlobalVariable>(through->getPointerOperand()->stripPointerCasts());
    if (global != nullptr && global->isDeclaration() && tensor_named(global->getName()) >= 0)
      return load_tensor(load, tensor_named(global->getName()), offset);
  }
  const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(pointer);
  if (global == nullptr)
    refuse(load, "reads through an address that is no tensor's",
           "read `extern` globals named as the spec's tensors");
  if (!global->isDeclaration()) {
    if (global->isConstant() && global->hasDefinitiveInitializer()) return load_table(load, *global, offset);
    refuse(load, fmt::format("reads '@{}', which may change", global->getName().str()),
           "make it const: hooks remember nothing from one score to the next");
  }
  const int tensor = tensor_named(global->getName());
  return tensor >= 0 ? load_tensor(load, tensor, offset) : load_scalar(load, *global, offset);
}

ExprPtr Translator::load_scalar(const llvm::LoadInst& load, const llvm::GlobalVariable& global,
                                const AddressForm& offset) {
  const std::string name = global.getName().str();
  ExprPtr result;
  for (std::size_t i = 0; i < spec_.params.size() && result == nullptr; ++i)
    if (spec_.params[i].name == name) {
      const bool is_integer = std::holds_alternative<std::int32_t>(spec_.params[i].default_value);
      result = build_.param(static_cast<int>(i), is_integer ? Type::i32 : Type::f32);
    }
  if (name == "head_dim_v") result = build_.integer(spec_.head_dim_v);
  if (name == "head_dim") result = build_.integer(spec_.head_dim);
  const BuiltinInfo* builtin = find_builtin(name);
  if (result == nullptr && builtin != nullptr) {
    if (builtin->builtin < Builtin::batch || builtin->builtin > Builtin::group_size)
      refuse(load, fmt::format("reads '@{}', which is an argument", name),
             "take it from the function's arguments");
    result = build_.builtin(builtin->builtin, builtin->type);
  }
  if (result == nullptr) {
    std::vector<std::string_view> names = {"batch",        "q_len",      "kv_len",   "num_q_heads",
                                           "num_kv_heads", "group_size", "head_dim", "head_dim_v"};
    for (const ParamInfo& param : spec_.params) names.push_back(param.name);
    for (const CheckedTensor& tensor : spec_.tensors) names.push_back(tensor.info.name);
    const std::string near = closest(name, names);
    refuse(
        load, fmt::format("reads '@{}', which the spec does not declare", name),
        near.empty()
            ? fmt::format("declare it in the spec: `tensor {0} : i32[kv_len]` or `param {0} : i32 = 1`", name)
            : fmt::format("did you mean '{}'?", near));
  }
  if (!offset.bytes.terms.empty())
    refuse(load, fmt::format("reads beside '@{}', which is a single number", name),
           "declare a tensor in the spec");
  const bool fits = result->type == Type::f32 ? load.getType()->isFloatTy() : load.getType()->isIntegerTy(32);
  if (!fits)
    refuse(
        load,
        fmt::format("reads '@{}' as {}, which is an {}", name, printed(*load.getType()),
                    type_name(result->type)),
        fmt::format("declare it `extern const {} {};`", result->type == Type::f32 ? "float" : "int", name));
  return result;
}

ExprPtr Translator::load_tensor(const llvm::LoadInst& load, int index, const AddressForm& offset) {
  const CheckedTensor& tensor = spec_.tensors[static_cast<std::size_t>(index)];
  const std::string& name = tensor.info.name;
  const Storage storage = storage_of(tensor.info.dtype, hook_.getContext());
  const bool is_flag = tensor.info.dtype == DType::boolean && load.getType()->isIntegerTy(1);
  if (load.getType() != storage.type && !is_flag)
    refuse(load,
           fmt::format("reads {} from tensor '{}', which holds {}", printed(*load.getType()), name,
                       dtype_name(tensor.info.dtype)),
           fmt::format("declare it `extern const {} {}[];`", storage.c_type, name));
  const std::int64_t bytes = dtype_bytes(tensor.info.dtype);
  std::vector<ExprPtr> indices;
  if (tensor.extents.size() == 1 && offset.index != nullptr && offset.index_bytes == bytes) {
    indices = {offset.index};
  } else {
    Polynomial elements;
    for (const auto& [text, term] : offset.bytes.terms) {
      Polynomial::Term scaled = term;
      if (term.coefficient % bytes != 0)
        refuse(load, fmt::format("reads between two elements of tensor '{}'", name),
               fmt::format("index it as an array of {}", storage.c_type));
      scaled.coefficient /= bytes;
      elements.terms[text] = std::move(scaled);
    }
    const ExprPtr flat = offset.index_bytes == bytes ? offset.index : nullptr;
    std::optional<std::vector<ExprPtr>> split = IndexSplitter(build_).split(elements, tensor.extents, flat);
    if (!split)
      refuse(load, fmt::format("reads tensor '{}' at an index that may not fit 32 bits", name),
             "index it by its extents, outermost first: name[(i * extent_1 + j) * extent_2 + k]");
    indices = std::move(*split);
  }
  const Type type = value_type(tensor.info.dtype);
  const ExprPtr element = build_.read(index, type, std::move(indices));
  if (tensor.info.dtype == DType::u8) return wrapped_to(element, 8);  // narrow numbers are signed ones here
  if (type != Type::boolean || is_flag) return element;
  return build_.cast(Type::i32, element);
}

/// A table of the file: chooses among its elements by comparing the index. An index out of range reads the
/// nearest element.
ExprPtr Translator::load_table(const llvm::LoadInst& load, const llvm::GlobalVariable& table,
                               const AddressForm& offset) {
  const llvm::DataLayout& layout = hook_.getDataLayout();
  llvm::Type* type = load.getType();
  const auto bytes = static_cast<std::int64_t>(layout.getTypeStoreSize(type).getFixedValue());
  const auto total = static_cast<std::int64_t>(layout.getTypeAllocSize(table.getValueType()).getFixedValue());
  const auto element_at = [&](std::int64_t at) -> ExprPtr {
    llvm::Constant* found =
        llvm::ConstantFoldLoadFromConst(const_cast<llvm::Constant*>(table.getInitializer()), type,
                                        llvm::APInt(64, static_cast<std::uint64_t>(at)), layout);
    if (found == nullptr)
      refuse(load, "reads a table whose elements are of another type", "read it as it is declared");
    return value(found);
  };
  // Offset = bytes * index + rest, the rest a constant.
  std::int64_t rest = 0;
  Polynomial index;
  for (const auto& [text, term] : offset.bytes.terms) {
    if (term.factors.empty()) {
      rest = term.coefficient;
      continue;
    }
    if (term.coefficient % bytes != 0)
      refuse(load, "reads between two elements of a table", "read it as it is declared");
    Polynomial::Term scaled = term;
    scaled.coefficient /= bytes;
    index.terms[text] = std::move(scaled);
  }
  if (index.terms.empty()) return element_at(rest);
  index = add(std::move(index), Polynomial::constant((rest - (rest % bytes + bytes) % bytes) / bytes), 1);
  const std::int64_t first = (rest % bytes + bytes) % bytes;
  const std::int64_t count = (total - first) / bytes;
  const std::optional<ExprPtr> at = IndexSplitter(build_).expression(index);
  if (total > kMostTableBytes || count > kMostTableElements || count < 1 || !at)
    refuse(load, fmt::format("reads a table of {} elements; at most {} are taken", count, kMostTableElements),
           "declare it as a tensor of the spec and pass it at run time");
  std::function<ExprPtr(std::int64_t, std::int64_t)> choose = [&](std::int64_t low, std::int64_t high) {
    if (high - low == 1) return element_at(first + low * bytes);
    const std::int64_t middle = (low + high) / 2;
    return build_.where(build_.binary(Op::lt, *at, build_.integer(middle)), choose(low, middle),
                        choose(middle, high));
  };
  return choose(0, count);
}

}  // namespace fa
