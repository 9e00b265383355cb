#include "tests/compiler/emit/vector_function.h"
#include "compiler/ir/llvm/jit.h"

#include <algorithm>
#include <cmath>

#include "tests/compile_object.h"

namespace fa::test {

struct VectorFunction::State {
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

VectorFunction::VectorFunction(const Emit& emit, bool scalar, const std::string& features)
    : state_(new State) {
  llvm::LLVMContext context;
  llvm::Module module("math", context);
  auto* pointer = llvm::PointerType::get(context, 0);
  auto* function = llvm::Function::Create(
      llvm::FunctionType::get(llvm::Type::getVoidTy(context), {pointer, pointer}, false),
      llvm::Function::ExternalLinkage, "f", module);
  function->addFnAttr("target-features", features);
  llvm::IRBuilder<> ir(llvm::BasicBlock::Create(context, "entry", function));
  const int count = scalar ? 1 : kLanes;
  for (int first = 0; first < kLanes; first += count) {
    llvm::Type* type = ir.getFloatTy();
    if (!scalar) type = llvm::FixedVectorType::get(type, kLanes);
    auto at = [&](unsigned arg) {
      return ir.CreateConstGEP1_64(ir.getFloatTy(), function->getArg(arg), static_cast<std::uint64_t>(first));
    };
    llvm::Value* x = ir.CreateAlignedLoad(type, at(0), llvm::Align(4));
    ir.CreateAlignedStore(emit(ir, x), at(1), llvm::Align(4));
  }
  ir.CreateRetVoid();
  state_->jit = llvm::cantFail(llvm::orc::LLJITBuilder().create());
  llvm::cantFail(state_->jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(compile_object(module))));
  function_ = llvm::cantFail(state_->jit->lookup("f")).toPtr<void (*)(const float*, float*)>();
}

VectorFunction::~VectorFunction() = default;
VectorFunction::VectorFunction(VectorFunction&&) noexcept = default;

float VectorFunction::operator()(float x) const {
  float in[kLanes], out[kLanes];
  for (float& number : in) number = x;
  function_(in, out);
  return out[kLanes - 1];
}

double ulps(float x, double exact) {
  const auto rounded = static_cast<float>(exact);
  if (std::isnan(exact) || std::isnan(x)) return std::isnan(exact) && std::isnan(x) ? 0 : HUGE_VAL;
  if (x == rounded) return 0;
  if (std::isinf(x) || std::isinf(rounded)) return HUGE_VAL;
  const int exponent = std::max(std::ilogb(exact == 0 ? 0x1p-126 : exact), -126);
  return std::fabs(static_cast<double>(x) - exact) / std::ldexp(1.0, exponent - 23);
}

}  // namespace fa::test
