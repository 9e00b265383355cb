// Operands for the tile registers: rows of bf16, pairs of neighbouring rows, or columns.
#include <algorithm>

#include "compiler/emit/host/products/amx.h"
#include "compiler/emit/host/products/pairs.h"

namespace fa {
namespace {

constexpr int kLanes = 16;  // words in a vector, rows of a tile

/// `count` of `lanes` bf16 from `from` on, 0 for the others.
llvm::Value* load_bf16(HostBuilder& build, llvm::Value* from, int count, int lanes) {
  llvm::IRBuilder<>& ir = build.ir();
  auto* type = llvm::FixedVectorType::get(ir.getInt16Ty(), static_cast<unsigned>(lanes));
  if (count == lanes) return ir.CreateAlignedLoad(type, from, llvm::Align(2));
  std::vector<llvm::Constant*> mask;
  for (int i = 0; i < lanes; ++i) mask.push_back(ir.getInt1(i < count));
  return ir.CreateMaskedLoad(type, from, llvm::Align(2), llvm::ConstantVector::get(mask),
                             llvm::Constant::getNullValue(type));
}

/// Calls `body` for each `chunk` of `count`: in a loop for the whole ones, and once for what is left.
void each_chunk(HostBuilder& build, int count, int chunk,
                const std::function<void(llvm::Value* first, int there)>& body) {
  const int whole = count / chunk * chunk;
  if (whole > 0)
    build.loop(build.i64(0), build.i64(whole), build.i64(chunk),
               [&](llvm::Value* first) { body(first, chunk); });
  if (whole < count) body(build.i64(whole), count - whole);
}

using Matrix = HostBuilder::Values;  // 16 vectors of 16 words

Matrix transposed(HostBuilder& build, Matrix rows) {
  for (int distance = 1; distance < kLanes; distance *= 2) {
    std::vector<int> low, high;
    for (int lane = 0; lane < kLanes; ++lane) {
      low.push_back(lane & distance ? kLanes + lane - distance : lane);
      high.push_back(lane & distance ? kLanes + lane : lane + distance);
    }
    for (int i = 0; i < kLanes; ++i) {
      if (i & distance) continue;
      llvm::Value*& a = rows[static_cast<std::size_t>(i)];
      llvm::Value*& b = rows[static_cast<std::size_t>(i + distance)];
      llvm::Value* first = build.ir().CreateShuffleVector(a, b, low);
      b = build.ir().CreateShuffleVector(a, b, high);
      a = first;
    }
  }
  return rows;
}

Matrix load_matrix(HostBuilder& build, llvm::Value* from, int stride) {
  Matrix rows;
  for (int i = 0; i < kLanes; ++i)
    rows.push_back(build.ir().CreateAlignedLoad(
        vector_of_words(build), build.at(from, static_cast<std::size_t>(i * stride)), llvm::Align(64)));
  return rows;
}

/// The first `count` rows.
void store_matrix(HostBuilder& build, const Matrix& rows, int count, llvm::Value* to, int stride) {
  for (int i = 0; i < count; ++i)
    build.ir().CreateAlignedStore(rows[static_cast<std::size_t>(i)],
                                  build.at(to, static_cast<std::size_t>(i * stride)), llvm::Align(64));
}

}  // namespace

llvm::Function* emit_amx_pack_q(const HostModule& host) {
  const HostShape& shape = host.shape;
  auto* pointer = llvm::PointerType::get(host.context(), 0);
  auto* i64 = llvm::Type::getInt64Ty(host.context());
  llvm::Function* function =
      host.function("amx_pack_q", llvm::Type::getVoidTy(host.context()), {pointer, i64, i64, pointer});
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value *q = build.arg(0), *stride = build.arg(1), *rows = build.arg(2), *to = build.arg(3);
  llvm::Value* last = ir.CreateSub(rows, build.i64(1));
  build.loop(build.i64(0), rows, build.i64(shape.panel), [&](llvm::Value* panel) {
    llvm::Value* pairs = build.at(to, ir.CreateMul(panel, build.i64(shape.q_rows * 2)));
    build.loop(build.i64(0), build.i64(shape.panel), build.i64(kLanes), [&](llvm::Value* lane) {
      llvm::Value* first = ir.CreateAdd(panel, lane);
      llvm::Value* column = build.float_at(pairs, lane);
      // A row's words are its pairs: 16 rows by 32 numbers, transposed.
      each_chunk(build, shape.head_dim, kAcross, [&](llvm::Value* d, int there) {
        llvm::Value* from = build.at(q, ir.CreateMul(d, build.i64(2)));
        Matrix matrix;
        for (int i = 0; i < kLanes; ++i) {
          llvm::Value* row = build.min_i64(ir.CreateAdd(first, build.i64(i)), last);
          llvm::Value* numbers = load_bf16(build, build.at(from, ir.CreateMul(row, stride)), there, kAcross);
          matrix.push_back(ir.CreateBitCast(numbers, vector_of_words(build)));
        }
        store_matrix(build, transposed(build, std::move(matrix)), kLanes,
                     build.at(column, ir.CreateMul(d, build.i64(shape.panel * 2))), shape.panel * 4);
      });
    });
  });
  ir.CreateRetVoid();
  return function;
}

llvm::Function* emit_pack_k(const HostModule& host) {
  const HostShape& shape = host.shape;
  auto* pointer = llvm::PointerType::get(host.context(), 0);
  auto* i64 = llvm::Type::getInt64Ty(host.context());
  llvm::Function* function =
      host.function("pack_k", llvm::Type::getVoidTy(host.context()), {pointer, i64, i64, pointer});
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  build.loop(build.i64(0), build.arg(2), build.i64(1), [&](llvm::Value* row) {
    llvm::Value* from = build.at(build.arg(0), ir.CreateMul(row, build.arg(1)));
    llvm::Value* tiles = ir.CreateMul(ir.CreateAnd(row, build.i64(-kLanes)), build.i64(shape.q_rows * 2));
    llvm::Value* in_tile = ir.CreateMul(ir.CreateAnd(row, build.i64(kLanes - 1)), build.i64(kTileRowBytes));
    llvm::Value* to = build.at(build.arg(3), ir.CreateAdd(tiles, in_tile));
    for (int d = 0; d < shape.head_dim; d += kAcross) {
      const auto at = static_cast<std::size_t>(d) * 2;
      llvm::Value* part =
          load_bf16(build, build.at(from, at), std::min(kAcross, shape.head_dim - d), kAcross);
      ir.CreateAlignedStore(part, build.at(to, at * kLanes), llvm::Align(64));
    }
  });
  ir.CreateRetVoid();
  return function;
}

llvm::Function* emit_pack_v(const HostModule& host) {
  const HostShape& shape = host.shape;
  auto* pointer = llvm::PointerType::get(host.context(), 0);
  auto* i64 = llvm::Type::getInt64Ty(host.context());
  llvm::Function* function =
      host.function("pack_v", llvm::Type::getVoidTy(host.context()), {pointer, i64, i64, pointer, pointer});
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value *v = build.arg(0), *stride = build.arg(1), *rows = build.arg(2), *to = build.arg(3),
              *pairs = build.arg(4);
  // 32 rows by 16 columns at a time: as pairs of rows, and these transposed.
  build.loop(build.i64(0), rows, build.i64(kAcross), [&](llvm::Value* first) {
    llvm::Value* there = build.min_i64(ir.CreateSub(rows, first), build.i64(kAcross));
    llvm::Value* from = build.at(v, ir.CreateMul(first, stride));
    each_chunk(build, shape.head_dim_v, kLanes, [&](llvm::Value* column, int columns) {
      llvm::Value* chunk = build.at(from, ir.CreateMul(column, build.i64(2)));
      auto load = [&](llvm::Value* row) {
        llvm::Value* numbers = load_bf16(build, build.at(chunk, ir.CreateMul(row, stride)), columns, kLanes);
        return ir.CreateZExt(numbers, vector_of_words(build));
      };
      auto put = [&](llvm::Value* pair, llvm::Value* value) {
        ir.CreateAlignedStore(value, build.at(pairs, ir.CreateMul(pair, build.i64(64))), llvm::Align(64));
      };
      llvm::Value* whole = ir.CreateLShr(there, 1);
      build.loop(build.i64(0), whole, build.i64(1), [&](llvm::Value* pair) {
        llvm::Value* row = ir.CreateShl(pair, 1);
        put(pair, ir.CreateOr(load(row), ir.CreateShl(load(ir.CreateAdd(row, build.i64(1))), 16)));
      });
      // A last row without its neighbour, and zeros.
      build.loop(whole, build.i64(kAcross / 2), build.i64(1),
                 [&](llvm::Value* pair) { put(pair, llvm::Constant::getNullValue(vector_of_words(build))); });
      build.if_then(ir.CreateTrunc(there, ir.getInt1Ty()),
                    [&] { put(whole, load(ir.CreateSub(there, build.i64(1)))); });
      llvm::Value* target = build.at(to, ir.CreateMul(column, build.i64(kTileRowBytes)));
      store_matrix(build, transposed(build, load_matrix(build, pairs, 64)), columns,
                   build.at(target, ir.CreateMul(first, build.i64(shape.o_columns * 2))), kTileRowBytes);
    });
  });
  ir.CreateRetVoid();
  return function;
}

llvm::Function* emit_unpack_o(const HostModule& host) {
  const HostShape& shape = host.shape;
  auto* pointer = llvm::PointerType::get(host.context(), 0);
  llvm::Function* function =
      host.function("unpack_o", llvm::Type::getVoidTy(host.context()), {pointer, pointer});
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  build.loop(build.i64(0), build.i64(shape.panels), build.i64(1), [&](llvm::Value* panel) {
    llvm::Value* from =
        build.float_at(build.arg(0), ir.CreateMul(panel, build.i64(shape.o_columns * shape.panel)));
    llvm::Value* to =
        build.float_at(build.arg(1), ir.CreateMul(panel, build.i64(shape.panel * shape.dv_padded)));
    build.loop(build.i64(0), build.i64(shape.dv_padded), build.i64(kLanes), [&](llvm::Value* column) {
      build.loop(build.i64(0), build.i64(shape.panel), build.i64(kLanes), [&](llvm::Value* row) {
        llvm::Value* corner = ir.CreateAdd(ir.CreateMul(column, build.i64(shape.panel)), row);
        llvm::Value* place = ir.CreateAdd(ir.CreateMul(row, build.i64(shape.dv_padded)), column);
        store_matrix(build,
                     transposed(build, load_matrix(build, build.float_at(from, corner), shape.panel * 4)),
                     kLanes, build.float_at(to, place), shape.dv_padded * 4);
      });
    });
  });
  ir.CreateRetVoid();
  return function;
}

}  // namespace fa
