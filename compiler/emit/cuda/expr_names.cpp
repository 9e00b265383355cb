// Types and names of generated text.
#include "compiler/ir/llvm.h"
// after llvm.h
#include <cctype>

#include "compiler/emit/cuda/expr.h"
#include "fa/error.h"

namespace fa {
namespace {

// C++ keywords, macros that compilers predefine, and what the generated text itself calls or names.
const std::unordered_set<std::string>& reserved() {
  static const std::unordered_set<std::string> kWords = {"alignas",
                                                         "alignof",
                                                         "and",
                                                         "and_eq",
                                                         "asm",
                                                         "auto",
                                                         "bitand",
                                                         "bitor",
                                                         "bool",
                                                         "break",
                                                         "case",
                                                         "catch",
                                                         "char",
                                                         "class",
                                                         "compl",
                                                         "concept",
                                                         "const",
                                                         "consteval",
                                                         "constexpr",
                                                         "constinit",
                                                         "const_cast",
                                                         "continue",
                                                         "co_await",
                                                         "co_return",
                                                         "co_yield",
                                                         "decltype",
                                                         "default",
                                                         "delete",
                                                         "do",
                                                         "double",
                                                         "dynamic_cast",
                                                         "else",
                                                         "enum",
                                                         "explicit",
                                                         "export",
                                                         "extern",
                                                         "false",
                                                         "float",
                                                         "for",
                                                         "friend",
                                                         "goto",
                                                         "if",
                                                         "inline",
                                                         "int",
                                                         "long",
                                                         "mutable",
                                                         "namespace",
                                                         "new",
                                                         "noexcept",
                                                         "not",
                                                         "not_eq",
                                                         "nullptr",
                                                         "operator",
                                                         "or",
                                                         "or_eq",
                                                         "private",
                                                         "protected",
                                                         "public",
                                                         "register",
                                                         "reinterpret_cast",
                                                         "requires",
                                                         "return",
                                                         "short",
                                                         "signed",
                                                         "sizeof",
                                                         "static",
                                                         "static_assert",
                                                         "static_cast",
                                                         "struct",
                                                         "switch",
                                                         "template",
                                                         "this",
                                                         "thread_local",
                                                         "throw",
                                                         "true",
                                                         "try",
                                                         "typedef",
                                                         "typeid",
                                                         "typename",
                                                         "union",
                                                         "unsigned",
                                                         "using",
                                                         "virtual",
                                                         "void",
                                                         "volatile",
                                                         "wchar_t",
                                                         "while",
                                                         "xor",
                                                         "xor_eq",
                                                         "linux",
                                                         "unix",
                                                         "NULL",
                                                         "assert",
                                                         "abs",
                                                         "min",
                                                         "max",
                                                         "expf",
                                                         "exp2f",
                                                         "logf",
                                                         "log2f",
                                                         "tanhf",
                                                         "sqrtf",
                                                         "rsqrtf",
                                                         "sinf",
                                                         "cosf",
                                                         "erff",
                                                         "atanf",
                                                         "atan2f",
                                                         "log1pf",
                                                         "expm1f",
                                                         "powf",
                                                         "ceilf",
                                                         "truncf",
                                                         "rintf",
                                                         "floorf",
                                                         "fabsf",
                                                         "fminf",
                                                         "fmaxf",
                                                         "fmaf",
                                                         "fa",
                                                         "p",
                                                         "s",
                                                         "head",
                                                         "row",
                                                         "column",
                                                         "logit",
                                                         "multiplier",
                                                         "addend",
                                                         "mask",
                                                         "Head",
                                                         "Row",
                                                         "Column",
                                                         "Hooks",
                                                         "ScoreForm",
                                                         "CallParams",
                                                         "ForwardParams",
                                                         "Word",
                                                         "wrap_add",
                                                         "wrap_sub",
                                                         "wrap_mul",
                                                         "wrap_abs",
                                                         "shift_left",
                                                         "logical_shift_right",
                                                         "unsigned_div",
                                                         "unsigned_mod",
                                                         "bf16_to_float",
                                                         "f16_to_float",
                                                         "accurate_sigmoid"};
  return kWords;
}

bool is_reserved(const std::string& name) {
  return reserved().contains(name) || name.starts_with("fast_") || name.starts_with("exact_") ||
         name.starts_with("__");
}

std::string strip_counter(std::string name) {
  while (name.size() > 1 && std::isdigit(static_cast<unsigned char>(name.back()))) name.pop_back();
  return name;
}

// The tensor an address points into.
std::string tensor_of(const llvm::Value* address) {
  while (const auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(address))
    address = step->getPointerOperand();
  std::string name = address->getName().str();
  return name.starts_with("t.") ? name.substr(2) : name;
}

bool is_log2e(const llvm::Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantFP>(value);
  return constant != nullptr && constant->isExactlyValue(static_cast<double>(1.4426950408889634f));
}

std::string type_of(llvm::Type* type) {
  if (type->isFloatTy()) return "float";
  if (type->isDoubleTy()) return "double";
  if (type->isHalfTy() || type->isBFloatTy()) return "unsigned short";  // the bits
  if (type->isIntegerTy(1)) return "bool";
  if (type->isIntegerTy(8)) return "signed char";
  if (type->isIntegerTy(16)) return "short";
  if (type->isIntegerTy(32)) return "int";
  if (type->isIntegerTy(64)) return "long long";
  throw InternalError("a hook holds a value of a type that has no C++ name");
}

}  // namespace

std::string cpp_type(const llvm::Value& value) {
  if (value.getType()->isIntegerTy(8)) return "int";  // bytes widen as soon as they are read
  if (!value.getType()->isPointerTy()) return type_of(value.getType());
  if (const auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(&value))
    return "const " + type_of(step->getSourceElementType()) + "*";
  for (const llvm::User* user : value.users()) {
    if (const auto* step = llvm::dyn_cast<llvm::GetElementPtrInst>(user))
      return "const " + type_of(step->getSourceElementType()) + "*";
    if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(user))
      return "const " + type_of(load->getType()) + "*";
  }
  return "const void*";
}

