// Widening of hooks. Hooks are straight-line code with counted loops whose trip counts no row changes, so
// blocks are copied and instructions widened one by one; there is no control flow to convert.
#include "compiler/emit/host/vector/widen.h"

#include <cstddef>

#include "compiler/emit/host/vector/elementary.h"
#include "compiler/ir/llvm/flow.h"
#include "fa/error.h"

namespace fa {
namespace {

void mark_constant(llvm::Instruction* load) {
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(load->getContext(), {}));
}

[[noreturn]] void refuse(const llvm::Instruction& from) {
  std::string text;
  llvm::raw_string_ostream(text) << from;
  throw InternalError("the host back end cannot widen this instruction of a hook:" + text);
}

}  // namespace

HookInliner::HookInliner(const HostModule& host, HostBuilder& body, llvm::IRBuilder<>& before,
                         llvm::Value* params, llvm::Value* b, llvm::Value* h, Wide rows)
    : host_(host), body_(body), before_(before), b_(b), h_(h), rows_(std::move(rows)) {
  for (const HookArg& arg : host.hooks.args) {
    llvm::Value* value = load_uniform(before_, params, arg);
    uniforms_.push_back(value ? Wide::scalar(value) : Wide{});
  }
}

Wide HookInliner::argument(std::size_t index, const Wide& score, llvm::Value* kv_idx) {
  switch (host_.hooks.args[index].kind) {
    case HookArgKind::score:
      return score;
    case HookArgKind::b:
      return Wide::scalar(b_);
    case HookArgKind::h:
      return Wide::scalar(h_);
    case HookArgKind::q_idx:
      return rows_;
    case HookArgKind::kv_idx:
      return Wide::scalar(kv_idx);
    default:
      return uniforms_[index];
  }
}

HookInliner::Traits HookInliner::traits(const llvm::Value* value) const {
  const auto found = traits_.find(value);
  return found == traits_.end() ? Traits{} : found->second;
}

void HookInliner::classify(const llvm::Function& hook) {
  traits_.clear();
  traits_[hook_argument(hook, HookArgKind::score)] = {.divergent = true, .in_loop = true};
  traits_[hook_argument(hook, HookArgKind::q_idx)] = {.divergent = true, .in_loop = false};
  traits_[hook_argument(hook, HookArgKind::kv_idx)] = {.divergent = false, .in_loop = true};
  for (std::size_t i = host_.hooks.args.size(); i < hook.arg_size(); ++i)
    traits_[hook.getArg(static_cast<unsigned>(i))] = {.divergent = false, .in_loop = true};
  for (bool changed = true; changed;) {
    changed = false;
    for (const llvm::BasicBlock& block : hook)
      for (const llvm::Instruction& instruction : block) {
        Traits now = traits(&instruction);
        now.in_loop |= &block != &hook.getEntryBlock();
        for (const llvm::Use& use : instruction.operands()) {
          now.divergent |= traits(use).divergent;
          now.in_loop |= traits(use).in_loop;
        }
        Traits& old = traits_[&instruction];
        changed |= now.divergent != old.divergent || now.in_loop != old.in_loop;
        old = now;
      }
  }
}

Wide HookInliner::operand(const llvm::Value* value) const {
  const auto found = values_.find(value);
  if (found != values_.end()) return found->second;
  return Wide::scalar(
      const_cast<llvm::Value*>(value));  // a constant; LLVM's constants are shared, never changed
}

llvm::Value* HookInliner::vector(llvm::IRBuilder<>& ir, const Wide& value, std::size_t i) {
  return value.uniform ? ir.CreateVectorSplat(static_cast<unsigned>(host_.shape.lanes), value.parts[0])
                       : value.parts[i];
}

llvm::Value* HookInliner::vector(const Wide& value, std::size_t i) { return vector(body_.ir(), value, i); }

