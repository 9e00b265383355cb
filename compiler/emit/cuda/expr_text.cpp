// One instruction as C++ text.
#include "compiler/ir/llvm.h"
// after llvm.h
#include <fmt/format.h>

#include <cmath>

#include "compiler/emit/cuda/expr.h"
#include "compiler/ir/functions.h"
#include "compiler/ir/math/exact_math.h"
#include "fa/error.h"

namespace fa {
namespace {

constexpr int kTerm = 0, kUnary = 1, kProduct = 2, kSum = 3, kShift = 4, kLess = 5, kEqual = 6, kBitAnd = 7,
              kBitXor = 8, kBitOr = 9, kAnd = 10, kOr = 11, kChoice = 12;

std::string double_text(double value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string float_text(float value) {
  if (std::isnan(value)) return "__int_as_float(0x7fffffff)";
  if (std::isinf(value)) return value > 0 ? "__int_as_float(0x7f800000)" : "__int_as_float(0xff800000)";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text + "f";
}

std::string int_text(const llvm::ConstantInt& constant) {
  const std::int64_t value = constant.getSExtValue();
  if (constant.getBitWidth() == 1) return constant.isOne() ? "true" : "false";
  if (constant.getBitWidth() == 64) {
    if (constant.isMinValue(true)) return "(-0x7fffffffffffffffLL - 1)";
    return fmt::format("{}LL", value);
  }
  if (constant.getBitWidth() == 32 && constant.isMinValue(true)) return "(-0x7fffffff - 1)";
  return fmt::format("{}", value);
}

bool is_all_ones(const llvm::Value* value) {
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value);
  return constant != nullptr && constant->isMinusOne();
}

[[noreturn]] void unknown(const llvm::Instruction& instruction) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  instruction.print(stream);
  throw InternalError("no C++ text for the instruction" + text);
}

std::string unsigned_type(const llvm::Value& value) {
  return value.getType()->isIntegerTy(8) ? "unsigned char" : "unsigned " + cpp_type(value);
}

struct CallName {
  std::string_view fast, accurate;
};

CallName function_name(const llvm::CallInst& call) {
  if (const auto exact = exact_function_of(call)) return {name_of(*exact), name_of(*exact)};
  const bool is_double = call.getType()->isDoubleTy();  // in the exact functions alone
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::exp:
      return {"fast_exp", "expf"};
    case llvm::Intrinsic::exp2:
      return {"fast_exp2", "exp2f"};
    case llvm::Intrinsic::log:
      return {"fast_log", "logf"};
    case llvm::Intrinsic::log2:
      return {"fast_log2", "log2f"};
    case llvm::Intrinsic::tanh:
      return {"fast_tanh", "tanhf"};
    case llvm::Intrinsic::sqrt:
      return {"fast_sqrt", "sqrtf"};
    case llvm::Intrinsic::sin:
      return {"fast_sin", "exact_sin"};
    case llvm::Intrinsic::cos:
      return {"fast_cos", "exact_cos"};
    case llvm::Intrinsic::floor:
      return {"floorf", "floorf"};
    case llvm::Intrinsic::ceil:
      return {"ceilf", "ceilf"};
    case llvm::Intrinsic::trunc:
      return {"truncf", "truncf"};
    case llvm::Intrinsic::ctpop:
      return {"__popc", "__popc"};
    case llvm::Intrinsic::fabs:
      return {"fabsf", "fabsf"};
    case llvm::Intrinsic::fma:
      return is_double ? CallName{"fma", "fma"} : CallName{"fmaf", "fmaf"};
    case llvm::Intrinsic::rint:
      return is_double ? CallName{"rint", "rint"} : CallName{"rintf", "rintf"};
    case llvm::Intrinsic::roundeven:
      return {"rintf", "rintf"};
    case llvm::Intrinsic::minnum:
      return {"fminf", "fminf"};
    case llvm::Intrinsic::maxnum:
      return {"fmaxf", "fmaxf"};
    case llvm::Intrinsic::smin:
      return {"min", "min"};
    case llvm::Intrinsic::smax:
      return {"max", "max"};
    case llvm::Intrinsic::abs: {
      const bool wraps = llvm::cast<llvm::ConstantInt>(call.getArgOperand(1))->isZero();
      return wraps ? CallName{"wrap_abs", "wrap_abs"} : CallName{"abs", "abs"};
    }
    case llvm::Intrinsic::fptosi_sat:
      return {"__float2int_rz", "__float2int_rz"};  // saturates, NaN -> 0
    default:
      break;
  }
  const llvm::Function* callee = call.getCalledFunction();
  const llvm::StringRef name = callee != nullptr ? callee->getName() : llvm::StringRef();
  if (name == llvm::StringRef(kSigmoidName)) return {"fast_sigmoid", "accurate_sigmoid"};
  if (name == llvm::StringRef(kRsqrtName)) return {"fast_rsqrt", "rsqrtf"};
  if (name == llvm::StringRef(kErfName)) return {"erff", "erff"};
  // Rare in a score, so without an approximate form.
  if (name == llvm::StringRef(kAtanName)) return {"atanf", "atanf"};
  if (name == llvm::StringRef(kLog1pName)) return {"log1pf", "log1pf"};
  if (name == llvm::StringRef(kExpm1Name)) return {"expm1f", "expm1f"};
  if (name == llvm::StringRef(kAtan2Name)) return {"atan2f", "atan2f"};
  if (name == llvm::StringRef(kPowName)) return {"powf", "powf"};
  unknown(call);
}

}  // namespace

