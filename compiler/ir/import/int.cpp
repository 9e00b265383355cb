// Integers. The language has one width, floor division and signed comparisons; C and Rust have many widths,
// truncating division and unsigned numbers. Each is written exactly, and briefly where the ranges that the
// language's own proofs know (0 <= q_idx < q_len, ...) allow it.
#include <fmt/format.h>

#include "compiler/ir/import/translate.h"

namespace fa {
namespace {

constexpr unsigned kWidth = 32;

unsigned width_of(const llvm::Value& value) { return value.getType()->getIntegerBitWidth(); }

}  // namespace

/// The expression of a wider integer, which must be the number itself.
ExprPtr Translator::fitted(const llvm::Value& at, ExprPtr x) {
  if (build_.may_wrap(x))
    refuse(at, "computes a number that may not fit 32 bits",
           "hooks compute with 32-bit integers: use int, in Rust i32; indices of tensors may be wider");
  return x;
}

/// Keeps the low `width` bits, as a signed number.
ExprPtr Translator::wrapped_to(ExprPtr x, unsigned width) {
  if (width >= kWidth) return x;
  const std::int64_t half = std::int64_t{1} << (width - 1);
  if (build_.range(x).within(-half, half - 1)) return x;
  const ExprPtr rest = build_.integer(kWidth - width);
  return build_.binary(Op::shr, build_.binary(Op::shl, std::move(x), rest), rest);
}

/// The same bits read as an unsigned number of `width` bits, which must fit an i32.
ExprPtr Translator::zero_extended(const llvm::Value& at, ExprPtr x, unsigned width) {
  if (build_.range(x).lo >= 0) return x;
  if (width < kWidth)
    return build_.binary(Op::bit_and, std::move(x), build_.integer((std::int64_t{1} << width) - 1));
  refuse(at, "widens an unsigned number that may not fit 31 bits",
         "use int, in Rust i32, or keep the number below 2^31: x & 0x7fffffff");
}

ExprPtr Translator::less_unsigned(ExprPtr a, ExprPtr b) {
  const ExprPtr zero = build_.integer(0);
  const bool a_ok = build_.range(a).lo >= 0, b_ok = build_.range(b).lo >= 0;
  const ExprPtr less = build_.binary(Op::lt, a, b);
  if (a_ok && b_ok) return less;
  if (b_ok) return build_.and_(build_.binary(Op::ge, a, zero), less);
  if (a_ok) return build_.or_(build_.binary(Op::lt, b, zero), less);
  const ExprPtr sign = build_.integer(std::int64_t{1} << 31);
  return build_.binary(Op::lt, build_.binary(Op::bit_xor, a, sign), build_.binary(Op::bit_xor, b, sign));
}

ExprPtr Translator::shift_right_unsigned(ExprPtr x, ExprPtr amount) {
  const bool is_constant = amount->kind == ExprKind::literal;
  const std::int64_t bits = amount->int_value & 31;
  if (build_.range(x).lo >= 0 || (is_constant && bits == 0)) {
    if (is_constant && bits < 31) return build_.binary(Op::div, x, build_.integer(std::int64_t{1} << bits));
    return build_.binary(Op::shr, x, amount);
  }
  const ExprPtr shifted = build_.binary(Op::shr, x, amount);
  if (is_constant)
    return build_.binary(Op::bit_and, shifted, build_.integer((std::int64_t{1} << (32 - bits)) - 1));
  // (2 << (31 - amount)) - 1 has the low 32 - amount bits set, all of them for 0.
  const ExprPtr left =
      build_.binary(Op::sub, build_.integer(31), build_.binary(Op::bit_and, amount, build_.integer(31)));
  const ExprPtr ones =
      build_.binary(Op::sub, build_.binary(Op::shl, build_.integer(2), left), build_.integer(1));
  return build_.binary(Op::bit_and, shifted, ones);
}

ExprPtr Translator::divide_unsigned(ExprPtr a, ExprPtr b) {
  const bool b_ok = build_.range(b).lo >= 0;
  if (build_.range(a).lo >= 0 && b_ok) return build_.binary(Op::div, a, b);
  // Half of a by b, twice, is a / b or one less; a b that has its top bit set goes into a once or not at all.
  const ExprPtr twice = build_.binary(
      Op::shl, build_.binary(Op::div, shift_right_unsigned(a, build_.integer(1)), b), build_.integer(1));
  const ExprPtr rest = build_.binary(Op::sub, a, build_.binary(Op::mul, twice, b));
  const ExprPtr one_more = build_.cast(Type::i32, build_.not_(less_unsigned(rest, b)));
  ExprPtr quotient = build_.binary(Op::add, twice, one_more);
  const ExprPtr zero = build_.integer(0);
  if (build_.range(b).lo < 1) quotient = build_.where(build_.binary(Op::eq, b, zero), zero, quotient);
  if (b_ok) return quotient;
  const ExprPtr once = build_.cast(Type::i32, build_.not_(less_unsigned(a, b)));
  return build_.where(build_.binary(Op::lt, b, zero), once, quotient);
}

ExprPtr Translator::divide_toward_zero(ExprPtr a, ExprPtr b) {
  if (build_.range(a).lo >= 0 && build_.range(b).lo >= 0) return build_.binary(Op::div, a, b);
  const ExprPtr zero = build_.integer(0);
  const ExprPtr below = build_.binary(Op::lt, a, zero);
  if (build_.range(b).lo >= 1) {  // rounding a negative a up: floor((a + b - 1) / b)
    const ExprPtr raise = build_.where(below, build_.binary(Op::sub, b, build_.integer(1)), zero);
    return build_.binary(Op::div, build_.binary(Op::add, a, raise), b);
  }
  // The floor is one too low where the signs differ and something is left over.
  const ExprPtr inexact = build_.binary(Op::ne, build_.binary(Op::mod, a, b), zero);
  const ExprPtr differ = build_.binary(Op::ne, below, build_.binary(Op::lt, b, zero));
  return build_.binary(Op::add, build_.binary(Op::div, a, b),
                       build_.cast(Type::i32, build_.and_(inexact, differ)));
}

ExprPtr Translator::remainder_toward_zero(ExprPtr a, ExprPtr b) {
  const ExprPtr floored = build_.binary(Op::mod, a, b);
  if (build_.range(a).lo >= 0 && build_.range(b).lo >= 0) return floored;
  const ExprPtr zero = build_.integer(0);
  const ExprPtr left_over = build_.binary(Op::ne, floored, zero);
  const ExprPtr differ =
      build_.binary(Op::ne, build_.binary(Op::lt, a, zero), build_.binary(Op::lt, b, zero));
  return build_.binary(Op::sub, floored, build_.where(build_.and_(left_over, differ), b, zero));
}

ExprPtr Translator::integer_binary(const llvm::BinaryOperator& operation) {
  using llvm::Instruction;
  const unsigned width = width_of(operation);
  const auto opcode = operation.getOpcode();
  const ExprPtr a = value(operation.getOperand(0));
  const ExprPtr b = value(operation.getOperand(1));
  if (width == 1) {
    switch (opcode) {
      case Instruction::And:
      case Instruction::Mul:
        return build_.and_(a, b);
      case Instruction::Or:
        return build_.or_(a, b);
      case Instruction::Xor:
      case Instruction::Add:
      case Instruction::Sub:
        return build_.binary(Op::ne, a, b);
      default:
        refuse(operation, "is arithmetic on a bool", "convert it to int first");
    }
  }
  const auto plain = [&](Op op) {
    ExprPtr result = build_.binary(op, a, b);
    return width > kWidth ? fitted(operation, result) : wrapped_to(result, width);
  };
  const bool by_constant = b->kind == ExprKind::literal;
  // A shift by more than the width is undefined; a wider number shifted by 32 or more leaves nothing in the
  // low 32 bits.
  const bool short_shift = by_constant && b->int_value >= 0 && b->int_value < std::min(width, kWidth);
  const bool is_shift =
      opcode == Instruction::Shl || opcode == Instruction::LShr || opcode == Instruction::AShr;
  if (is_shift && width > kWidth && !short_shift)
    refuse(operation, "shifts a 64-bit number by an amount that is not known to be below 32",
           "hooks compute with 32-bit integers: use int, in Rust i32");
  const auto unsigned_of = [&](const ExprPtr& x) {
    return width == kWidth ? x : zero_extended(operation, x, std::min(width, kWidth));
  };
  switch (opcode) {
    case Instruction::Add:
      return plain(Op::add);
    case Instruction::Sub:
      return plain(Op::sub);
    case Instruction::Mul:
      return plain(Op::mul);
    case Instruction::Shl:
      if (by_constant && short_shift && b->int_value < 31 && !build_.may_wrap(build_.binary(Op::shl, a, b)))
        return build_.binary(Op::mul, a, build_.integer(std::int64_t{1} << b->int_value));
      return plain(Op::shl);
    case Instruction::AShr:
      // Both round down. A division is how the spec itself writes the number of a block.
      if (short_shift && b->int_value < 31)
        return build_.binary(Op::div, a, build_.integer(std::int64_t{1} << b->int_value));
      return build_.binary(Op::shr, a, b);
    case Instruction::LShr:
      return wrapped_to(shift_right_unsigned(unsigned_of(a), b), width);
    case Instruction::And:
      return build_.binary(Op::bit_and, a, b);
    case Instruction::Or:
      return build_.binary(Op::bit_or, a, b);
    case Instruction::Xor:
      return build_.binary(Op::bit_xor, a, b);
    case Instruction::SDiv: {
      const ExprPtr quotient = divide_toward_zero(a, b);
      return width > kWidth ? fitted(operation, quotient) : wrapped_to(quotient, width);
    }
    case Instruction::SRem:
      return remainder_toward_zero(a, b);
    case Instruction::UDiv:
      return wrapped_to(divide_unsigned(unsigned_of(a), unsigned_of(b)), width);
    case Instruction::URem: {
      const ExprPtr x = unsigned_of(a), y = unsigned_of(b);
      if (build_.range(x).lo >= 0 && build_.range(y).lo >= 0)
        return wrapped_to(build_.binary(Op::mod, x, y), width);
      const ExprPtr whole = build_.binary(Op::mul, divide_unsigned(x, y), y);
      const ExprPtr rest = build_.binary(Op::sub, x, whole);
      const ExprPtr zero = build_.integer(0);
      return build_.where(build_.binary(Op::eq, y, zero), zero, rest);
    }
    default:
      refuse(operation, "is not an operation that hooks know", "use + - * / % & | ^ << >>");
  }
}

/// The low bits of a number of any width, worked out without the rest: sums and products need no more.
ExprPtr Translator::low_bits(const llvm::Value* wide, int bits) {
  using llvm::Instruction;
  if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(wide))
    return wrapped_to(
        build_.integer(static_cast<std::int64_t>(constant->getValue().trunc(32).getZExtValue())),
        static_cast<unsigned>(bits));
  if (width_of(*wide) <= kWidth || values_.contains(wide))
    return wrapped_to(value(wide), static_cast<unsigned>(bits));
  if (const auto* cast = llvm::dyn_cast<llvm::CastInst>(wide);
      cast != nullptr && width_of(*cast->getOperand(0)) == kWidth)
    return wrapped_to(value(cast->getOperand(0)), static_cast<unsigned>(bits));
  const auto* operation = llvm::dyn_cast<llvm::BinaryOperator>(wide);
  if (operation == nullptr || --low_bits_left_ < 0) return value(wide);  // refuses
  const auto both = [&](Op op) {
    const ExprPtr a = low_bits(operation->getOperand(0), 32);
    return wrapped_to(build_.binary(op, a, low_bits(operation->getOperand(1), 32)),
                      static_cast<unsigned>(bits));
  };
  switch (operation->getOpcode()) {
    case Instruction::Add:
      return both(Op::add);
    case Instruction::Sub:
      return both(Op::sub);
    case Instruction::Mul:
      return both(Op::mul);
    case Instruction::And:
      return both(Op::bit_and);
    case Instruction::Or:
      return both(Op::bit_or);
    case Instruction::Xor:
      return both(Op::bit_xor);
    case Instruction::Shl: {
      const auto* by = llvm::dyn_cast<llvm::ConstantInt>(operation->getOperand(1));
      if (by == nullptr) return value(wide);
      if (by->getValue().uge(32)) return build_.integer(0);
      const ExprPtr low = low_bits(operation->getOperand(0), 32);
      const ExprPtr amount = build_.integer(static_cast<std::int64_t>(by->getZExtValue()));
      return wrapped_to(build_.binary(Op::shl, low, amount), static_cast<unsigned>(bits));
    }
    default:
      return value(wide);
  }
}

