#include "compiler/emit/host/backward/captured.h"

#include "compiler/emit/host/backward/backward.h"
#include "compiler/emit/host/call.h"
#include "compiler/spec/rounding.h"
#include "compiler/spec/spec.h"
#include "fa/error.h"

namespace fa {
namespace {

constexpr int kMostIterations = 64;      // of reductions around a read, each with sums of its own
constexpr int kMostBuffered = 32 << 10;  // floats on the stack, of all adjoints

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

/// Of the row and the key, which counts the elements of a row of the tensor.
bool is_by_key(const Adjoint& adjoint) {
  if (!adjoint.loops.empty() || adjoint.place != Per::element) return false;
  for (std::size_t d = 0; d + 1 < adjoint.indices.size(); ++d)
    if (adjoint.indices[d].depends.has(DependsOn::kv)) return false;
  const Expr& last = *adjoint.indices.back().expr;
  return last.kind == ExprKind::builtin && last.builtin == Builtin::kv_idx;
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
  int all_floats = 0;
  for (const Adjoint& adjoint : adjoints_) {
    if (is_carried(adjoint))
      sums.insert(sums.end(), static_cast<std::size_t>(shape.panel_vecs), build_.splat(build_.f32(0)));
    int floats = 0;
    if (is_by_distance(adjoint)) floats = shape.panel + shape.tile_kv;
    if (is_by_iteration(adjoint)) floats = static_cast<int>(iterations(adjoint)) * shape.panel;
    if (is_by_key(adjoint)) floats = shape.tile_kv * shape.panel;
    if (floats == 0 || all_floats + floats > kMostBuffered) continue;
    floats = round_up(floats, shape.lanes);
    auto* type = llvm::ArrayType::get(build_.f32(), static_cast<std::uint64_t>(floats));
    all_floats += floats;
    buffers_[&adjoint] = {.data = build_.ir().CreateAlloca(type), .floats = floats};
  }
  for (const Adjoint& adjoint : adjoints_)
    if (const auto buffer = buffers_.find(&adjoint); buffer != buffers_.end() && !is_by_key(adjoint))
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
      const auto found = buffers_.find(&adjoint);
      if (is_carried(adjoint))
        for (llvm::Value* value : values) next.push_back(build_.ir().CreateFAdd(sums[next.size()], value));
      else if (found == buffers_.end())
        add_to(adjoint, element_of(hooks, adjoint, kv_idx, loops), values);
      else if (is_by_distance(adjoint))
        add_by_distance(found->second, kv_idx, values);
      else if (is_by_key(adjoint))
        keep_by_key(found->second, kv_idx, values);
      else
        add_to_panel(panel_of(adjoint, found->second, loops), values);
    });
  }
  return next;
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
    const auto found = buffers_.find(&adjoint);
    if (is_carried(adjoint)) {
      add_to(adjoint, element_of(hooks, adjoint, first_kv_, {}), HostBuilder::Values(at, at + vecs));
      at += vecs;
    } else if (found == buffers_.end()) {
      continue;
    } else if (is_by_distance(adjoint)) {
      finish_distances(hooks, adjoint, found->second, params, b, h);
    } else if (is_by_key(adjoint)) {
      finish_keys(hooks, adjoint, found->second);
    } else {
      HostBuilder::Values loops;
      iterate(hooks, adjoint, loops, [&] {
        llvm::Value* panel = panel_of(adjoint, found->second, loops);
        HostBuilder::Values own;
        for (int part = 0; part < vecs; ++part)
          own.push_back(build_.load_vec(build_.float_at(panel, build_.i64(part * lanes))));
        add_to(adjoint, element_of(hooks, adjoint, first_kv_, loops), own);
      });
    }
  }
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

}  // namespace fa
