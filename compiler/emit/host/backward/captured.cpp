#include "compiler/emit/host/backward/captured.h"

#include "compiler/emit/host/backward/backward.h"
#include "compiler/spec/spec.h"
#include "fa/error.h"

namespace fa {
namespace {

/// void(f64 sums, i32 elements, f32 values, i32 count): sums[element] += value, one after the other.
llvm::Function* add_lanes(const HostModule& host, bool stores) {
  const char* const name = stores ? "store_lanes" : "add_lanes";
  if (llvm::Function* made = host.module.getFunction(name)) return made;
  auto* pointer = llvm::PointerType::get(host.context(), 0);
  llvm::Function* function =
      host.function(name, llvm::Type::getVoidTy(host.context()),
                    {pointer, pointer, pointer, llvm::Type::getInt32Ty(host.context())});
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Type* number = stores ? build.f32() : ir.getDoubleTy();
  build.loop(build.i32(0), build.arg(3), build.i32(1), [&](llvm::Value* lane) {
    llvm::Value* element = ir.CreateLoad(build.i32(), ir.CreateGEP(build.i32(), build.arg(1), lane));
    llvm::Value* value = ir.CreateLoad(build.f32(), build.float_at(build.arg(2), lane));
    llvm::Value* place = ir.CreateGEP(number, build.arg(0), ir.CreateSExt(element, build.i64()));
    if (!stores) value = ir.CreateFAdd(ir.CreateLoad(number, place), ir.CreateFPExt(value, number));
    ir.CreateStore(value, place);
  });
  ir.CreateRetVoid();
  return function;
}

}  // namespace

int gradient_number(const Adjoint& adjoint) {
  return adjoint.of == Adjoint::Of::param ? adjoint.index : kMaxParams + adjoint.index;
}

CapturedSums::CapturedSums(const BackwardModule& backward, HostBuilder& build,
                           const std::vector<Adjoint>& adjoints, llvm::Value* params, llvm::Value* item,
                           llvm::Value* first_q)
    : backward_(backward), build_(build), adjoints_(adjoints), item_(item) {
  if (adjoints.empty()) return;
  llvm::IRBuilder<>& ir = build.ir();
  const auto panel = static_cast<std::uint64_t>(backward.host.shape.panel);
  elements_ = ir.CreateAlloca(llvm::ArrayType::get(build.i32(), panel));
  values_ = ir.CreateAlloca(llvm::ArrayType::get(build.f32(), panel));
  llvm::Value* left =
      ir.CreateSub(build.param(params, build.i32(), offsetof(ForwardParams, call.q_len)), first_q);
  rows_ = ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, build.i32(static_cast<std::int64_t>(panel)));
  for (const Adjoint& adjoint : adjoints) {
    const int number = gradient_number(adjoint);
    sums_[number] =
        build.param(item, build.ptr(),
                    offsetof(HostBackwardItem, sums) + static_cast<std::size_t>(number) * sizeof(void*));
  }
}

bool CapturedSums::is_carried(const Adjoint& adjoint) const {
  return adjoint.loops.empty() && adjoint.place <= Per::row;
}

HostBuilder::Values CapturedSums::start() {
  HostBuilder::Values sums;
  for (const Adjoint& adjoint : adjoints_)
    if (is_carried(adjoint))
      sums.insert(sums.end(), static_cast<std::size_t>(backward_.host.shape.panel_vecs),
                  build_.splat(build_.f32(0)));
  return sums;
}

HostBuilder::Values CapturedSums::add(HookInliner& hooks, const Wide& score, llvm::Value* kv_idx,
                                      const HostBuilder::Values& d_logits, const HostBuilder::Values& sums) {
  HostBuilder::Values next;
  for (const Adjoint& adjoint : adjoints_) {
    if (is_carried(adjoint)) {
      const HostBuilder::Values values =
          products(hooks, value_of(hooks, adjoint.value, score, kv_idx, {}), d_logits);
      for (llvm::Value* value : values) next.push_back(build_.ir().CreateFAdd(sums[next.size()], value));
      continue;
    }
    HostBuilder::Values loops;
    iterate(hooks, adjoint, loops, [&] {
      const HostBuilder::Values values =
          products(hooks, value_of(hooks, adjoint.value, score, kv_idx, loops), d_logits);
      add_to(adjoint, element_of(hooks, adjoint, kv_idx, loops), values);
    });
  }
  return next;
}