ExprPtr Translator::integer_cast(const llvm::CastInst& cast) {
  const llvm::Value* from = cast.getOperand(0);
  if (!from->getType()->isIntegerTy() || !cast.getType()->isIntegerTy())
    refuse(cast, "turns an address into a number or back", "index tensors by numbers");
  const unsigned width = width_of(*from), to = width_of(cast);
  switch (cast.getOpcode()) {
    case llvm::Instruction::ZExt:
      if (width == 1) return build_.cast(Type::i32, value(from));
      // `nneg` promises that there is no sign to lose.
      if (cast.hasNonNeg()) return value(from);
      return zero_extended(cast, value(from), width);
    case llvm::Instruction::SExt:
      if (width == 1) return build_.unary(Op::neg, build_.cast(Type::i32, value(from)));
      return value(from);
    case llvm::Instruction::Trunc: {
      const ExprPtr low = low_bits(from, static_cast<int>(std::min(to == 1 ? kWidth : to, kWidth)));
      if (to != 1) return low;
      if (low->kind == ExprKind::cast && low->args[0]->type == Type::boolean) return low->args[0];
      const ExprPtr bit = build_.binary(Op::bit_and, low, build_.integer(1));
      return build_.binary(Op::ne, bit, build_.integer(0));
    }
    default:
      refuse(cast, "is not a conversion that hooks know", "convert between int and float only");
  }
}