bool ExprPrinter::is_fast(const llvm::Instruction& instruction) const {
  return options_.fast_math && llvm::isa<llvm::FPMathOperator>(instruction) && instruction.hasAllowContract();
}

ExprPrinter::Text ExprPrinter::operand(const llvm::Value& any) {
  const llvm::Value& value = *canonical_(any);
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantFP>(&value)) {
    const std::string text = constant->getType()->isDoubleTy()
                                 ? double_text(constant->getValueAPF().convertToDouble())
                                 : float_text(constant->getValueAPF().convertToFloat());
    return {text, text.front() == '-' ? kUnary : kTerm};
  }
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(&value)) {
    const std::string text = int_text(*constant);
    return {text, text.front() == '-' ? kUnary : kTerm};
  }
  if (llvm::isa<llvm::PoisonValue>(value) || llvm::isa<llvm::UndefValue>(value))
    throw InternalError("an undefined value reached the device text");
  if (std::string text = outside_(value); !text.empty()) return {text, kTerm};
  if (auto found = texts_.find(&value); found != texts_.end()) return found->second;
  throw InternalError("a value is used before it is computed: " + suggested_name(value));
}

std::string ExprPrinter::at_level(const llvm::Value& value, int level) {
  const Text text = operand(value);
  return text.level <= level ? text.text : "(" + text.text + ")";
}

std::string ExprPrinter::value(const llvm::Value& value, bool as_term) {
  return at_level(value, as_term ? kTerm : kChoice);
}

std::string ExprPrinter::arguments(const llvm::Instruction& instruction, unsigned count) {
  std::string text;
  for (unsigned i = 0; i < count; ++i) text += (i > 0 ? ", " : "") + operand(*instruction.getOperand(i)).text;
  return text;
}

ExprPrinter::Text ExprPrinter::print(const llvm::Instruction& instruction) {
  const auto arg = [&](unsigned i) -> const llvm::Value& { return *instruction.getOperand(i); };
  if (llvm::isa<llvm::CmpInst>(instruction)) return print_compare(instruction);
  if (llvm::isa<llvm::CastInst>(instruction)) return print_cast(instruction);
  if (llvm::isa<llvm::CallInst>(instruction)) return print_call(instruction);
  if (llvm::isa<llvm::BinaryOperator>(instruction)) return print_binary(instruction);
  switch (instruction.getOpcode()) {
    case llvm::Instruction::FNeg:
      return {"-" + at_level(arg(0), kTerm), kUnary};
    case llvm::Instruction::Select:
      return {
          fmt::format("{} ? {} : {}", at_level(arg(0), kOr), at_level(arg(1), kOr), at_level(arg(2), kOr)),
          kChoice};
    case llvm::Instruction::Freeze:
      return operand(arg(0));
    case llvm::Instruction::GetElementPtr: {
      if (instruction.getNumOperands() != 2) unknown(instruction);
      return {fmt::format("{} + {}", at_level(arg(0), kSum), at_level(arg(1), kProduct)), kSum};
    }
    case llvm::Instruction::Load:
      return {fmt::format("__ldg({})", operand(arg(0)).text), kTerm};
    default:
      unknown(instruction);
  }
}

