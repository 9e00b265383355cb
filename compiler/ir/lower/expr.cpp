// Arithmetic, calls and casts. Choices that are not plain translation:
// - an i32 operation is `nsw` exactly where the intervals prove that it cannot wrap;
// - `not` of a comparison is the inverse comparison, so that no i1 xor hides it from later stages;
// - both sides of `and`, `or` and `where` are evaluated (the language says they may be): no branches.
#include "compiler/ir/llvm.h"
// after llvm.h
#include <algorithm>

#include "compiler/ir/functions.h"
#include "compiler/ir/lower/expr.h"
#include "compiler/spec/walk.h"
#include "fa/error.h"

namespace fa {
namespace {

HookArgKind argument_of(Builtin builtin) {
  switch (builtin) {
    case Builtin::score:
      return HookArgKind::score;
    case Builtin::b:
      return HookArgKind::b;
    case Builtin::h:
      return HookArgKind::h;
    case Builtin::q_idx:
      return HookArgKind::q_idx;
    case Builtin::kv_idx:
      return HookArgKind::kv_idx;
    case Builtin::batch:
      return HookArgKind::batch;
    case Builtin::q_len:
      return HookArgKind::q_len;
    case Builtin::kv_len:
      return HookArgKind::kv_len;
    case Builtin::num_q_heads:
      return HookArgKind::num_q_heads;
    case Builtin::num_kv_heads:
      return HookArgKind::num_kv_heads;
    case Builtin::group_size:
      return HookArgKind::group_size;
    default:
      throw InternalError("a name that only an example may use reached a hook");
  }
}

}  // namespace

ExprLowering::ExprLowering(const CheckedSpec& spec, Bounds& bounds, llvm::Function& function,
                           llvm::IRBuilderBase& builder, std::vector<ClampedRead>& clamped)
    : spec_(spec),
      bounds_(bounds),
      function_(function),
      builder_(builder),
      clamped_(clamped),
      args_(spec),
      scopes_(1) {}

void ExprLowering::open_loop(int loop, llvm::Value& index) {
  scopes_.push_back({.loop = loop, .variable = &index, .values = {}, .floats = {}});
}

llvm::Value* ExprLowering::lower_all(const Expr& expr) {
  find_steps(expr);
  lower_steps(-1);
  return lower(expr);
}

/// Every kDeepestLowering levels a node whose operands need not be asked for deeper. Not an i32: how one is
/// lowered depends on its user (compare.cpp), and they nest no deeper than the spec's own.
void ExprLowering::find_steps(const Expr& expr) {
  std::unordered_map<const Expr*, int> heights;  // above the next steps
  const auto args_of = [](const Expr* node) {
    std::vector<const Expr*> args;
    for (const ExprPtr& arg : node->args) args.push_back(arg.get());
    return args;
  };
  visit_operands_first(&expr, args_of, [&](const Expr* node) {
    int height = 0;
    for (const ExprPtr& arg : node->args) height = std::max(height, heights.at(arg.get()) + 1);
    const bool is_step = height >= kDeepestLowering && node->type != Type::i32;
    if (is_step) steps_.push_back(node);
    heights[node] = is_step ? 0 : height;
  });
}

/// Lowers the steps whose values are known inside one iteration of the reduction `loop`, or (-1) before any
/// that is not open yet.
void ExprLowering::lower_steps(int loop) {
  for (const Expr* step : steps_) {
    const std::vector<int>& ids = free_loops_.of(*step);
    const bool is_new = loop < 0 || std::ranges::find(ids, loop) != ids.end();
    if (is_new && std::ranges::all_of(ids, [&](int id) { return is_open(id); })) lower(*step);
  }
}

llvm::Value* ExprLowering::lower(const Expr& expr) {
  if (auto& values = scope_of(expr).values; values.contains(&expr)) return values[&expr];
  llvm::Value* value = lower_new(expr);
  return scope_of(expr).values[&expr] = value;  // looked up again: lowering may have opened scopes
}

llvm::Value* ExprLowering::lower_new(const Expr& expr) {
  switch (expr.kind) {
    case ExprKind::literal:
      return lower_literal(expr);
    case ExprKind::builtin:
      if (expr.builtin == Builtin::head_dim) return int_constant(spec_.head_dim);
      return argument(argument_of(expr.builtin), 0);
    case ExprKind::param:
      return argument(HookArgKind::param, expr.index);
    case ExprKind::loop_var:
      return scope_of(expr).variable;
    case ExprKind::unary:
      return lower_unary(expr);
    case ExprKind::binary:
      return lower_binary(expr);
    case ExprKind::call:
      return lower_call(expr);
    case ExprKind::cast:
      return lower_cast(expr);
    case ExprKind::where: {
      llvm::Value* condition = lower(*expr.args[0]);
      llvm::Value* then = lower(*expr.args[1]);
      return builder_.CreateSelect(condition, then, lower(*expr.args[2]), "choice");
    }
    case ExprKind::read:
      return lower_read(expr);
    case ExprKind::reduce:
      return lower_reduce(expr);
  }
  throw InternalError("an expression of unknown kind reached lowering");
}

llvm::Value* ExprLowering::argument(HookArgKind kind, int index) {
  return function_.getArg(args_.place(kind, index));
}

llvm::Value* ExprLowering::int_constant(std::int64_t value) {
  return builder_.getInt32(static_cast<std::uint32_t>(value));
}

Known ExprLowering::known(const Expr& expr) { return {.value = lower(expr), .range = bounds_.range(expr)}; }

llvm::Value* ExprLowering::min_max(bool is_max, llvm::Value* a, llvm::Value* b) {
  if (a->getType()->isFloatTy())
    return builder_.CreateBinaryIntrinsic(is_max ? llvm::Intrinsic::maxnum : llvm::Intrinsic::minnum, a, b);
  return builder_.CreateBinaryIntrinsic(is_max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin, a, b);
}

/// A function of f32s, one of functions.h.
llvm::Value* ExprLowering::call_declared(std::string_view name, const Expr& call) {
  std::vector<llvm::Value*> values;
  for (const ExprPtr& arg : call.args) values.push_back(lower(*arg));
  llvm::Module& module = *function_.getParent();
  llvm::Type* f32 = builder_.getFloatTy();
  auto* type = llvm::FunctionType::get(f32, std::vector<llvm::Type*>(values.size(), f32), false);
  auto* callee = llvm::cast<llvm::Function>(
      module.getOrInsertFunction(llvm::StringRef(name.data(), name.size()), type).getCallee());
  callee->setDoesNotAccessMemory();
  callee->setDoesNotThrow();
  callee->setWillReturn();
  return builder_.CreateCall(callee, values);
}

llvm::Value* ExprLowering::lower_literal(const Expr& expr) {
  switch (expr.type) {
    case Type::boolean:
      return builder_.getInt1(expr.int_value != 0);
    case Type::i32:
      return int_constant(expr.int_value);
    case Type::f32:
      return llvm::ConstantFP::get(builder_.getFloatTy(),
                                   static_cast<double>(static_cast<float>(expr.float_value)));
  }
  throw InternalError("a literal of unknown type reached lowering");
}

llvm::Value* ExprLowering::lower_unary(const Expr& expr) {
  llvm::Value* value = lower(*expr.args[0]);
  if (expr.op == Op::logical_not) {
    if (auto* compare = llvm::dyn_cast<llvm::CmpInst>(value))
      return builder_.CreateCmp(compare->getInversePredicate(), compare->getOperand(0),
                                compare->getOperand(1));
    return builder_.CreateNot(value);
  }
  if (expr.op == Op::bit_not) return builder_.CreateNot(value);
  if (expr.type == Type::f32) return builder_.CreateFNeg(value);
  return builder_.CreateSub(int_constant(0), value, "", false, !bounds_.may_wrap(expr));
}

llvm::Value* ExprLowering::lower_binary(const Expr& expr) {
  const Expr& left = *expr.args[0];
  const Expr& right = *expr.args[1];
  const bool is_compare = expr.op >= Op::lt && expr.op <= Op::ne;
  if (is_compare && left.type == Type::i32) return lower_int_compare(expr);

  llvm::Value* a = lower(left);
  llvm::Value* b = lower(right);
  if (left.type == Type::boolean) {
    if (expr.op == Op::logical_and) return builder_.CreateAnd(a, b);
    if (expr.op == Op::logical_or) return builder_.CreateOr(a, b);
    return expr.op == Op::eq ? builder_.CreateICmpEQ(a, b) : builder_.CreateICmpNE(a, b);
  }
  if (left.type == Type::f32) {
    switch (expr.op) {
      case Op::add:
        return builder_.CreateFAdd(a, b, "sum");
      case Op::sub:
        return builder_.CreateFSub(a, b, "difference");
      case Op::mul:
        return builder_.CreateFMul(a, b, "product");
      case Op::div:
        return builder_.CreateFDiv(a, b, "quotient");
      case Op::lt:
        return builder_.CreateFCmpOLT(a, b);
      case Op::le:
        return builder_.CreateFCmpOLE(a, b);
      case Op::gt:
        return builder_.CreateFCmpOGT(a, b);
      case Op::ge:
        return builder_.CreateFCmpOGE(a, b);
      case Op::eq:
        return builder_.CreateFCmpOEQ(a, b);
      case Op::ne:
        return builder_.CreateFCmpUNE(a, b);
      default:
        throw InternalError("an operation without a meaning on f32 reached lowering");
    }
  }
  const bool nsw = !bounds_.may_wrap(expr);
  const Known x = {a, bounds_.range(left)};
  const Known y = {b, bounds_.range(right)};
  switch (expr.op) {
    case Op::add:
      return builder_.CreateAdd(a, b, "sum", false, nsw);
    case Op::sub:
      return builder_.CreateSub(a, b, "difference", false, nsw);
    case Op::mul:
      return builder_.CreateMul(a, b, "product", false, nsw);
    case Op::div:
      return emit_floor_div(builder_, x, y);
    case Op::mod:
      return emit_floor_mod(builder_, x, y);
    case Op::shl:
      return emit_shift_left(builder_, x, y);
    case Op::shr:
      return emit_shift_right(builder_, x, y);
    case Op::bit_and:
      return builder_.CreateAnd(a, b);
    case Op::bit_or:
      return builder_.CreateOr(a, b);
    case Op::bit_xor:
      return builder_.CreateXor(a, b);
    default:
      throw InternalError("an operation without a meaning on i32 reached lowering");
  }
}

llvm::Value* ExprLowering::lower_call(const Expr& expr) {
  const auto unary = [&](llvm::Intrinsic::ID id) {
    return builder_.CreateUnaryIntrinsic(id, lower(*expr.args[0]));
  };
  switch (expr.func) {
    case Func::min:
    case Func::max: {
      llvm::Value* result = lower(*expr.args[0]);
      for (std::size_t i = 1; i < expr.args.size(); ++i)
        result = min_max(expr.func == Func::max, result, lower(*expr.args[i]));
      return result;
    }
    case Func::clamp: {
      llvm::Value* raised = min_max(true, lower(*expr.args[0]), lower(*expr.args[1]));
      return min_max(false, raised, lower(*expr.args[2]));
    }
    case Func::abs:
      if (expr.type == Type::f32) return unary(llvm::Intrinsic::fabs);
      return builder_.CreateBinaryIntrinsic(
          llvm::Intrinsic::abs, lower(*expr.args[0]),
          builder_.getInt1(bounds_.range(*expr.args[0]).lo > Interval{}.lo));
    case Func::floor:
      return unary(llvm::Intrinsic::floor);
    case Func::ceil:
      return unary(llvm::Intrinsic::ceil);
    case Func::round:
      return unary(llvm::Intrinsic::roundeven);
    case Func::trunc:
      return unary(llvm::Intrinsic::trunc);
    case Func::exp:
      return unary(llvm::Intrinsic::exp);
    case Func::exp2:
      return unary(llvm::Intrinsic::exp2);
    case Func::log:
      return unary(llvm::Intrinsic::log);
    case Func::log2:
      return unary(llvm::Intrinsic::log2);
    case Func::tanh:
      return unary(llvm::Intrinsic::tanh);
    case Func::sqrt:
      return unary(llvm::Intrinsic::sqrt);
    case Func::sin:
      return unary(llvm::Intrinsic::sin);
    case Func::cos:
      return unary(llvm::Intrinsic::cos);
    case Func::sigmoid:
      return call_declared(kSigmoidName, expr);
    case Func::rsqrt:
      return call_declared(kRsqrtName, expr);
    case Func::erf:
      return call_declared(kErfName, expr);
    case Func::atan:
      return call_declared(kAtanName, expr);
    case Func::log1p:
      return call_declared(kLog1pName, expr);
    case Func::expm1:
      return call_declared(kExpm1Name, expr);
    case Func::atan2:
      return call_declared(kAtan2Name, expr);
    case Func::pow:
      return call_declared(kPowName, expr);
    case Func::popcount:
      return unary(llvm::Intrinsic::ctpop);
    case Func::ceil_div:
      return emit_ceil_div(builder_, known(*expr.args[0]), known(*expr.args[1]));
  }
  throw InternalError("a function of unknown name reached lowering");
}

llvm::Value* ExprLowering::lower_cast(const Expr& expr) {
  const Expr& from = *expr.args[0];
  if (from.type == expr.type) return lower(from);
  if (expr.type == Type::f32 && from.type == Type::i32) {
    if (bounds_.range(from).within(-kExactInFloat, kExactInFloat)) return exact_float(from);
    return builder_.CreateSIToFP(lower(from), builder_.getFloatTy());
  }
  llvm::Value* value = lower(from);
  if (expr.type == Type::f32) return builder_.CreateUIToFP(value, builder_.getFloatTy());
  if (from.type == Type::boolean) return builder_.CreateZExt(value, builder_.getInt32Ty());
  return builder_.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {builder_.getInt32Ty(), builder_.getFloatTy()},
                                  {value});
}

}  // namespace fa