ExprPtr Translator::integer_compare(const llvm::ICmpInst& compare) {
  using llvm::CmpInst;
  if (!compare.getOperand(0)->getType()->isIntegerTy())
    refuse(compare, "compares addresses", "compare indices");
  ExprPtr a = value(compare.getOperand(0)), b = value(compare.getOperand(1));
  const bool is_equality = compare.isEquality();
  if (a->type == Type::boolean && !is_equality) {  // true is 1 without a sign and -1 with one
    a = build_.cast(Type::i32, a);
    b = build_.cast(Type::i32, b);
    if (compare.isSigned()) std::swap(a, b);
  }
  switch (compare.getPredicate()) {
    case CmpInst::ICMP_EQ:
      return build_.binary(Op::eq, a, b);
    case CmpInst::ICMP_NE:
      return build_.binary(Op::ne, a, b);
    case CmpInst::ICMP_SLT:
      return build_.binary(Op::lt, a, b);
    case CmpInst::ICMP_SLE:
      return build_.binary(Op::le, a, b);
    case CmpInst::ICMP_SGT:
      // Compilers write x > -1 for x >= 0.
      if (b->kind == ExprKind::literal && b->int_value == -1)
        return build_.binary(Op::ge, a, build_.integer(0));
      return build_.binary(Op::gt, a, b);
    case CmpInst::ICMP_SGE:
      return build_.binary(Op::ge, a, b);
    case CmpInst::ICMP_ULT:
      return less_unsigned(a, b);
    case CmpInst::ICMP_UGE:
      return build_.not_(less_unsigned(a, b));
    case CmpInst::ICMP_UGT:
      return less_unsigned(b, a);
    default:
      return build_.not_(less_unsigned(b, a));
  }
}

