// Loops, vectors and launch arguments for the pieces of the host kernel.
#include "compiler/emit/host/builder.h"

#include <numeric>

namespace fa {

llvm::Function* HostModule::function(const char* name, llvm::Type* result,
                                     llvm::ArrayRef<llvm::Type*> args) const {
  auto* type = llvm::FunctionType::get(result, args, false);
  auto* made = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, module);
  made->addFnAttr(llvm::Attribute::NoUnwind);
  made->addFnAttr(llvm::Attribute::NoInline);
  for (llvm::Argument& argument : made->args())
    if (argument.getType()->isPointerTy()) argument.addAttr(llvm::Attribute::NoAlias);
  return made;
}

llvm::Function* HostModule::own(const llvm::Function& derived) const {
  return copy_function(derived, module, derived.getName().str().c_str());
}

llvm::Value* load_uniform(llvm::IRBuilder<>& ir, llvm::Value* params, const HookArg& arg) {
  auto load = [&](llvm::Type* type, std::size_t offset) {
    llvm::LoadInst* value = ir.CreateLoad(type, ir.CreateConstGEP1_64(ir.getInt8Ty(), params, offset));
    value->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(ir.getContext(), {}));
    return value;
  };
  const auto at = static_cast<std::size_t>(arg.index);
  switch (arg.kind) {
    case HookArgKind::score:
    case HookArgKind::b:
    case HookArgKind::h:
    case HookArgKind::q_idx:
    case HookArgKind::kv_idx:
      return nullptr;
    case HookArgKind::batch:
      return load(ir.getInt32Ty(), offsetof(ForwardParams, call.batch));
    case HookArgKind::num_q_heads:
      return load(ir.getInt32Ty(), offsetof(ForwardParams, call.num_q_heads));
    case HookArgKind::num_kv_heads:
      return load(ir.getInt32Ty(), offsetof(ForwardParams, call.num_kv_heads));
    case HookArgKind::group_size:
      return load(ir.getInt32Ty(), offsetof(ForwardParams, call.group_size));
    case HookArgKind::q_len:
      return load(ir.getInt32Ty(), offsetof(ForwardParams, call.q_len));
    case HookArgKind::kv_len:
      return load(ir.getInt32Ty(), offsetof(ForwardParams, call.kv_len));
    case HookArgKind::scale:
      return load(ir.getFloatTy(), offsetof(ForwardParams, call.scale));
    case HookArgKind::param:
      return load(arg.type == Type::f32 ? ir.getFloatTy() : static_cast<llvm::Type*>(ir.getInt32Ty()),
                  offsetof(ForwardParams, call.params) + at * sizeof(ParamValue));
    case HookArgKind::tensor:
      return load(ir.getPtrTy(), offsetof(ForwardParams, call.tensors) + at * sizeof(void*));
  }
  return nullptr;
}

HostBuilder::HostBuilder(const HostModule& host, llvm::Function* function)
    : host_(host), function_(function), ir_(llvm::BasicBlock::Create(host.context(), "entry", function)) {
  // Multiplies may fuse into adds, as on the GPU; nothing else about floating point is relaxed.
  llvm::FastMathFlags flags;
  flags.setAllowContract();
  ir_.setFastMathFlags(flags);
}

llvm::FixedVectorType* HostBuilder::vec(llvm::Type* element) {
  return llvm::FixedVectorType::get(element, static_cast<unsigned>(host_.shape.lanes));
}

llvm::Value* HostBuilder::splat(llvm::Value* scalar) {
  return ir_.CreateVectorSplat(static_cast<unsigned>(host_.shape.lanes), scalar);
}

llvm::Value* HostBuilder::lane_ids() {
  std::vector<std::uint32_t> ids(static_cast<std::size_t>(host_.shape.lanes));
  std::iota(ids.begin(), ids.end(), 0u);
  return llvm::ConstantDataVector::get(host_.context(), ids);
}

llvm::Value* HostBuilder::param(llvm::Value* params, llvm::Type* type, std::size_t offset) {
  llvm::LoadInst* load = ir_.CreateLoad(type, at(params, offset));
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(host_.context(), {}));
  return load;
}

llvm::BasicBlock* HostBuilder::block(const char* name) {
  return llvm::BasicBlock::Create(host_.context(), name, function_);
}

HostBuilder::Values HostBuilder::loop(llvm::Value* begin, llvm::Value* end, llvm::Value* step,
                                      const Values& carried,
                                      const std::function<Values(llvm::Value*, const Values&)>& body,
                                      bool at_least_once) {
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  llvm::BasicBlock* head = block("loop");
  llvm::BasicBlock* after = block("after");
  if (at_least_once)
    ir_.CreateBr(head);
  else
    ir_.CreateCondBr(ir_.CreateICmpSLT(begin, end), head, after);

  ir_.SetInsertPoint(head);
  llvm::PHINode* index = ir_.CreatePHI(begin->getType(), 2);
  index->addIncoming(begin, before);
  std::vector<llvm::PHINode*> phis;
  Values current;
  for (llvm::Value* value : carried) {
    phis.push_back(ir_.CreatePHI(value->getType(), 2));
    phis.back()->addIncoming(value, before);
    current.push_back(phis.back());
  }
  const Values next = body(index, current);
  llvm::Value* next_index = ir_.CreateNSWAdd(index, step);
  llvm::BasicBlock* latch = ir_.GetInsertBlock();
  index->addIncoming(next_index, latch);
  for (std::size_t i = 0; i < phis.size(); ++i) phis[i]->addIncoming(next[i], latch);
  ir_.CreateCondBr(ir_.CreateICmpSLT(next_index, end), head, after);

  ir_.SetInsertPoint(after);
  if (at_least_once) return next;
  Values result;
  for (std::size_t i = 0; i < phis.size(); ++i) {
    llvm::PHINode* merged = ir_.CreatePHI(carried[i]->getType(), 2);
    merged->addIncoming(carried[i], before);
    merged->addIncoming(next[i], latch);
    result.push_back(merged);
  }
  return result;
}

void HostBuilder::loop(llvm::Value* begin, llvm::Value* end, llvm::Value* step,
                       const std::function<void(llvm::Value*)>& body) {
  loop(begin, end, step, {}, [&](llvm::Value* index, const Values&) {
    body(index);
    return Values{};
  });
}

void HostBuilder::if_then(llvm::Value* condition, const std::function<void()>& body) {
  llvm::BasicBlock* then = block("then");
  llvm::BasicBlock* after = block("after");
  ir_.CreateCondBr(condition, then, after);
  ir_.SetInsertPoint(then);
  body();
  ir_.CreateBr(after);
  ir_.SetInsertPoint(after);
}

void HostBuilder::if_else(llvm::Value* condition, const std::function<void()>& then,
                          const std::function<void()>& otherwise) {
  llvm::BasicBlock* first = block("then");
  llvm::BasicBlock* second = block("else");
  llvm::BasicBlock* after = block("after");
  ir_.CreateCondBr(condition, first, second);
  ir_.SetInsertPoint(first);
  then();
  ir_.CreateBr(after);
  ir_.SetInsertPoint(second);
  otherwise();
  ir_.CreateBr(after);
  ir_.SetInsertPoint(after);
}

}  // namespace fa
