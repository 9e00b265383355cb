// Between the caller's tensors and a thread's workspace: packing Q^T, converting K and V, storing o and lse.
#include "compiler/emit/host/memory.h"

#include "compiler/emit/host/parts.h"
#include "compiler/emit/host/vector/math.h"
#include "compiler/ir/math/constants.h"

#include <numbers>

namespace fa {
llvm::Value* load_floats(HostBuilder& build, DType dtype, llvm::Value* from, int count, int align) {
  llvm::IRBuilder<>& ir = build.ir();
  auto shaped = [&](llvm::Type* type) -> llvm::Type* {
    return count == 1 ? type : llvm::FixedVectorType::get(type, static_cast<unsigned>(count));
  };
  if (dtype == DType::f32)
    return ir.CreateAlignedLoad(shaped(build.f32()), from, llvm::Align(static_cast<unsigned>(align)));
  if (dtype == DType::f16)
    return ir.CreateFPExt(ir.CreateAlignedLoad(shaped(ir.getHalfTy()), from, llvm::Align(2)),
                          shaped(build.f32()));
  llvm::Value* bits = ir.CreateAlignedLoad(shaped(ir.getInt16Ty()), from, llvm::Align(2));
  return ir.CreateBitCast(ir.CreateShl(ir.CreateZExt(bits, shaped(build.i32())), 16), shaped(build.f32()));
}

void store_floats(HostBuilder& build, DType dtype, llvm::Value* value, llvm::Value* to) {
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Type* type = value->getType();
  if (dtype == DType::f32) {
    ir.CreateAlignedStore(value, to, llvm::Align(4));
  } else if (dtype == DType::f16) {
    ir.CreateAlignedStore(ir.CreateFPTrunc(value, type->getWithNewType(ir.getHalfTy())), to, llvm::Align(2));
  } else {
    llvm::Type* words = type->getWithNewType(build.i32());
    auto word = [&](std::uint64_t number) { return llvm::ConstantInt::get(words, number); };
    llvm::Value* bits = ir.CreateBitCast(value, words);
    llvm::Value* odd = ir.CreateAnd(ir.CreateLShr(bits, word(16)), word(1));
    llvm::Value* rounded = ir.CreateAdd(bits, ir.CreateAdd(odd, word(0x7fff)));
    rounded = ir.CreateSelect(ir.CreateFCmpUNO(value, value), ir.CreateOr(bits, word(0x400000)), rounded);
    llvm::Value* high =
        ir.CreateTrunc(ir.CreateLShr(rounded, word(16)), type->getWithNewType(ir.getInt16Ty()));
    ir.CreateAlignedStore(high, to, llvm::Align(2));
  }
}

void for_each_chunk(int width, int lanes, const std::function<void(int first, int count)>& body) {
  for (int first = 0; first < width;) {
    while (lanes > width - first) lanes /= 2;
    body(first, lanes);
    first += lanes;
  }
}

llvm::Function* emit_pack(const HostModule& host, const char* name, DType dtype, int width) {
  const HostShape& shape = host.shape;
  llvm::LLVMContext& context = host.context();
  auto* pointer = llvm::PointerType::get(context, 0);
  auto* i64 = llvm::Type::getInt64Ty(context);
  llvm::Function* function =
      host.function(name, llvm::Type::getVoidTy(context), {pointer, i64, i64, pointer});
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value *q = build.arg(0), *stride = build.arg(1), *rows = build.arg(2), *packed = build.arg(3);
  llvm::Value* last = ir.CreateSub(rows, build.i64(1));
  const int bytes = dtype_bytes(dtype);
  const int unrolled = width % 8 == 0 ? 8 : 1;

  build.loop(build.i64(0), rows, build.i64(shape.panel), [&](llvm::Value* first) {
    llvm::Value* to = build.float_at(packed, ir.CreateMul(first, build.i64(width)));
    build.loop(build.i64(0), build.i64(shape.panel), build.i64(1), [&](llvm::Value* lane) {
      llvm::Value* row = build.min_i64(ir.CreateAdd(first, lane), last);
      llvm::Value* from = build.at(q, ir.CreateMul(row, stride));
      llvm::Value* column = build.float_at(to, lane);
      build.loop(build.i64(0), build.i64(width), build.i64(unrolled), [&](llvm::Value* start) {
        llvm::Value* place = build.at(from, ir.CreateMul(start, build.i64(bytes)));
        llvm::Value* numbers = load_floats(build, dtype, place, unrolled, dtype_bytes(host.spec.dtype));
        for (int i = 0; i < unrolled; ++i) {
          llvm::Value* d = ir.CreateAdd(start, build.i64(i));
          llvm::Value* number =
              unrolled == 1 ? numbers : ir.CreateExtractElement(numbers, static_cast<std::uint64_t>(i));
          ir.CreateStore(number, build.float_at(column, ir.CreateMul(d, build.i64(shape.panel))));
        }
      });
    });
  });
  ir.CreateRetVoid();
  return function;
}

void fill_floats(HostBuilder& build, const HostShape& shape, llvm::Value* to, int floats,
                 llvm::Value* value) {
  llvm::Value* vector = build.splat(value);
  build.loop(build.i64(0), build.i64(floats), build.i64(shape.lanes),
             [&](llvm::Value* at) { build.store_vec(vector, build.float_at(to, at)); });
}

llvm::Function* emit_reset(const HostModule& host) {
  const HostShape& shape = host.shape;
  auto* pointer = llvm::PointerType::get(host.context(), 0);
  auto* f32 = llvm::Type::getFloatTy(host.context());
  llvm::Function* function =
      host.function("reset", llvm::Type::getVoidTy(host.context()), {pointer, pointer, pointer, f32, f32});
  HostBuilder build(host, function);
  const int rows = shape.panels * shape.panel;
  fill_floats(build, shape, build.arg(1), rows, build.arg(3));
  fill_floats(build, shape, build.arg(2), rows, build.arg(4));
  fill_floats(build, shape, build.arg(0), rows * shape.o_columns, build.f32(0));
  build.ir().CreateRetVoid();
  return function;
}

llvm::Function* emit_copy(const HostModule& host, const char* name, int width, int padded) {
  llvm::LLVMContext& context = host.context();
  auto* pointer = llvm::PointerType::get(context, 0);
  auto* i64 = llvm::Type::getInt64Ty(context);
  llvm::Function* function =
      host.function(name, llvm::Type::getVoidTy(context), {pointer, i64, i64, pointer});
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value *from = build.arg(0), *stride = build.arg(1), *to = build.arg(3);
  const int bytes = dtype_bytes(host.spec.dtype);
  build.loop(build.i64(0), build.arg(2), build.i64(1), [&](llvm::Value* row) {
    llvm::Value* source = build.at(from, ir.CreateMul(row, stride));
    llvm::Value* target = build.float_at(to, ir.CreateMul(row, build.i64(padded)));
    for_each_chunk(width, host.shape.lanes, [&](int first, int count) {
      llvm::Value* numbers = load_floats(build, host.spec.dtype,
                                         build.at(source, static_cast<std::size_t>(first * bytes)), count);
      ir.CreateAlignedStore(numbers, build.float_at(target, build.i64(first)), llvm::Align(4));
    });
    for (int at = width; at < padded; ++at)
      ir.CreateAlignedStore(build.f32(0), build.float_at(target, build.i64(at)), llvm::Align(4));
  });
  ir.CreateRetVoid();
  return function;
}

llvm::Function* emit_finish(const HostModule& host) {
  const HostShape& shape = host.shape;
  llvm::LLVMContext& context = host.context();
  auto* pointer = llvm::PointerType::get(context, 0);
  auto* i32 = llvm::Type::getInt32Ty(context);
  llvm::Function* function = host.function("finish", llvm::Type::getVoidTy(context),
                                           FinishArgs<llvm::Type*>{.params = pointer,
                                                                   .o = pointer,
                                                                   .row_max = pointer,
                                                                   .row_sum = pointer,
                                                                   .b = i32,
                                                                   .h = i32,
                                                                   .first_q = i32,
                                                                   .rows = llvm::Type::getInt64Ty(context)});
  const auto args = arguments_of<FinishArgs>(*function);
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value *params = args.params, *first_q = args.first_q;
  llvm::Value* b = ir.CreateSExt(args.b, build.i64());
  llvm::Value* h = ir.CreateSExt(args.h, build.i64());
  auto number = [&](std::size_t offset) {
    return ir.CreateSExt(build.param(params, build.i32(), offset), build.i64());
  };
  auto stride = [&](std::size_t offset) { return build.param(params, build.i64(), offset); };
  const std::size_t strides = offsetof(ForwardParams, o_strides);
  llvm::Value* q_len = number(offsetof(ForwardParams, call.q_len));
  llvm::Value* first = ir.CreateSExt(first_q, build.i64());
  llvm::Value* lse = build.param(params, build.ptr(), offsetof(ForwardParams, lse));
  llvm::Value* wants_lse = ir.CreateIsNotNull(lse);
  llvm::Value* head = ir.CreateAdd(ir.CreateMul(b, number(offsetof(ForwardParams, call.num_q_heads))), h);
  llvm::Value* lse_first = build.float_at(lse, ir.CreateAdd(ir.CreateMul(head, q_len), first));
  llvm::Value* o_row_stride = stride(strides + offsetof(TensorStrides, row));
  llvm::Value* o_first = ir.CreateAdd(ir.CreateMul(b, stride(strides + offsetof(TensorStrides, batch))),
                                      ir.CreateMul(h, stride(strides + offsetof(TensorStrides, head))));
  o_first = ir.CreateAdd(o_first, ir.CreateMul(first, o_row_stride));
  const int bytes = dtype_bytes(host.spec.dtype);
  llvm::Value* o = build.at(build.param(params, build.ptr(), offsetof(ForwardParams, o)),
                            ir.CreateMul(o_first, build.i64(bytes)));
  llvm::Value* row_bytes = ir.CreateMul(o_row_stride, build.i64(bytes));

  llvm::Value* kept_scale = host.spec.has_dropout
                                ? build.param(params, build.f32(), offsetof(ForwardParams, call.keep_scale))
                                : build.f32(1);

  build.loop(build.i64(0), args.rows, build.i64(1), [&](llvm::Value* row) {
    llvm::Value* sum = ir.CreateLoad(build.f32(), build.float_at(args.row_sum, row));
    llvm::Value* empty = ir.CreateFCmpOEQ(sum, build.f32(0));
    llvm::Value* factor = ir.CreateFDiv(kept_scale, sum);
    llvm::Value* from = build.float_at(args.o, ir.CreateMul(row, build.i64(shape.dv_padded)));
    llvm::Value* to = build.at(o, ir.CreateMul(row, row_bytes));
    for_each_chunk(shape.head_dim_v, shape.lanes, [&](int at, int count) {
      llvm::Value* value = load_floats(build, DType::f32, build.float_at(from, build.i64(at)), count);
      llvm::Value* scaled = ir.CreateFMul(
          value, count == 1 ? factor : ir.CreateVectorSplat(static_cast<unsigned>(count), factor));
      scaled = ir.CreateSelect(empty, llvm::Constant::getNullValue(scaled->getType()), scaled);
      store_floats(build, host.spec.dtype, scaled, build.at(to, static_cast<std::size_t>(at * bytes)));
    });
    build.if_then(wants_lse, [&] {
      llvm::Value* maximum = ir.CreateLoad(build.f32(), build.float_at(args.row_max, row));
      llvm::Value* total = HostMath(ir, host.cpu).log_scaled(maximum, sum);
      ir.CreateStore(ir.CreateSelect(empty, build.f32(-kInf), total), build.float_at(lse_first, row));
    });
  });
  ir.CreateRetVoid();
  return function;
}

}  // namespace fa