std::string unique_name(std::string_view wanted, std::unordered_set<std::string>& taken) {
  std::string base;
  for (char c : wanted) base += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
  if (base.empty() || std::isdigit(static_cast<unsigned char>(base.front()))) base = "v" + base;
  if (is_reserved(base)) base += "_value";
  std::string name = base;
  for (int i = 2; !taken.insert(name).second; ++i) name = base + "_" + std::to_string(i);
  return name;
}

std::string suggested_name(const llvm::Value& value) {
  if (llvm::isa<llvm::GetElementPtrInst>(value)) return tensor_of(&value) + "_at";
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&value)) return tensor_of(load->getPointerOperand());
  if (const auto* product = llvm::dyn_cast<llvm::BinaryOperator>(&value);
      product != nullptr && product->getOpcode() == llvm::Instruction::FMul &&
      is_log2e(product->getOperand(1)))
    return suggested_name(*product->getOperand(0)) + "_log2";
  if (llvm::isa<llvm::Instruction>(value) && value.hasName()) return strip_counter(value.getName().str());
  const auto* instruction = llvm::dyn_cast<llvm::Instruction>(&value);
  if (instruction == nullptr) {
    std::string name = value.getName().str();  // an argument: p.window, t.slopes
    return name.empty() ? "value" : name.substr(name.find('.') == std::string::npos ? 0 : 2);
  }
  switch (instruction->getOpcode()) {
    case llvm::Instruction::Add:
    case llvm::Instruction::FAdd:
      return "sum";
    case llvm::Instruction::Sub:
    case llvm::Instruction::FSub:
      return "difference";
    case llvm::Instruction::Mul:
    case llvm::Instruction::FMul:
      return "product";
    case llvm::Instruction::FDiv:
    case llvm::Instruction::SDiv:
    case llvm::Instruction::UDiv:
      return "quotient";
    case llvm::Instruction::And:
    case llvm::Instruction::Or:
    case llvm::Instruction::Xor:
      return value.getType()->isIntegerTy(1) ? "holds" : "bits";
    case llvm::Instruction::ICmp:
    case llvm::Instruction::FCmp:
      return "holds";
    case llvm::Instruction::Select:
      return "choice";
    default:
      break;
  }
  if (const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(instruction)) {
    switch (call->getIntrinsicID()) {
      case llvm::Intrinsic::smin:
      case llvm::Intrinsic::smax:
      case llvm::Intrinsic::minnum:
      case llvm::Intrinsic::maxnum:
        return "bounded";
      case llvm::Intrinsic::abs:
      case llvm::Intrinsic::fabs:
        return "magnitude";
      default:
        break;
    }
  }
  return "value";
}

}  // namespace fa