ExprPrinter::Text ExprPrinter::print_binary(const llvm::Instruction& instruction) {
  const llvm::Value& a = *instruction.getOperand(0);
  const llvm::Value& b = *instruction.getOperand(1);
  const bool is_bool = instruction.getType()->isIntegerTy(1);
  const auto infix = [&](const char* op, int level) {
    return Text{fmt::format("{} {} {}", at_level(a, level), op, at_level(b, level - 1)), level};
  };
  // && and || are a branch for each operand, of every element of unrolled code, and taking those out again
  // was a third of the compile time; & and | compute all operands, as the IR does.
  const auto logical = [&](const char* lazy, const char* eager, int lazy_level, int eager_level) {
    const int level = options_.eager_bools ? eager_level : lazy_level;
    // Which operator binds stronger needs no parentheses in C++, but compilers warn and readers stumble.
    const auto side = [&](const llvm::Value& value) {
      const Text text = operand(value);
      const int plain = options_.eager_bools ? kUnary : kBitOr;
      return text.level <= plain || text.level == level ? text.text : "(" + text.text + ")";
    };
    return Text{fmt::format("{} {} {}", side(a), options_.eager_bools ? eager : lazy, side(b)), level};
  };
  const auto call = [&](const char* name) {
    return Text{fmt::format("{}({})", name, arguments(instruction, 2)), kTerm};
  };
  const auto wraps = [&] { return !instruction.hasNoSignedWrap(); };
  switch (instruction.getOpcode()) {
    case llvm::Instruction::FAdd:
      return infix("+", kSum);
    case llvm::Instruction::FSub:
      return infix("-", kSum);
    case llvm::Instruction::FMul:
      // A product that must not fuse into an FMA says so: nvcc fuses across plain operators.
      if (instruction.hasAllowContract()) return infix("*", kProduct);
      return call(instruction.getType()->isDoubleTy() ? "__dmul_rn" : "__fmul_rn");
    case llvm::Instruction::FDiv:
      return options_.fast_division && is_fast(instruction) ? call("fast_divide") : infix("/", kProduct);
    case llvm::Instruction::Add:
      return wraps() ? call("wrap_add") : infix("+", kSum);
    case llvm::Instruction::Sub:
      if (const auto* zero = llvm::dyn_cast<llvm::ConstantInt>(&a);
          zero != nullptr && zero->isZero() && !wraps())
        return {"-" + at_level(b, kTerm), kUnary};
      return wraps() ? call("wrap_sub") : infix("-", kSum);
    case llvm::Instruction::Mul:
      return wraps() ? call("wrap_mul") : infix("*", kProduct);
    case llvm::Instruction::SDiv:
      return infix("/", kProduct);
    case llvm::Instruction::SRem:
      return infix("%", kProduct);
    case llvm::Instruction::UDiv:
      return call("unsigned_div");
    case llvm::Instruction::URem:
      return call("unsigned_mod");
    case llvm::Instruction::Shl:
      return call("shift_left");
    case llvm::Instruction::LShr:
      return call("logical_shift_right");
    case llvm::Instruction::AShr:
      return {fmt::format("{} >> {}", at_level(a, kUnary), at_level(b, kUnary)), kShift};
    case llvm::Instruction::And:
      return is_bool ? logical("&&", "&", kAnd, kBitAnd)
                     : Text{fmt::format("{} & {}", at_level(a, kUnary), at_level(b, kUnary)), kBitAnd};
    case llvm::Instruction::Or:
      return is_bool ? logical("||", "|", kOr, kBitOr)
                     : Text{fmt::format("{} | {}", at_level(a, kUnary), at_level(b, kUnary)), kBitOr};
    case llvm::Instruction::Xor:
      if (is_all_ones(&b)) return {(is_bool ? "!" : "~") + at_level(a, kTerm), kUnary};
      if (is_bool) return {fmt::format("{} != {}", at_level(a, kUnary), at_level(b, kUnary)), kEqual};
      return {fmt::format("{} ^ {}", at_level(a, kUnary), at_level(b, kUnary)), kBitXor};
    default:
      unknown(instruction);
  }
}

