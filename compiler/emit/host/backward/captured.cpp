#include "compiler/emit/host/backward/captured.h"

#include "compiler/emit/host/backward/backward.h"
#include "compiler/emit/host/call.h"
#include "compiler/spec/spec.h"
#include "fa/error.h"

namespace fa {
namespace {

constexpr int kMostIterations = 64;  // of reductions around a read, each with sums of its own

/// How often the reductions around a read iterate.
std::int64_t iterations(const Adjoint& adjoint) {
  std::int64_t count = 1;
  for (const DerivedLoop& loop : adjoint.loops) count *= loop.count;
  return count;
}

// How an adjoint's sums go to memory.

bool is_carried(const Adjoint& adjoint) { return adjoint.loops.empty() && adjoint.place <= Per::row; }

bool is_by_distance(const Adjoint& adjoint) {
  return adjoint.loops.empty() && adjoint.place == Per::distance;
}

/// Of the row, one an iteration of the reductions around the read, which are few.
bool is_by_iteration(const Adjoint& adjoint) {
  return !adjoint.loops.empty() && adjoint.place <= Per::row && iterations(adjoint) <= kMostIterations;
}

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
    : backward_(backward), build_(build), adjoints_(adjoints), item_(item), first_q_(first_q) {
  if (adjoints.empty()) return;
  llvm::IRBuilder<>& ir = build.ir();
  const auto panel = static_cast<std::uint64_t>(backward.host.shape.panel);
  elements_ = ir.CreateAlloca(llvm::ArrayType::get(build.i32(), panel));
  values_ = ir.CreateAlloca(llvm::ArrayType::get(build.f32(), panel));
  llvm::Value* left =
      ir.CreateSub(build.param(params, build.i32(), offsetof(ForwardParams, call.q_len)), first_q);
  q_rows_ =
      ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, left, build.i32(static_cast<std::int64_t>(panel)));
  for (const Adjoint& adjoint : adjoints) {
    const int number = gradient_number(adjoint);
    sums_[number] =
        build.param(item, build.ptr(),
                    offsetof(HostBackwardItem, sums) + static_cast<std::size_t>(number) * sizeof(void*));
  }
}

HostBuilder::Values CapturedSums::start(llvm::Value* first_kv, llvm::Value* rows) {
  first_kv_ = first_kv;
  kv_rows_ = rows;
  const HostShape& shape = backward_.host.shape;
  HostBuilder::Values sums;
  for (const Adjoint& adjoint : adjoints_) {
    if (is_carried(adjoint))
      sums.insert(sums.end(), static_cast<std::size_t>(shape.panel_vecs), build_.splat(build_.f32(0)));
    int floats = 0;
    if (is_by_distance(adjoint)) floats = shape.panel + shape.tile_kv;
    if (is_by_iteration(adjoint)) floats = static_cast<int>(iterations(adjoint)) * shape.panel;
    if (floats == 0) continue;
    floats = (floats + shape.lanes - 1) / shape.lanes * shape.lanes;
    auto* type = llvm::ArrayType::get(build_.f32(), static_cast<std::uint64_t>(floats));
    buffers_[&adjoint] = {.data = build_.ir().CreateAlloca(type), .floats = floats};
  }
  for (const Adjoint& adjoint : adjoints_)
    if (const auto buffer = buffers_.find(&adjoint); buffer != buffers_.end())
      build_.loop(build_.i64(0), build_.i64(buffer->second.floats), build_.i64(shape.lanes),
                  [&](llvm::Value* at) {
                    build_.store_vec(build_.splat(build_.f32(0)), build_.float_at(buffer->second.data, at));
                  });
  return sums;
}

HostBuilder::Values CapturedSums::add(HookInliner& hooks, const Wide& score, llvm::Value* kv_idx,
                                      const HostBuilder::Values& d_logits, const HostBuilder::Values& sums) {
  HostBuilder::Values next;
  for (const Adjoint& adjoint : adjoints_) {
    HostBuilder::Values loops;
    iterate(hooks, adjoint, loops, [&] {
      const HostBuilder::Values values =
          products(hooks, value_of(hooks, adjoint.value, score, kv_idx, loops), d_logits);
      if (is_carried(adjoint))
        for (llvm::Value* value : values) next.push_back(build_.ir().CreateFAdd(sums[next.size()], value));
      else if (is_by_distance(adjoint))
        add_by_distance(buffers_.at(&adjoint), kv_idx, values);
      else if (is_by_iteration(adjoint))
        add_to_panel(panel_of(adjoint, buffers_.at(&adjoint), loops), values);
      else
        add_to(adjoint, element_of(hooks, adjoint, kv_idx, loops), values);
    });
  }
  return next;
}

/// The buffer's element t is of q_idx - kv_idx = first_q - first_kv - (rows - 1) + t.
void CapturedSums::add_by_distance(const Buffer& buffer, llvm::Value* kv_idx,
                                   const HostBuilder::Values& values) {
  llvm::IRBuilder<>& ir = build_.ir();
  llvm::Value* row = ir.CreateSExt(ir.CreateSub(kv_idx, first_kv_), build_.i64());
  llvm::Value* first = ir.CreateSub(ir.CreateSub(kv_rows_, build_.i64(1)), row);
  add_to_panel(build_.float_at(buffer.data, first), values);
}

void CapturedSums::add_to_panel(llvm::Value* panel, const HostBuilder::Values& values) {
  HostBuilder::Values places, sums;  // all loads before the first store
  for (std::size_t part = 0; part < values.size(); ++part) {
    const std::int64_t lanes = backward_.host.shape.lanes;
    places.push_back(build_.float_at(panel, build_.i64(static_cast<std::int64_t>(part) * lanes)));
    sums.push_back(build_.ir().CreateFAdd(build_.load_vec(places[part]), values[part]));
  }
  for (std::size_t part = 0; part < values.size(); ++part) build_.store_vec(sums[part], places[part]);
}

llvm::Value* CapturedSums::panel_of(const Adjoint& adjoint, const Buffer& buffer,
                                    const HostBuilder::Values& loops) {
  llvm::IRBuilder<>& ir = build_.ir();
  llvm::Value* iteration = build_.i32(0);
  for (std::size_t i = 0; i < loops.size(); ++i)
    iteration = ir.CreateAdd(ir.CreateMul(iteration, build_.i32(adjoint.loops[i].count)), loops[i]);
  llvm::Value* first = ir.CreateMul(iteration, build_.i32(backward_.host.shape.panel));
  return build_.float_at(buffer.data, ir.CreateSExt(first, build_.i64()));
}

void CapturedSums::finish(HookInliner& hooks, llvm::Value* params, llvm::Value* b, llvm::Value* h,
                          const HostBuilder::Values& sums) {
  const int vecs = backward_.host.shape.panel_vecs, lanes = backward_.host.shape.lanes;
  auto at = sums.begin();
  for (const Adjoint& adjoint : adjoints_) {
    if (is_by_distance(adjoint)) {
      finish_distances(hooks, adjoint, buffers_.at(&adjoint), params, b, h);
    } else if (is_carried(adjoint)) {
      add_to(adjoint, element_of(hooks, adjoint, first_kv_, {}), HostBuilder::Values(at, at + vecs));
      at += vecs;
    } else if (is_by_iteration(adjoint)) {
      HostBuilder::Values loops;
      iterate(hooks, adjoint, loops, [&] {
        llvm::Value* panel = panel_of(adjoint, buffers_.at(&adjoint), loops);
        HostBuilder::Values own;
        for (int part = 0; part < vecs; ++part)
          own.push_back(build_.load_vec(build_.float_at(panel, build_.i64(part * lanes))));
        add_to(adjoint, element_of(hooks, adjoint, first_kv_, loops), own);
      });
    }
  }
}

/// Asks for each distance's element at a query of the panel and a key of the tile that are so far apart.
void CapturedSums::finish_distances(HookInliner& hooks, const Adjoint& adjoint, const Buffer& buffer,
                                    llvm::Value* params, llvm::Value* b, llvm::Value* h) {
  llvm::IRBuilder<>& ir = build_.ir();
  auto smaller = [&](llvm::Value* x, llvm::Value* y) {
    return ir.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y);
  };
  llvm::Value* rows = ir.CreateTrunc(kv_rows_, build_.i32());
  llvm::Value* last_q = ir.CreateSub(ir.CreateAdd(first_q_, q_rows_), build_.i32(1));
  llvm::Value* last_kv = ir.CreateSub(ir.CreateAdd(first_kv_, rows), build_.i32(1));
  llvm::Value* least = ir.CreateSub(first_q_, last_kv);
  std::vector<llvm::Value*> uniforms, extents;
  add_uniforms(backward_.host, build_, params, uniforms);
  for (std::size_t d = 1; d < adjoint.indices.size(); ++d) extents.push_back(extent(hooks, adjoint, d));
  llvm::Value* count = ir.CreateSub(ir.CreateAdd(q_rows_, rows), build_.i32(1));
  build_.loop(build_.i32(0), count, build_.i32(1), [&](llvm::Value* t) {
    llvm::Value* distance = ir.CreateAdd(least, t);
    llvm::Value* kv = smaller(ir.CreateSub(last_q, distance), last_kv);
    llvm::Value* q = ir.CreateAdd(kv, distance);
    llvm::Value* element = build_.i32(0);
    for (std::size_t d = 0; d < adjoint.indices.size(); ++d) {
      const Derived& index = adjoint.indices[d];
      llvm::Value* value = build_.i32(index.expr->int_value);
      if (index.function != nullptr) {
        std::vector<llvm::Value*> args = {llvm::PoisonValue::get(build_.f32()), b, h, q, kv};
        args.insert(args.end(), uniforms.begin(), uniforms.end());
        calls_.push_back(ir.CreateCall(backward_.host.own(*index.function), args));
        value = calls_.back();
      }
      if (d > 0) element = ir.CreateMul(element, extents[d - 1]);
      element = ir.CreateAdd(element, value);
    }
    llvm::Value* sum = ir.CreateLoad(build_.f32(), build_.float_at(buffer.data, t));
    add_one(adjoint, element, ir.CreateFPExt(sum, ir.getDoubleTy()));
  });
}

void CapturedSums::inline_calls() {
  for (llvm::CallInst* made : calls_) inline_call(backward_.host, build_, made);
  calls_.clear();
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
    ir.CreateCall(add_lanes(backward_.host, stores), {sums_of(adjoint), elements_, values_, q_rows_});
  };
  build_.if_else(is_stored, [&] { run(true); }, [&] { run(false); });
}

}  // namespace fa
