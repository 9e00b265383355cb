// Floats and calls. Fast-math flags are forgotten, a product that feeds a sum may be fused or not, as in the
// language; what C's library and LLVM's intrinsics are called here stands in one table each.
#include "compiler/ir/llvm.h"
#include "compiler/ir/llvm/reading.h"
// after llvm.h
#include <fmt/format.h>

#include <array>
#include <limits>

#include "compiler/ir/import/translate.h"

namespace fa {
namespace {

struct Known {
  std::string_view name;
  Func func;
};

// The functions by their names in C; CUDA's device library has the same names with __nv_ in front.
constexpr std::array<Known, 24> kLibrary = {
    {{"fabsf", Func::abs},        {"floorf", Func::floor}, {"ceilf", Func::ceil},
     {"truncf", Func::trunc},     {"rintf", Func::round},  {"nearbyintf", Func::round},
     {"roundevenf", Func::round}, {"sqrtf", Func::sqrt},   {"rsqrtf", Func::rsqrt},
     {"expf", Func::exp},         {"exp2f", Func::exp2},   {"logf", Func::log},
     {"log2f", Func::log2},       {"tanhf", Func::tanh},   {"erff", Func::erf},
     {"sinf", Func::sin},         {"cosf", Func::cos},     {"atanf", Func::atan},
     {"log1pf", Func::log1p},     {"expm1f", Func::expm1}, {"fminf", Func::min},
     {"fmaxf", Func::max},        {"atan2f", Func::atan2}, {"powf", Func::pow}}};

std::optional<Func> intrinsic_function(llvm::Intrinsic::ID id) {
  switch (id) {
    case llvm::Intrinsic::fabs:
      return Func::abs;
    case llvm::Intrinsic::floor:
      return Func::floor;
    case llvm::Intrinsic::ceil:
      return Func::ceil;
    case llvm::Intrinsic::trunc:
      return Func::trunc;
    case llvm::Intrinsic::rint:
    case llvm::Intrinsic::nearbyint:
    case llvm::Intrinsic::roundeven:
      return Func::round;
    case llvm::Intrinsic::sqrt:
      return Func::sqrt;
    case llvm::Intrinsic::exp:
      return Func::exp;
    case llvm::Intrinsic::exp2:
      return Func::exp2;
    case llvm::Intrinsic::log:
      return Func::log;
    case llvm::Intrinsic::log2:
      return Func::log2;
    case llvm::Intrinsic::tanh:
      return Func::tanh;
    case llvm::Intrinsic::sin:
      return Func::sin;
    case llvm::Intrinsic::cos:
      return Func::cos;
    case llvm::Intrinsic::atan:
      return Func::atan;
    case llvm::Intrinsic::minnum:
      return Func::min;
    case llvm::Intrinsic::maxnum:
      return Func::max;
    case llvm::Intrinsic::pow:
      return Func::pow;
    default:
      return std::nullopt;
  }
}

constexpr const char* kKnownFunctions =
    "known are fabsf, fminf, fmaxf, floorf, ceilf, truncf, rintf, sqrtf, rsqrtf, expf, exp2f, expm1f, logf, "
    "log2f, log1pf, powf, tanhf, erff, sinf, cosf, tanf, atanf, atan2f, and functions the file defines";

// The f32 version of a double function of C, where one is known.
bool is_in_double(std::string_view name) {
  for (const Known& known : kLibrary)
    if (known.name.substr(0, known.name.size() - 1) == name) return true;
  return name == "tan";
}

std::string name_of(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  llvm::StringRef name = callee == nullptr ? "" : callee->getName();
  name.consume_front("__nv_");
  return name.str();
}

bool is_known_name(const std::string& name) {
  for (const Known& known : kLibrary)
    if (known.name == name) return true;
  return name == "abs" || name == "tanf";
}

bool is_known_intrinsic(llvm::Intrinsic::ID id) {
  if (intrinsic_function(id)) return true;
  switch (id) {
    case llvm::Intrinsic::minimum:
    case llvm::Intrinsic::maximum:
    case llvm::Intrinsic::tan:
    case llvm::Intrinsic::fmuladd:
    case llvm::Intrinsic::canonicalize:
    case llvm::Intrinsic::fptosi_sat:
    case llvm::Intrinsic::fptoui_sat:
    case llvm::Intrinsic::smin:
    case llvm::Intrinsic::smax:
    case llvm::Intrinsic::umin:
    case llvm::Intrinsic::umax:
    case llvm::Intrinsic::abs:
    case llvm::Intrinsic::usub_sat:
    case llvm::Intrinsic::ctpop:
    case llvm::Intrinsic::cttz:
    case llvm::Intrinsic::ctlz:
    case llvm::Intrinsic::fshl:
    case llvm::Intrinsic::fshr:
    case llvm::Intrinsic::expect:
    case llvm::Intrinsic::ssa_copy:
    case llvm::Intrinsic::is_fpclass:
      return true;
    default:
      return false;
  }
}

}  // namespace

ExprPtr Translator::float_binary(const llvm::BinaryOperator& operation) {
  if (!operation.getType()->isFloatTy())
    refuse(operation, "computes in 16 bits", "convert to float, compute, and keep the result a float");
  const ExprPtr a = value(operation.getOperand(0)), b = value(operation.getOperand(1));
  switch (operation.getOpcode()) {
    case llvm::Instruction::FAdd:
      return build_.binary(Op::add, a, b);
    case llvm::Instruction::FSub:
      return build_.binary(Op::sub, a, b);
    case llvm::Instruction::FMul:
      return build_.binary(Op::mul, a, b);
    case llvm::Instruction::FDiv:
      return build_.binary(Op::div, a, b);
    default:
      refuse(operation, "is a remainder of floats", "write x - y * floorf(x / y)");
  }
}

/// Exact where the number fits 24 bits, else rounded once: the number is halved with its lowest bit or-ed
/// into the next, converted and doubled, which rounds as the whole number would.
ExprPtr Translator::float_from_unsigned(ExprPtr x) {
  const ExprPtr plain = build_.cast(Type::f32, x);
  if (build_.range(x).lo >= 0) return plain;
  const ExprPtr half = build_.binary(Op::bit_or, shift_right_unsigned(x, build_.integer(1)),
                                     build_.binary(Op::bit_and, x, build_.integer(1)));
  const ExprPtr doubled = build_.binary(Op::mul, build_.cast(Type::f32, half), build_.real(2));
  return build_.where(build_.binary(Op::ge, x, build_.integer(0)), plain, doubled);
}

/// Saturates at 0 and 2^32 - 1, NaN gives 0, as Rust's `as u32` does.
ExprPtr Translator::unsigned_from_float(ExprPtr x) {
  const ExprPtr limit = build_.real(0x1p31);
  const ExprPtr high = build_.binary(Op::bit_xor, build_.cast(Type::i32, build_.binary(Op::sub, x, limit)),
                                     build_.integer(std::int64_t{1} << 31));
  const ExprPtr low = build_.call(Func::max, {build_.cast(Type::i32, x), build_.integer(0)});
  return build_.where(build_.binary(Op::ge, x, limit), high, low);
}

ExprPtr Translator::float_cast(const llvm::CastInst& cast) {
  const llvm::Value* from = cast.getOperand(0);
  const llvm::Type* to = cast.getType();
  switch (cast.getOpcode()) {
    case llvm::Instruction::FPExt:
      if (to->isFloatTy()) return value(from);  // an element of a tensor, which is a float already
      break;
    case llvm::Instruction::SIToFP:
    case llvm::Instruction::UIToFP: {
      if (!to->isFloatTy()) break;
      const unsigned width = from->getType()->getIntegerBitWidth();
      const bool is_signed = cast.getOpcode() == llvm::Instruction::SIToFP;
      const ExprPtr x = value(from);
      if (width == 1)
        return is_signed ? build_.unary(Op::neg, build_.cast(Type::f32, x)) : build_.cast(Type::f32, x);
      if (is_signed) return build_.cast(Type::f32, x);
      return float_from_unsigned(width == 32 ? x : zero_extended(cast, x, std::min(width, 32u)));
    }
    case llvm::Instruction::FPToSI:
    case llvm::Instruction::FPToUI: {
      // C and Rust leave a conversion out of range open; here it saturates. Narrow results wrap around after
      // that.
      const unsigned width = to->getIntegerBitWidth();
      if (width > 32) refuse(cast, "converts to 64 bits", "convert to int, in Rust i32");
      const ExprPtr x = value(from);
      const bool is_signed = cast.getOpcode() == llvm::Instruction::FPToSI || width < 32;
      return wrapped_to(is_signed ? build_.cast(Type::i32, x) : unsigned_from_float(x), width);
    }
    case llvm::Instruction::BitCast:
      refuse(cast, "looks at the bits of a float", "compute with its value");
    default:
      break;
  }
  refuse(cast, "rounds to another float type", "hooks compute and return float");
}

ExprPtr Translator::float_compare(const llvm::FCmpInst& compare) {
  using llvm::CmpInst;
  const ExprPtr a = value(compare.getOperand(0)), b = value(compare.getOperand(1));
  const auto is = [&](Op op) { return build_.binary(op, a, b); };
  const auto is_number = [&](const ExprPtr& x) { return build_.binary(Op::eq, x, x); };
  const auto ordered = [&] { return build_.and_(is_number(a), is_number(b)); };
  switch (compare.getPredicate()) {
    case CmpInst::FCMP_OEQ:
      return is(Op::eq);
    case CmpInst::FCMP_OLT:
      return is(Op::lt);
    case CmpInst::FCMP_OLE:
      return is(Op::le);
    case CmpInst::FCMP_OGT:
      return is(Op::gt);
    case CmpInst::FCMP_OGE:
      return is(Op::ge);
    case CmpInst::FCMP_UNE:
      return is(Op::ne);
    case CmpInst::FCMP_ONE:
      return build_.or_(is(Op::lt), is(Op::gt));
    case CmpInst::FCMP_UEQ:
      return build_.not_(build_.or_(is(Op::lt), is(Op::gt)));
    case CmpInst::FCMP_ULT:
      return build_.not_(is(Op::ge));
    case CmpInst::FCMP_ULE:
      return build_.not_(is(Op::gt));
    case CmpInst::FCMP_UGT:
      return build_.not_(is(Op::le));
    case CmpInst::FCMP_UGE:
      return build_.not_(is(Op::lt));
    case CmpInst::FCMP_ORD:
      return ordered();
    case CmpInst::FCMP_UNO:
      return build_.not_(ordered());
    default:
      return build_.boolean(compare.getPredicate() == CmpInst::FCMP_TRUE);
  }
}

/// Checked before anything is translated: an unknown call may have any effect.
void Translator::refuse_call(const llvm::CallBase& call) const {
  const std::string name = name_of(call);
  if (call.isInlineAsm()) refuse(call, "is inline assembly", "write it in C or Rust");
  if (call.getCalledFunction() == nullptr)
    refuse(call, "calls through a pointer", "call the function by its name");
  if (!llvm::isa<llvm::CallInst>(call))
    refuse(call, "may throw", "compile with -fno-exceptions, rustc -C panic=abort");
  refuse_type(call);
  if (is_known_name(name) || is_known_intrinsic(call.getIntrinsicID())) return;
  if (is_in_double(name))
    refuse(call, "computes in double", fmt::format("hooks compute in float: call {}f", name));
  if (name == "fmaf" || call.getIntrinsicID() == llvm::Intrinsic::fma)
    refuse(call, "must be fused, which no two machines promise", "write a * b + c, which may be");
  if (const std::string plain = llvm::demangle(name); plain.find("panic") != std::string::npos)
    refuse(call, fmt::format("may panic ({})", plain),
           "read tensors by `*name.as_ptr().add(i as usize)`, divide by what is known not to be 0, compile "
           "with -O");
  if (call.getIntrinsicID() != llvm::Intrinsic::not_intrinsic)
    refuse(call, "is not an intrinsic that hooks know", kKnownFunctions);
  refuse(call, "calls a function that is not defined here", kKnownFunctions);
}

/// isnan, isinf, isfinite and their opposites.
ExprPtr Translator::float_class(const llvm::CallInst& call) {
  const auto asked =
      static_cast<unsigned>(llvm::cast<llvm::ConstantInt>(call.getArgOperand(1))->getZExtValue());
  const ExprPtr x = value(call.getArgOperand(0));
  const auto size = [&](Op op) {
    return build_.binary(op, build_.call(Func::abs, {x}),
                         build_.real(std::numeric_limits<double>::infinity()));
  };
  switch (asked) {
    case llvm::fcNan:
      return build_.not_(build_.binary(Op::eq, x, x));
    case llvm::fcAllFlags & ~llvm::fcNan:
      return build_.binary(Op::eq, x, x);
    case llvm::fcInf:
      return size(Op::eq);
    case llvm::fcAllFlags & ~llvm::fcInf:
      return build_.not_(size(Op::eq));
    case llvm::fcFinite:
      return size(Op::lt);
    case llvm::fcAllFlags & ~llvm::fcFinite:
      return build_.not_(size(Op::lt));
    default:
      refuse(call, "asks for a class of floats other than NaN, infinite and finite", "compare the number");
  }
}

std::optional<ExprPtr> Translator::float_call(const llvm::CallInst& call, const std::string& name) {
  const auto arg = [&](unsigned i) { return value(call.getArgOperand(i)); };
  const auto any_nan = [&] { return build_.binary(Op::add, arg(0), arg(1)); };  // NaN where one of them is
  const auto propagating = [&](Func func) {
    const ExprPtr sum = any_nan();
    return build_.where(
        build_.binary(Op::eq, arg(0), arg(0)),
        build_.where(build_.binary(Op::eq, arg(1), arg(1)), build_.call(func, {arg(0), arg(1)}), sum), sum);
  };
  const auto call_of = [&](Func func) {
    std::vector<ExprPtr> args;
    for (unsigned i = 0; i < call.arg_size(); ++i) args.push_back(arg(i));
    return build_.call(func, std::move(args));
  };
  const llvm::Intrinsic::ID id = call.getIntrinsicID();
  const bool is_float = call.getType()->isFloatTy();
  if (id == llvm::Intrinsic::fptosi_sat || id == llvm::Intrinsic::fptoui_sat) {
    const bool is_signed = id == llvm::Intrinsic::fptosi_sat;
    const unsigned width = call.getType()->getIntegerBitWidth();
    if (width > 32) refuse(call, "converts to 64 bits", "convert to int, in Rust i32");
    if (width == 32) return is_signed ? build_.cast(Type::i32, arg(0)) : unsigned_from_float(arg(0));
    const std::int64_t low = is_signed ? -(std::int64_t{1} << (width - 1)) : 0;
    const std::int64_t high = (std::int64_t{1} << (is_signed ? width - 1 : width)) - 1;
    const ExprPtr whole = build_.cast(Type::i32, arg(0));
    const ExprPtr inside = build_.call(Func::clamp, {whole, build_.integer(low), build_.integer(high)});
    return wrapped_to(inside, width);
  }
  if (id == llvm::Intrinsic::is_fpclass) return float_class(call);
  if (!is_float) return std::nullopt;
  if (id == llvm::Intrinsic::minimum) return propagating(Func::min);
  if (id == llvm::Intrinsic::maximum) return propagating(Func::max);
  if (name == "tanf" || id == llvm::Intrinsic::tan)
    return build_.binary(Op::div, build_.call(Func::sin, {arg(0)}), build_.call(Func::cos, {arg(0)}));
  if (id == llvm::Intrinsic::fmuladd)
    return build_.binary(Op::add, build_.binary(Op::mul, arg(0), arg(1)), arg(2));
  if (id == llvm::Intrinsic::canonicalize || id == llvm::Intrinsic::ssa_copy || id == llvm::Intrinsic::expect)
    return arg(0);
  if (const std::optional<Func> func = intrinsic_function(id)) return call_of(*func);
  for (const Known& known : kLibrary)
    if (known.name == name) return call_of(known.func);
  return std::nullopt;
}

ExprPtr Translator::call(const llvm::CallInst& call) {
  const std::string name = name_of(call);
  if (name == "abs" && call.getType()->isIntegerTy(32))
    return build_.call(Func::abs, {value(call.getArgOperand(0))});
  if (const std::optional<ExprPtr> result = float_call(call, name)) return *result;
  if (const std::optional<ExprPtr> result = integer_intrinsic(call)) return *result;
  refuse(call, "is not a call that hooks know", kKnownFunctions);
}

}  // namespace fa