void CapturedSums::finish(HookInliner& hooks, llvm::Value* kv_idx, const HostBuilder::Values& sums) {
  auto at = sums.begin();
  for (const Adjoint& adjoint : adjoints_) {
    if (!is_carried(adjoint)) continue;
    const HostBuilder::Values own(at, at + backward_.host.shape.panel_vecs);
    at += backward_.host.shape.panel_vecs;
    add_to(adjoint, element_of(hooks, adjoint, kv_idx, {}), own);
  }
}

void CapturedSums::add_scalar(HookInliner& hooks, llvm::Value* d_logit) {
  llvm::IRBuilder<>& ir = build_.ir();
  const Wide no_score = Wide::scalar(llvm::PoisonValue::get(build_.f32()));
  for (const Adjoint& adjoint : adjoints_) {
    HostBuilder::Values loops;
    iterate(hooks, adjoint, loops, [&] {
      const Wide value = value_of(hooks, adjoint.value, no_score, build_.i32(0), loops);
      const Wide element = element_of(hooks, adjoint, build_.i32(0), loops);
      if (!value.uniform || !element.uniform)
        throw InternalError("the host back end has a sink that differs from row to row");
      llvm::Value* product = ir.CreateFMul(d_logit, ir.CreateFPExt(value.parts[0], ir.getDoubleTy()));
      llvm::Value* none = ir.CreateFCmpOEQ(d_logit, llvm::ConstantFP::get(ir.getDoubleTy(), 0));
      add_one(adjoint, element.parts[0],
              ir.CreateSelect(none, llvm::ConstantFP::get(ir.getDoubleTy(), 0), product));
    });
  }
}

Wide CapturedSums::value_of(HookInliner& hooks, const Derived& derived, const Wide& score,
                            llvm::Value* kv_idx, const HostBuilder::Values& loops) {
  if (derived.function != nullptr) return hooks.call(*derived.function, score, kv_idx, loops);
  const Expr& literal = *derived.expr;
  return Wide::scalar(literal.type == Type::f32 ? build_.f32(literal.float_value)
                                                : build_.i32(literal.int_value));
}

llvm::Value* CapturedSums::extent(HookInliner& hooks, const Adjoint& adjoint, std::size_t dimension) {
  const Expr& extent =
      *backward_.host.spec.tensors[static_cast<std::size_t>(adjoint.index)].extents[dimension];
  if (extent.kind == ExprKind::literal) return build_.i32(extent.int_value);
  const llvm::Function* function = backward_.lowering.lower("extent", extent);
  return hooks.call(*function, Wide::scalar(llvm::PoisonValue::get(build_.f32())), build_.i32(0)).parts[0];
}

Wide CapturedSums::element_of(HookInliner& hooks, const Adjoint& adjoint, llvm::Value* kv_idx,
                              const HostBuilder::Values& loops) {
  llvm::IRBuilder<>& ir = build_.ir();
  Wide element = Wide::scalar(build_.i32(0));
  const Wide no_score = Wide::scalar(llvm::PoisonValue::get(build_.f32()));
  for (std::size_t d = 0; d < adjoint.indices.size(); ++d) {
    const Wide index = value_of(hooks, adjoint.indices[d], no_score, kv_idx, loops);
    llvm::Value* count = d == 0 ? build_.i32(1) : extent(hooks, adjoint, d);
    if (element.uniform && index.uniform) {
      element = Wide::scalar(ir.CreateAdd(ir.CreateMul(element.parts[0], count), index.parts[0]));
      continue;
    }
    HostBuilder::Values parts;
    for (int part = 0; part < backward_.host.shape.panel_vecs; ++part) {
      const auto at = static_cast<std::size_t>(part);
      parts.push_back(ir.CreateAdd(ir.CreateMul(hooks.vector(element, at), build_.splat(count)),
                                   hooks.vector(index, at)));
    }
    element = Wide::vectors(std::move(parts));
  }
  return element;
}