Wide HookInliner::call(const llvm::Function& hook, const Wide& score, llvm::Value* kv_idx,
                       const std::vector<llvm::Value*>& loops) {
  classify(hook);
  values_.clear();
  bases_.clear();
  const std::size_t num_args = host_.hooks.args.size();
  for (std::size_t i = 0; i < hook.arg_size(); ++i)
    values_[hook.getArg(static_cast<unsigned>(i))] =
        i < num_args ? argument(i, score, kv_idx) : Wide::scalar(loops[i - num_args]);

  llvm::IRBuilder<>& ir = body_.ir();
  std::map<const llvm::BasicBlock*, llvm::BasicBlock*> blocks;
  const bool one_block = hook.size() == 1;
  for (const llvm::BasicBlock& block : hook)
    blocks[&block] = &block == &hook.getEntryBlock() ? ir.GetInsertBlock() : body_.block("hook");
  llvm::BasicBlock* after = one_block ? nullptr : body_.block("after_hook");

  Wide result;
  const llvm::ReversePostOrderTraversal<const llvm::Function*> order(&hook);
  for (const llvm::BasicBlock* block : order) {
    ir.SetInsertPoint(blocks[block]);
    for (const llvm::Instruction& from : *block) {
      if (const auto* ret = llvm::dyn_cast<llvm::ReturnInst>(&from)) {
        if (!result.parts.empty()) refuse(from);  // a second return
        result = operand(ret->getReturnValue());
        if (after) ir.CreateBr(after);
      } else if (const auto* branch = llvm::dyn_cast<llvm::BranchInst>(&from)) {
        if (branch->isUnconditional()) {
          ir.CreateBr(blocks[branch->getSuccessor(0)]);
        } else {
          const Wide condition = operand(branch->getCondition());
          if (!condition.uniform) refuse(from);
          ir.CreateCondBr(condition.parts[0], blocks[branch->getSuccessor(0)],
                          blocks[branch->getSuccessor(1)]);
        }
      } else if (from.isTerminator()) {
        refuse(from);
      } else {
        values_[&from] = instruction(from);
      }
    }
  }
  for (const llvm::BasicBlock& block : hook)
    for (const llvm::PHINode& phi : block.phis())
      for (unsigned i = 0; i < phi.getNumIncomingValues(); ++i) {
        llvm::BasicBlock* source = blocks[phi.getIncomingBlock(i)];
        const Wide incoming = operand(phi.getIncomingValue(i));
        const Wide& made = values_[&phi];
        llvm::IRBuilder<> at_end(source->getTerminator());
        for (std::size_t part = 0; part < made.parts.size(); ++part)
          llvm::cast<llvm::PHINode>(made.parts[part])
              ->addIncoming(made.uniform ? incoming.parts[0] : vector(at_end, incoming, part), source);
      }
  if (after) ir.SetInsertPoint(after);
  return result;
}

Wide HookInliner::instruction(const llvm::Instruction& from) {
  const Traits kind = traits(&from);
  llvm::IRBuilder<>& ir = kind.in_loop ? body_.ir() : before_;
  const auto parts = static_cast<std::size_t>(host_.shape.panel_vecs);
  if (llvm::isa<llvm::PHINode>(from)) {
    if (from.getType()->isPointerTy() && kind.divergent) refuse(from);
    Wide phi{.parts = {}, .uniform = !kind.divergent};
    llvm::Type* type = kind.divergent ? body_.vec(from.getType()) : from.getType();
    for (std::size_t i = 0; i < (kind.divergent ? parts : 1); ++i) phi.parts.push_back(ir.CreatePHI(type, 2));
    return phi;
  }
  if (!kind.divergent) return Wide::scalar(clone_uniform(ir, from));
  if (const auto* element = llvm::dyn_cast<llvm::GetElementPtrInst>(&from)) return address(ir, *element);
  if (from.getType()->isPointerTy()) refuse(from);
  Wide result{.parts = {}, .uniform = false};
  if (const auto* load = llvm::dyn_cast<llvm::LoadInst>(&from)) {
    const Wide offsets = operand(load->getPointerOperand());
    llvm::Value* base = bases_.at(load->getPointerOperand());
    for (std::size_t part = 0; part < parts; ++part)
      result.parts.push_back(gather(ir, *load, base, vector(ir, offsets, part)));
    return result;
  }
  for (std::size_t part = 0; part < parts; ++part) {
    std::vector<llvm::Value*> operands;
    for (const llvm::Use& use : from.operands())
      if (!llvm::isa<llvm::Function>(use)) operands.push_back(vector(ir, operand(use), part));
    result.parts.push_back(widened(ir, from, operands));
  }
  return result;
}

