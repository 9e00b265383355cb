// The two matrix products as register-blocked micro-kernels. Both keep a block of the result in registers,
// broadcast one operand and load vectors of the other: 24 FMAs for 11 (10) loads with 32 registers.
//
// At a mask's edge a panel's vectors see different kv rows. There the first product leaves out the vectors on
// either side that a block of kv rows keeps nothing of, and the second the kv rows on either side that a
// block of query rows keeps nothing of. What the first leaves out is not written: the masked softmax reads it
// as anything and puts -inf in its place.
#include "compiler/emit/host/parts.h"
#include "compiler/emit/host/products/pairs.h"

namespace fa {
namespace {

/// One of the two numbers of a vector's span.
llvm::Value* span_at(HostBuilder& build, llvm::Value* spans, llvm::Value* vector, int which) {
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value* index = ir.CreateAdd(ir.CreateMul(vector, build.i64(2)), build.i64(which));
  return ir.CreateLoad(build.i64(), ir.CreateGEP(build.i64(), spans, index));
}

/// sum + a b, of vectors of words.
llvm::Value* multiply_add(const HostModule& host, HostBuilder& build, llvm::Value* a, llvm::Value* b,
                          llvm::Value* sum) {
  if (host.shape.product == HostProduct::pairs) return multiply_pairs(build, a, b, sum);
  return build.ir().CreateIntrinsic(llvm::Intrinsic::fmuladd, {build.vec(build.f32())}, {a, b, sum});
}

/// A word in all lanes. One of K in bf16 may begin at any number.
llvm::Value* splat_word(HostBuilder& build, llvm::Value* from, unsigned align) {
  return build.splat(build.ir().CreateAlignedLoad(build.f32(), from, llvm::Align(align)));
}

/// Scores of `down` kv rows from `first` on for `across` of the panel's vectors; `q` and `s` point at the
/// first of them. Rows past `last` read it again: no second micro-kernel for the tail, nothing read out of
/// place.
void emit_qk_block(const HostModule& host, HostBuilder& build, llvm::Value* q, llvm::Value* k,
                   llvm::Value* stride, llvm::Value* first, llvm::Value* last, llvm::Value* s, int depth,
                   int across) {
  const HostShape& shape = host.shape;
  llvm::IRBuilder<>& ir = build.ir();
  const int down = shape.qk_rows;
  HostBuilder::Values k_rows;
  for (int r = 0; r < down; ++r) {
    llvm::Value* row = build.min_i64(ir.CreateAdd(first, build.i64(r)), last);
    k_rows.push_back(build.at(k, ir.CreateMul(row, stride)));
  }
  const HostBuilder::Values zeros(static_cast<std::size_t>(down * across),
                                  llvm::ConstantAggregateZero::get(build.vec(build.f32())));
  auto step = [&](llvm::Value* d, const HostBuilder::Values& sums) {
    HostBuilder::Values next, columns;
    llvm::Value* q_row = build.float_at(q, ir.CreateMul(d, build.i64(shape.panel)));
    for (int c = 0; c < across; ++c)
      columns.push_back(build.load_vec(build.float_at(q_row, build.i64(c * shape.lanes))));
    for (int r = 0; r < down; ++r) {
      llvm::Value* element = splat_word(build, build.float_at(k_rows[static_cast<std::size_t>(r)], d),
                                        4 / static_cast<unsigned>(shape.numbers));
      for (int c = 0; c < across; ++c)
        next.push_back(multiply_add(host, build, element, columns[static_cast<std::size_t>(c)],
                                    sums[static_cast<std::size_t>(r * across + c)]));
    }
    return next;
  };
  const HostBuilder::Values sums =
      build.loop(build.i64(0), build.i64(depth), build.i64(1), zeros, step, true);
  for (int r = 0; r < down; ++r) {
    llvm::Value* row =
        build.float_at(s, ir.CreateMul(ir.CreateAdd(first, build.i64(r)), build.i64(shape.panel)));
    for (int c = 0; c < across; ++c)
      build.store_vec(sums[static_cast<std::size_t>(r * across + c)],
                      build.float_at(row, build.i64(c * shape.lanes)));
  }
}

}  // namespace

llvm::Function* emit_qk(const HostModule& host, const char* name, int depth, bool masked) {
  const HostShape& shape = host.shape;
  llvm::LLVMContext& context = host.context();
  auto* pointer = llvm::PointerType::get(context, 0);
  auto* index = llvm::Type::getInt64Ty(context);
  llvm::Function* function = host.function(name, llvm::Type::getVoidTy(context),
                                           ScoresArgs<llvm::Type*>{.q = pointer,
                                                                   .k = pointer,
                                                                   .stride = index,
                                                                   .rows = index,
                                                                   .scores = pointer,
                                                                   .spans = pointer,
                                                                   .low = index});
  const auto args = arguments_of<ScoresArgs>(*function);
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value *q = args.q, *k = args.k, *stride = args.stride, *rows = args.rows, *s = args.scores,
              *spans = args.spans, *low = args.low;
  llvm::Value* last = ir.CreateSub(rows, build.i64(1));
  const int down = shape.qk_rows;

  build.loop(build.i64(0), rows, build.i64(down), [&](llvm::Value* first) {
    if (!masked) {
      emit_qk_block(host, build, q, k, stride, first, last, s, depth, shape.panel_vecs);
      return;
    }
    llvm::Value* begin = ir.CreateAdd(low, first);
    llvm::Value* end = ir.CreateAdd(begin, build.i64(down));
    llvm::Value *from = build.i64(shape.panel_vecs), *to = build.i64(0);  // vectors that keep some of it
    for (int c = shape.panel_vecs - 1; c >= 0; --c) {
      llvm::Value* keeps = ir.CreateAnd(ir.CreateICmpSLT(begin, span_at(build, spans, build.i64(c), 1)),
                                        ir.CreateICmpSLT(span_at(build, spans, build.i64(c), 0), end));
      from = ir.CreateSelect(keeps, build.i64(c), from);
      to = ir.CreateSelect(ir.CreateAnd(keeps, ir.CreateICmpEQ(to, build.i64(0))), build.i64(c + 1), to);
    }
    llvm::Value* lanes = ir.CreateMul(from, build.i64(shape.lanes));
    for (int across = 1; across <= shape.panel_vecs; ++across)
      build.if_then(ir.CreateICmpEQ(ir.CreateSub(to, from), build.i64(across)), [&] {
        emit_qk_block(host, build, build.float_at(q, lanes), k, stride, first, last, build.float_at(s, lanes),
                      depth, across);
      });
  });
  ir.CreateRetVoid();
  return function;
}

llvm::Function* emit_pv(const HostModule& host, int vecs, bool masked) {
  const HostShape& shape = host.shape;
  llvm::LLVMContext& context = host.context();
  auto* pointer = llvm::PointerType::get(context, 0);
  auto* index = llvm::Type::getInt64Ty(context);
  const std::string name = (masked ? "pv_masked" : "pv") + std::to_string(vecs);
  llvm::Function* function = host.function(name.c_str(), llvm::Type::getVoidTy(context),
                                           OutputArgs<llvm::Type*>{.probabilities = pointer,
                                                                   .v = pointer,
                                                                   .stride = index,
                                                                   .rows = index,
                                                                   .o = pointer,
                                                                   .rescale = pointer,
                                                                   .spans = pointer,
                                                                   .low = index});
  const auto args = arguments_of<OutputArgs>(*function);
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value *p = args.probabilities, *v = args.v, *stride = args.stride, *rows = args.rows, *o = args.o,
              *rescale = args.rescale, *spans = args.spans, *low = args.low;
  const int down = shape.pv_rows;

  // O's rows from `first` on, by the words of kv rows from `begin` to `end`.
  auto block = [&](llvm::Value* first, llvm::Value* begin, llvm::Value* end) {
    auto o_at = [&](int r, int c) {
      llvm::Value* row = ir.CreateMul(ir.CreateAdd(first, build.i64(r)), build.i64(shape.dv_padded));
      return build.float_at(o, ir.CreateAdd(row, build.i64(c * shape.lanes)));
    };
    // The tile's part apart from O: a sum over all keys rounds less often in parts.
    const HostBuilder::Values start(static_cast<std::size_t>(down * vecs), build.splat(build.f32(0)));
    llvm::Value* p_column = build.float_at(p, first);
    auto step = [&](llvm::Value* kv, const HostBuilder::Values& sums) {
      HostBuilder::Values next, columns;
      llvm::Value* v_row = build.float_at(v, ir.CreateMul(kv, stride));
      llvm::Value* p_row = build.float_at(p_column, ir.CreateMul(kv, build.i64(shape.panel)));
      for (int c = 0; c < vecs; ++c)
        columns.push_back(build.load_vec(build.float_at(v_row, build.i64(c * shape.lanes))));
      for (int r = 0; r < down; ++r) {
        llvm::Value* element = splat_word(build, build.float_at(p_row, build.i64(r)), 4);
        for (int c = 0; c < vecs; ++c)
          next.push_back(multiply_add(host, build, element, columns[static_cast<std::size_t>(c)],
                                      sums[static_cast<std::size_t>(r * vecs + c)]));
      }
      return next;
    };
    const HostBuilder::Values sums = build.loop(begin, end, build.i64(1), start, step, true);
    for (int r = 0; r < down; ++r) {
      llvm::Value* factor =
          build.splat(ir.CreateLoad(build.f32(), build.float_at(rescale, ir.CreateAdd(first, build.i64(r)))));
      for (int c = 0; c < vecs; ++c)
        build.store_vec(ir.CreateIntrinsic(llvm::Intrinsic::fmuladd, {build.vec(build.f32())},
                                           {factor, build.load_vec(o_at(r, c)),
                                            sums[static_cast<std::size_t>(r * vecs + c)]}),
                        o_at(r, c));
    }
  };

  build.loop(build.i64(0), build.i64(shape.panel), build.i64(down), [&](llvm::Value* first) {
    if (!masked) {
      block(first, build.i64(0), rows);
      return;
    }
    // The rows lie in one vector or in two. Where these keep nothing no row's maximum has changed, and O
    // stays.
    llvm::Value* lanes = build.i64(shape.lanes);
    llvm::Value* one = ir.CreateUDiv(first, lanes);
    llvm::Value* other = ir.CreateUDiv(ir.CreateAdd(first, build.i64(down - 1)), lanes);
    llvm::Value* begin = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, span_at(build, spans, one, 0),
                                                  span_at(build, spans, other, 0));
    llvm::Value* end = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smax, span_at(build, spans, one, 1),
                                                span_at(build, spans, other, 1));
    build.if_then(ir.CreateICmpSLT(begin, end), [&] {
      begin = ir.CreateSub(begin, low), end = ir.CreateSub(end, low);
      if (shape.numbers == 2)
        begin = ir.CreateLShr(begin, 1), end = ir.CreateLShr(ir.CreateAdd(end, build.i64(1)), 1);
      block(first, begin, end);
    });
  });
  ir.CreateRetVoid();
  return function;
}

}  // namespace fa