void CapturedSums::iterate(HookInliner& hooks, const Adjoint& adjoint, HostBuilder::Values& loops,
                           const std::function<void()>& body) {
  if (loops.size() == adjoint.loops.size()) return body();
  const DerivedLoop& loop = adjoint.loops[loops.size()];
  llvm::Value* count = build_.i32(loop.count);
  if (loop.range) {
    const llvm::Function* function = backward_.lowering.lower("range", *loop.range);
    llvm::Value* range =
        hooks.call(*function, Wide::scalar(llvm::PoisonValue::get(build_.f32())), build_.i32(0)).parts[0];
    count = build_.ir().CreateBinaryIntrinsic(llvm::Intrinsic::smin, count, range);
  }
  build_.loop(build_.i32(0), count, build_.i32(1), [&](llvm::Value* index) {
    loops.push_back(index);
    iterate(hooks, adjoint, loops, body);
    loops.pop_back();
  });
}

/// A gradient of 0 gives nothing, whatever derivative the element has.
HostBuilder::Values CapturedSums::products(HookInliner& hooks, const Wide& value,
                                           const HostBuilder::Values& d_logits) {
  llvm::IRBuilder<>& ir = build_.ir();
  if (value.uniform && value.parts[0] == build_.f32(1)) return d_logits;
  llvm::Value* zero = build_.splat(build_.f32(0));
  HostBuilder::Values result;
  for (std::size_t part = 0; part < d_logits.size(); ++part) {
    llvm::Value* product = ir.CreateFMul(d_logits[part], hooks.vector(value, part));
    result.push_back(ir.CreateSelect(ir.CreateFCmpOEQ(d_logits[part], zero), zero, product));
  }
  return result;
}

llvm::Value* CapturedSums::total(const HostBuilder::Values& values) {
  llvm::IRBuilder<>& ir = build_.ir();
  llvm::Value* all = values[0];
  for (std::size_t part = 1; part < values.size(); ++part) all = ir.CreateFAdd(all, values[part]);
  auto* sum = llvm::cast<llvm::Instruction>(ir.CreateFAddReduce(build_.f32(0), all));
  sum->setHasAllowReassoc(true);  // as a tree; the same one in every run
  return ir.CreateFPExt(sum, ir.getDoubleTy());
}

void CapturedSums::add_one(const Adjoint& adjoint, llvm::Value* element, llvm::Value* value) {
  llvm::IRBuilder<>& ir = build_.ir();
  llvm::Type* f64 = ir.getDoubleTy();
  llvm::Value* place = ir.CreateGEP(f64, sums_of(adjoint), ir.CreateSExt(element, build_.i64()));
  ir.CreateStore(ir.CreateFAdd(ir.CreateLoad(f64, place), value), place);
}

llvm::Value* CapturedSums::sums_of(const Adjoint& adjoint) { return sums_.at(gradient_number(adjoint)); }

void CapturedSums::add_to(const Adjoint& adjoint, const Wide& element, const HostBuilder::Values& values) {
  if (element.uniform) return add_one(adjoint, element.parts[0], total(values));
  llvm::IRBuilder<>& ir = build_.ir();
  const int lanes = backward_.host.shape.lanes;
  for (std::size_t part = 0; part < values.size(); ++part) {
    llvm::Value* at = build_.i64(static_cast<std::int64_t>(part) * lanes);
    ir.CreateAlignedStore(element.parts[part], ir.CreateGEP(build_.i32(), elements_, at), llvm::Align(4));
    build_.store_vec(values[part], build_.float_at(values_, at));
  }
  llvm::Value* stored = ir.CreateLoad(build_.i64(), build_.at(item_, offsetof(HostBackwardItem, stored)));
  const std::uint64_t bit = std::uint64_t{1} << gradient_number(adjoint);
  llvm::Value* is_stored = ir.CreateICmpNE(ir.CreateAnd(stored, ir.getInt64(bit)), build_.i64(0));
  auto run = [&](bool stores) {
    ir.CreateCall(add_lanes(backward_.host, stores), {sums_of(adjoint), elements_, values_, rows_});
  };
  build_.if_else(is_stored, [&] { run(true); }, [&] { run(false); });
}

}  // namespace fa