llvm::Value* HookInliner::clone_uniform(llvm::IRBuilder<>& ir, const llvm::Instruction& from) {
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&from)) {
    std::vector<llvm::Value*> args;
    for (const llvm::Use& arg : call->args()) args.push_back(operand(arg).parts[0]);
    if (llvm::Value* made = elementary(ir, host_, *call, args)) return made;
  }
  llvm::Instruction* copy = from.clone();
  for (llvm::Use& use : copy->operands())
    if (const auto* callee = llvm::dyn_cast<llvm::Function>(use))  // declared in the hook's module
      use.set(host_.module
                  .getOrInsertFunction(callee->getName(), callee->getFunctionType(), callee->getAttributes())
                  .getCallee());
    else if (!llvm::isa<llvm::Constant>(use))
      use.set(operand(use).parts[0]);
  if (llvm::isa<llvm::LoadInst>(copy)) mark_constant(copy);
  return ir.Insert(copy);
}

llvm::Value* HookInliner::widened(llvm::IRBuilder<>& ir, const llvm::Instruction& from,
                                  const std::vector<llvm::Value*>& operands) {
  llvm::Value* made = nullptr;
  const unsigned opcode = from.getOpcode();
  if (const auto* call = llvm::dyn_cast<llvm::CallInst>(&from)) return widened_call(ir, *call, operands);
  if (from.isIntDivRem()) return divide(ir, from, operands[0], operands[1]);
  if (opcode == llvm::Instruction::FPExt && from.getOperand(0)->getType()->isBFloatTy()) {
    llvm::Value* bits = ir.CreateBitCast(operands[0], body_.vec(ir.getInt16Ty()));
    bits = ir.CreateShl(ir.CreateZExt(bits, body_.vec(ir.getInt32Ty())), 16);
    return ir.CreateBitCast(bits, body_.vec(ir.getFloatTy()));
  }
  if (const auto* compare = llvm::dyn_cast<llvm::CmpInst>(&from))
    made = ir.CreateCmp(compare->getPredicate(), operands[0], operands[1]);
  else if (llvm::isa<llvm::SelectInst>(from))
    made = ir.CreateSelect(operands[0], operands[1], operands[2]);
  else if (llvm::isa<llvm::BinaryOperator>(from) || llvm::isa<llvm::UnaryOperator>(from))
    made = ir.CreateNAryOp(opcode, operands);
  else if (llvm::isa<llvm::FreezeInst>(from))
    made = ir.CreateFreeze(operands[0]);
  else if (llvm::isa<llvm::CastInst>(from))
    made = ir.CreateCast(static_cast<llvm::Instruction::CastOps>(opcode), operands[0],
                         body_.vec(from.getType()));
  else
    refuse(from);
  // The hook's own flags: a score may fuse multiplies into adds, a mask may not.
  if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(made)) instruction->copyIRFlags(&from);
  return made;
}

llvm::Value* HookInliner::widened_call(llvm::IRBuilder<>& ir, const llvm::CallInst& from,
                                       const std::vector<llvm::Value*>& operands) {
  if (llvm::Value* made = elementary(ir, host_, from, operands)) return made;
  llvm::Type* type = body_.vec(from.getType());
  switch (const llvm::Intrinsic::ID id = from.getIntrinsicID()) {
    case llvm::Intrinsic::abs:  // its second operand is an immediate
      return ir.CreateIntrinsic(id, {type}, {operands[0], from.getArgOperand(1)});
    case llvm::Intrinsic::sqrt:
    case llvm::Intrinsic::floor:
    case llvm::Intrinsic::ceil:
    case llvm::Intrinsic::trunc:
    case llvm::Intrinsic::roundeven:
    case llvm::Intrinsic::fabs:
    case llvm::Intrinsic::minnum:
    case llvm::Intrinsic::maxnum:
    case llvm::Intrinsic::smin:
    case llvm::Intrinsic::smax:
    case llvm::Intrinsic::umin:
    case llvm::Intrinsic::umax:
    case llvm::Intrinsic::fma:
    case llvm::Intrinsic::fmuladd:
    case llvm::Intrinsic::copysign:
    case llvm::Intrinsic::fshl:
    case llvm::Intrinsic::fshr:
    case llvm::Intrinsic::ctpop:
      return ir.CreateIntrinsic(id, {type}, operands);
    default:
      refuse(from);
  }
}