std::optional<ExprPtr> Translator::integer_intrinsic(const llvm::CallInst& call) {
  if (!call.getType()->isIntegerTy()) return std::nullopt;
  const unsigned width = width_of(call);
  const auto arg = [&](unsigned i) { return value(call.getArgOperand(i)); };
  const auto choose = [&](ExprPtr condition, unsigned a, unsigned b) {
    return build_.where(std::move(condition), arg(a), arg(b));
  };
  const auto need_32 = [&] {
    if (width != kWidth) refuse(call, "is not on 32 bits", "use int, in Rust i32 or u32");
  };
  const auto both_counted = [&] { return build_.range(arg(0)).lo >= 0 && build_.range(arg(1)).lo >= 0; };
  switch (call.getIntrinsicID()) {
    case llvm::Intrinsic::smin:
      return build_.call(Func::min, {arg(0), arg(1)});
    case llvm::Intrinsic::smax:
      return build_.call(Func::max, {arg(0), arg(1)});
    case llvm::Intrinsic::umin:
      if (both_counted()) return build_.call(Func::min, {arg(0), arg(1)});
      return choose(less_unsigned(arg(0), arg(1)), 0, 1);
    case llvm::Intrinsic::umax:
      if (both_counted()) return build_.call(Func::max, {arg(0), arg(1)});
      return choose(less_unsigned(arg(0), arg(1)), 1, 0);
    case llvm::Intrinsic::abs:
      return wrapped_to(build_.call(Func::abs, {arg(0)}), width);
    case llvm::Intrinsic::usub_sat:
      return build_.where(less_unsigned(arg(0), arg(1)), build_.integer(0),
                          wrapped_to(build_.binary(Op::sub, arg(0), arg(1)), width));
    case llvm::Intrinsic::ctpop:
      need_32();
      return build_.call(Func::popcount, {arg(0)});
    case llvm::Intrinsic::cttz: {  // the ones below the lowest one
      need_32();
      const ExprPtr below = build_.binary(Op::sub, arg(0), build_.integer(1));
      return build_.call(Func::popcount,
                         {build_.binary(Op::bit_and, build_.unary(Op::bit_not, arg(0)), below)});
    }
    case llvm::Intrinsic::ctlz: {  // 32 less the ones of the number with everything under its highest one set
      need_32();
      ExprPtr x = arg(0);
      for (int by = 1; by < 32; by *= 2)
        x = build_.binary(Op::bit_or, x, shift_right_unsigned(x, build_.integer(by)));
      return build_.binary(Op::sub, build_.integer(32), build_.call(Func::popcount, {x}));
    }
    case llvm::Intrinsic::fshl:
    case llvm::Intrinsic::fshr: {
      need_32();
      const ExprPtr by = build_.binary(Op::bit_and, arg(2), build_.integer(31));
      if (by->kind != ExprKind::literal)
        refuse(call, "rotates by an amount that is no constant", "rotate by a constant");
      const bool is_left = call.getIntrinsicID() == llvm::Intrinsic::fshl;
      const std::int64_t left = is_left ? by->int_value : 32 - by->int_value;
      if (left == 0) return arg(0);
      if (left == 32) return arg(1);
      return build_.binary(Op::bit_or, build_.binary(Op::shl, arg(0), build_.integer(left)),
                           shift_right_unsigned(arg(1), build_.integer(32 - left)));
    }
    case llvm::Intrinsic::expect:
    case llvm::Intrinsic::ssa_copy:
      return arg(0);
    default:
      return std::nullopt;
  }
}

}  // namespace fa