ExprPrinter::Text ExprPrinter::print_compare(const llvm::Instruction& instruction) {
  using P = llvm::CmpInst::Predicate;
  const auto& compare = llvm::cast<llvm::CmpInst>(instruction);
  const llvm::Value& a = *compare.getOperand(0);
  const llvm::Value& b = *compare.getOperand(1);
  const auto infix = [&](const char* op, int level) {
    return Text{fmt::format("{} {} {}", at_level(a, kShift), op, at_level(b, kShift)), level};
  };
  const auto inverse = [&](const char* op) {  // true where the operands are unordered
    return Text{fmt::format("!({} {} {})", at_level(a, kShift), op, at_level(b, kShift)), kUnary};
  };
  const auto unsigned_infix = [&](const char* op) {
    const char* type = a.getType()->isIntegerTy(64) ? "unsigned long long" : "unsigned";
    const auto side = [&](const llvm::Value& value) {
      return fmt::format("static_cast<{}>({})", type, operand(value).text);
    };
    return Text{fmt::format("{} {} {}", side(a), op, side(b)), kLess};
  };
  switch (compare.getPredicate()) {
    case P::ICMP_SLT:
    case P::FCMP_OLT:
      return infix("<", kLess);
    case P::ICMP_SLE:
    case P::FCMP_OLE:
      return infix("<=", kLess);
    case P::ICMP_SGT:
    case P::FCMP_OGT:
      return infix(">", kLess);
    case P::ICMP_SGE:
    case P::FCMP_OGE:
      return infix(">=", kLess);
    case P::ICMP_EQ:
    case P::FCMP_OEQ:
      return infix("==", kEqual);
    case P::ICMP_NE:
    case P::FCMP_UNE:
      return infix("!=", kEqual);
    case P::ICMP_ULT:
      return unsigned_infix("<");
    case P::ICMP_ULE:
      return unsigned_infix("<=");
    case P::ICMP_UGT:
      return unsigned_infix(">");
    case P::ICMP_UGE:
      return unsigned_infix(">=");
    case P::FCMP_UGE:
      return inverse("<");
    case P::FCMP_UGT:
      return inverse("<=");
    case P::FCMP_ULE:
      return inverse(">");
    case P::FCMP_ULT:
      return inverse(">=");
    case P::FCMP_ORD:
    case P::FCMP_UNO: {  // is neither, or is either, a NaN
      const bool is_not = compare.getPredicate() == P::FCMP_ORD;
      const std::string x = at_level(a, kShift), y = at_level(b, kShift);
      const std::string text =
          &a == &b ? fmt::format("{0} != {0}", x) : fmt::format("{0} != {0} || {1} != {1}", x, y);
      if (is_not) return {fmt::format("!({})", text), kUnary};
      return {text, &a == &b ? kEqual : kOr};
    }
    case P::FCMP_ONE:
    case P::FCMP_UEQ: {
      const std::string x = at_level(a, kShift), y = at_level(b, kShift);
      const bool is_not = compare.getPredicate() == P::FCMP_UEQ;
      return {fmt::format("{}({} < {} || {} > {})", is_not ? "!" : "", x, y, x, y), is_not ? kUnary : kTerm};
    }
    default:
      unknown(instruction);
  }
}

ExprPrinter::Text ExprPrinter::print_cast(const llvm::Instruction& instruction) {
  const llvm::Value& from = *instruction.getOperand(0);
  const bool from_bool = from.getType()->isIntegerTy(1);
  const std::string to = cpp_type(instruction);
  const auto cast = [&](const std::string& type) {
    return Text{fmt::format("static_cast<{}>({})", type, operand(from).text), kTerm};
  };
  switch (instruction.getOpcode()) {
    case llvm::Instruction::SExt:
      if (from_bool) return {fmt::format("-{}", cast(to).text), kUnary};
      if (from.getType()->isIntegerTy(8)) return operand(from);  // bytes promote by themselves
      for (const llvm::User* user : instruction.users())
        if (!llvm::isa<llvm::GetElementPtrInst>(user)) return cast(to);
      return operand(from);  // an offset: pointers take ints
    case llvm::Instruction::ZExt:
      if (from_bool) return cast(to);
      return {
          fmt::format("static_cast<{}>(static_cast<{}>({}))", to, unsigned_type(from), operand(from).text),
          kTerm};
    case llvm::Instruction::UIToFP:
      if (from_bool) return cast("float");
      return {fmt::format("static_cast<float>(static_cast<{}>({}))", unsigned_type(from), operand(from).text),
              kTerm};
    case llvm::Instruction::SIToFP:
      return cast("float");
    case llvm::Instruction::FPToSI:  // of a whole number that fits
      return cast("int");
    case llvm::Instruction::BitCast:
      return {fmt::format("{}({})", from.getType()->isFloatTy() ? "__float_as_int" : "__int_as_float",
                          operand(from).text),
              kTerm};
    case llvm::Instruction::Trunc:
      if (instruction.getType()->isIntegerTy(1))
        return {fmt::format("({} & 1) != 0", at_level(from, kTerm)), kEqual};
      return cast(to);
    case llvm::Instruction::FPTrunc:
      return cast("float");
    case llvm::Instruction::FPExt:
      if (from.getType()->isFloatTy()) return cast("double");
      return {fmt::format("{}({})", from.getType()->isHalfTy() ? "f16_to_float" : "bf16_to_float",
                          operand(from).text),
              kTerm};
    default:
      unknown(instruction);
  }
}

ExprPrinter::Text ExprPrinter::print_call(const llvm::Instruction& instruction) {
  const auto& call = llvm::cast<llvm::CallInst>(instruction);
  const CallName name = function_name(call);
  unsigned count = call.arg_size();
  if (call.getIntrinsicID() == llvm::Intrinsic::abs) count = 1;  // the other says what INT_MIN does
  return {
      fmt::format("{}({})", is_fast(instruction) ? name.fast : name.accurate, arguments(instruction, count)),
      kTerm};
}

}  // namespace fa