// An address that differs between rows is one scalar base plus offsets in elements. Lowering adds what
// depends on the column as an index of its own, so that goes into the base and the offsets often leave the
// loop.
Wide HookInliner::address(llvm::IRBuilder<>& ir, const llvm::GetElementPtrInst& from) {
  if (from.getNumIndices() != 1) refuse(from);
  const llvm::Value* pointer = from.getPointerOperand();
  const Wide index = operand(from.getOperand(1));
  if (!traits(pointer).divergent) {
    bases_[&from] = operand(pointer).parts[0];
    return index;
  }
  Wide offsets = operand(pointer);
  bases_[&from] = bases_.at(pointer);
  if (index.uniform) {
    bases_[&from] = ir.CreateGEP(from.getSourceElementType(), bases_[&from], index.parts[0]);
    return offsets;
  }
  for (std::size_t part = 0; part < offsets.parts.size(); ++part) {
    if (offsets.parts[part]->getType() != index.parts[part]->getType()) refuse(from);
    offsets.parts[part] = ir.CreateAdd(offsets.parts[part], index.parts[part]);
  }
  return offsets;
}

llvm::Value* HookInliner::gather(llvm::IRBuilder<>& ir, const llvm::LoadInst& from, llvm::Value* base,
                                 llvm::Value* offsets) {
  llvm::Type* element = from.getType();
  const unsigned bits = element->getScalarSizeInBits();
  if (bits >= 32)
    return ir.CreateMaskedGather(body_.vec(element), ir.CreateGEP(element, base, offsets), from.getAlign());
  // There are no gathers of bytes or half words: gather the aligned word around each, which lies in the same
  // page.
  llvm::Type* i32 = ir.getInt32Ty();
  const unsigned per_word = 32 / bits;
  llvm::Value* in_word =
      ir.CreateAnd(ir.CreatePtrToInt(base, ir.getInt64Ty()), 3);  // bytes past a word's start
  llvm::Value* words = ir.CreateGEP(ir.getInt8Ty(), base, ir.CreateNeg(in_word));
  llvm::Type* wide = offsets->getType()->getScalarType();
  llvm::Value* first = ir.CreateZExtOrTrunc(ir.CreateLShr(in_word, bits / 16), wide);
  offsets = ir.CreateAdd(offsets, ir.CreateVectorSplat(static_cast<unsigned>(host_.shape.lanes), first));
  llvm::Value* index = ir.CreateLShr(offsets, bits == 8 ? 2 : 1);
  llvm::Value* gathered =
      ir.CreateMaskedGather(body_.vec(i32), ir.CreateGEP(i32, words, index), llvm::Align(4));
  llvm::Value* shift = ir.CreateAnd(ir.CreateZExtOrTrunc(offsets, body_.vec(i32)), per_word - 1);
  shift = ir.CreateShl(shift, bits == 8 ? 3 : 4);
  llvm::Value* narrow = ir.CreateTrunc(ir.CreateLShr(gathered, shift), body_.vec(ir.getIntNTy(bits)));
  return element->isFloatingPointTy() ? ir.CreateBitCast(narrow, body_.vec(element)) : narrow;
}

llvm::Value* HookInliner::divide(llvm::IRBuilder<>& ir, const llvm::Instruction& from, llvm::Value* a,
                                 llvm::Value* b) {
  const unsigned opcode = from.getOpcode();
  const bool narrow = from.getType()->isIntegerTy(32);
  if (llvm::isa<llvm::Constant>(b) || !narrow)
    return ir.CreateBinOp(static_cast<llvm::Instruction::BinaryOps>(opcode), a, b);
  // A quotient of 32-bit integers rounds correctly in double, and there are no vector divisions of integers.
  const bool is_signed = opcode == llvm::Instruction::SDiv || opcode == llvm::Instruction::SRem;
  const bool remainder = opcode == llvm::Instruction::SRem || opcode == llvm::Instruction::URem;
  llvm::Type* f64 = body_.vec(ir.getDoubleTy());
  const auto wide = [&](llvm::Value* x) {
    return is_signed ? ir.CreateSIToFP(x, f64) : ir.CreateUIToFP(x, f64);
  };
  llvm::Value* quotient = ir.CreateFDiv(wide(a), wide(b));
  llvm::Type* type = body_.vec(from.getType());
  quotient = is_signed ? ir.CreateFPToSI(quotient, type) : ir.CreateFPToUI(quotient, type);
  return remainder ? ir.CreateSub(a, ir.CreateMul(quotient, b)) : quotient;
}

}  // namespace fa
