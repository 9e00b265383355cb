// How the sums of captured gradients go to memory.
#include "compiler/emit/host/backward/backward.h"
#include "compiler/emit/host/backward/captured.h"
#include "compiler/emit/host/call.h"

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

void CapturedSums::keep_by_key(const Buffer& buffer, llvm::Value* kv_idx, const HostBuilder::Values& values) {
  llvm::IRBuilder<>& ir = build_.ir();
  const HostShape& shape = backward_.host.shape;
  llvm::Value* row = ir.CreateSExt(ir.CreateSub(kv_idx, first_kv_), build_.i64());
  llvm::Value* panel = build_.float_at(buffer.data, ir.CreateMul(row, build_.i64(shape.panel)));
  for (std::size_t part = 0; part < values.size(); ++part)
    build_.store_vec(values[part],
                     build_.float_at(panel, build_.i64(static_cast<std::int64_t>(part) * shape.lanes)));
}

/// Query row by query row, whose elements lie one after the other: in the panel's order each element of a
/// vector would meet a cache line of its own.
void CapturedSums::finish_keys(HookInliner& hooks, const Adjoint& adjoint, const Buffer& buffer) {
  llvm::IRBuilder<>& ir = build_.ir();
  const HostShape& shape = backward_.host.shape;
  const Wide first = element_of(hooks, adjoint, first_kv_, {});
  for (int part = 0; part < shape.panel_vecs; ++part)
    ir.CreateAlignedStore(hooks.vector(first, static_cast<std::size_t>(part)),
                          ir.CreateGEP(build_.i32(), elements_, build_.i64(part * shape.lanes)),
                          llvm::Align(4));
  llvm::Value* is_stored = this->is_stored(adjoint);
  llvm::Type* f64 = ir.getDoubleTy();
  llvm::Value* whole = ir.CreateAnd(kv_rows_, build_.i64(-shape.lanes));
  llvm::Value* strides =
      ir.CreateMul(build_.lane_ids(), build_.splat(build_.i32(shape.panel)));  // between kv rows
  auto each_row = [&](bool stores) {
    llvm::Type* number = stores ? build_.f32() : f64;
    auto put = [&](llvm::Value* value, llvm::Value* place) {
      const llvm::Align align(stores ? 4 : 8);
      if (!stores) {
        llvm::Type* type = value->getType()->getWithNewType(f64);
        value = ir.CreateFAdd(ir.CreateAlignedLoad(type, place, align), ir.CreateFPExt(value, type));
      }
      ir.CreateAlignedStore(value, place, align);
    };
    build_.loop(build_.i64(0), ir.CreateSExt(q_rows_, build_.i64()), build_.i64(1), [&](llvm::Value* lane) {
      llvm::Value* element = ir.CreateLoad(build_.i32(), ir.CreateGEP(build_.i32(), elements_, lane));
      llvm::Value* to = ir.CreateGEP(number, sums_of(adjoint), ir.CreateSExt(element, build_.i64()));
      auto from = [&](llvm::Value* row) {
        return build_.float_at(buffer.data, ir.CreateAdd(ir.CreateMul(row, build_.i64(shape.panel)), lane));
      };
      build_.loop(build_.i64(0), whole, build_.i64(shape.lanes), [&](llvm::Value* row) {
        llvm::Value* places = ir.CreateGEP(build_.f32(), from(row), strides);
        put(ir.CreateMaskedGather(build_.vec(build_.f32()), places, llvm::Align(4)),
            ir.CreateGEP(number, to, row));
      });
      build_.loop(whole, kv_rows_, build_.i64(1), [&](llvm::Value* row) {
        put(ir.CreateLoad(build_.f32(), from(row)), ir.CreateGEP(number, to, row));
      });
    });
  };
  build_.if_else(is_stored, [&] { each_row(true); }, [&] { each_row(false); });
}

llvm::Value* CapturedSums::is_stored(const Adjoint& adjoint) {
  llvm::IRBuilder<>& ir = build_.ir();
  llvm::Value* stored = ir.CreateLoad(build_.i64(), build_.at(item_, offsetof(HostBackwardItem, stored)));
  const std::uint64_t bit = std::uint64_t{1} << gradient_number(adjoint);
  return ir.CreateICmpNE(ir.CreateAnd(stored, ir.getInt64(bit)), build_.i64(0));
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
  auto run = [&](bool stores) {
    ir.CreateCall(add_lanes(backward_.host, stores), {sums_of(adjoint), elements_, values_, q_rows_});
  };
  build_.if_else(is_stored(adjoint), [&] { run(true); }, [&] { run(false); });
}

}  // namespace fa
