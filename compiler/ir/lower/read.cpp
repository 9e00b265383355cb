// Reads of captured tensors. Each index is proved to be in range or clamped into it. The address is built in
// the order base + (what depends on b and h) + (row) + (column) + (element), so that each part can leave the
// loops it does not depend on; in 64 bits unless the whole tensor is known to have fewer than 2^31 elements.
#include "compiler/ir/llvm.h"
// after llvm.h
#include <algorithm>
#include <array>

#include "compiler/ir/lower/expr.h"

namespace fa {
namespace {

// The loop level at which a part of an address is known: per head, per row, per column, per element.
int stage_of(DependsOn depends) {
  if (depends.is_of_element()) return 3;
  if (depends.has(DependsOn::kv)) return 2;
  return depends.has(DependsOn::q) ? 1 : 0;
}

llvm::Type* element_type(llvm::IRBuilderBase& builder, DType dtype) {
  switch (dtype) {
    case DType::f16:
      return builder.getHalfTy();
    case DType::bf16:
      return builder.getBFloatTy();
    case DType::f32:
      return builder.getFloatTy();
    case DType::i32:
    case DType::i64:  // as two words, of which one is read
      return builder.getInt32Ty();
    case DType::i8:
    case DType::u8:
    case DType::boolean:
      break;
  }
  return builder.getInt8Ty();
}

}  // namespace

/// Whether the expression names the index of a reduction that is being expanded.
bool ExprLowering::is_expanded(const Expr& expr) {
  const std::vector<int>& ids = free_loops_.of(expr);
  return std::any_of(scopes_.begin(), scopes_.end(), [&](const Scope& scope) {
    return std::find(ids.begin(), ids.end(), scope.loop) != ids.end() &&
           llvm::isa<llvm::Constant>(scope.variable);
  });
}

llvm::Value* ExprLowering::lower_index(const Expr& read, std::size_t dimension, const Expr& extent) {
  const Expr& index = *read.args[dimension];
  llvm::Value* value = lower(index);
  const bool proved_low = bounds_.non_negative(index);
  const bool in_range = bounds_.below(index, extent);
  // Iterations past a run-time range, which expanding adds, read as well, though their values are not used.
  const bool proved_high = in_range && (!is_expanded(index) || bounds_.below(index, extent, false));
  if (proved_low && proved_high) return value;
  if (!proved_high) {
    llvm::Value* last = builder_.CreateSub(lower(extent), int_constant(1), "last", false, true);
    value = min_max(false, value, last);
  }
  if (!proved_low) value = min_max(true, value, int_constant(0));
  if (proved_low && in_range) return value;
  const ClampedRead clamped = {.tensor = spec_.tensors[static_cast<std::size_t>(read.index)].info.name,
                               .dimension = static_cast<int>(dimension),
                               .line = index.line,
                               .column = index.column};
  const bool seen = std::any_of(clamped_.begin(), clamped_.end(), [&](const ClampedRead& other) {
    return other.tensor == clamped.tensor && other.dimension == clamped.dimension &&
           other.line == clamped.line && other.column == clamped.column;
  });
  if (!seen) clamped_.push_back(clamped);
  return value;
}

llvm::Value* ExprLowering::lower_read(const Expr& expr) {
  const CheckedTensor& tensor = spec_.tensors[static_cast<std::size_t>(expr.index)];
  const std::size_t rank = expr.args.size();
  const bool is_wide = tensor.info.dtype == DType::i64;
  const int words = is_wide ? 2 : 1;  // of an element; the low one comes first
  bool is_small = true;
  std::int64_t largest = words;
  for (const ExprPtr& extent : tensor.extents) {
    largest *= bounds_.range(*extent).hi;
    if (largest > Interval{}.hi) is_small = false, largest = 1;
  }
  const bool is_plain = rank == 1 && !is_wide;
  llvm::Type* offset_type = is_small || is_plain ? builder_.getInt32Ty() : builder_.getInt64Ty();

  std::array<llvm::Value*, 5> offset_by_stage{};  // the last for a reduction's variable
  llvm::Value* stride = llvm::ConstantInt::get(offset_type, static_cast<std::uint64_t>(words));
  for (std::size_t i = rank; i-- > 0;) {
    const Expr& extent = *tensor.extents[i];
    llvm::Value* index = builder_.CreateSExt(lower_index(expr, i, extent), offset_type);
    const bool unit_stride = i + 1 == rank && !is_wide;
    llvm::Value* offset = unit_stride ? index : builder_.CreateMul(index, stride, "offset", false, true);
    const bool is_last = llvm::isa<llvm::Constant>(offset) || !free_loops_.of(*expr.args[i]).empty();
    const int order = is_last ? 4 : stage_of(bounds_.depends_on(*expr.args[i]));
    llvm::Value*& stage = offset_by_stage[static_cast<std::size_t>(order)];
    stage = stage == nullptr ? offset : builder_.CreateAdd(stage, offset, "offset", false, true);
    if (i > 0) {
      llvm::Value* size = builder_.CreateSExt(lower(extent), offset_type);
      stride = unit_stride ? size : builder_.CreateMul(stride, size, "stride", false, true);
    }
  }
  if (expr.count == 1) {  // the high word
    llvm::Value*& last = offset_by_stage.back();
    llvm::Value* one = llvm::ConstantInt::get(offset_type, 1);
    last = last == nullptr ? one : builder_.CreateAdd(last, one, "offset", false, true);
  }
  llvm::Type* type = element_type(builder_, tensor.info.dtype);
  llvm::Value* address = argument(HookArgKind::tensor, expr.index);
  for (llvm::Value* offset : offset_by_stage)
    if (offset != nullptr) address = builder_.CreateInBoundsGEP(type, address, offset);

  llvm::LLVMContext& context = builder_.getContext();
  llvm::LoadInst* load = builder_.CreateLoad(type, address, tensor.info.name);
  load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context, {}));
  load->setMetadata(llvm::LLVMContext::MD_noundef, llvm::MDNode::get(context, {}));
  switch (tensor.info.dtype) {
    case DType::f16:
    case DType::bf16:
      return builder_.CreateFPExt(load, builder_.getFloatTy(), tensor.info.name);
    case DType::i8:
      return builder_.CreateSExt(load, builder_.getInt32Ty(), tensor.info.name);
    case DType::u8:
      return builder_.CreateZExt(load, builder_.getInt32Ty(), tensor.info.name);
    case DType::boolean:
      return builder_.CreateICmpNE(load, builder_.getInt8(0), tensor.info.name);
    case DType::f32:
    case DType::i32:
    case DType::i64:
      break;
  }
  return load;
}

}  // namespace fa
