// The two products by tile registers. A block is 2 x 2 tiles of the result: four tiles to add to, two of each
// operand, so one load for each multiplication.
#include "compiler/emit/host/products/amx.h"

namespace fa {
namespace {

constexpr int kTile = 16;                  // rows of a tile
constexpr int kTileBytes = kTileRowBytes;  // bytes of its row

void call(HostBuilder& build, llvm::Intrinsic::ID id, const std::vector<llvm::Value*>& operands) {
  build.ir().CreateIntrinsic(id, {}, operands);
}

llvm::Value* tile_number(HostBuilder& build, int tile) {
  return build.ir().getInt8(static_cast<std::uint8_t>(tile));
}

/// An operand of a block: its first byte, and the bytes from row to row, from one of its two tiles to the
/// other and from step to step along what is summed over.
struct Operand {
  llvm::Value* first;
  int row, tile, step;
};

/// Tiles 0 to 3 += A B summed over `steps`, tile 2 i + j being A's i by B's j.
void multiply_block(HostBuilder& build, const Operand& a, const Operand& b, llvm::Value* steps) {
  constexpr int kA = 4, kB = 6;
  build.loop(build.i64(0), steps, build.i64(1), [&](llvm::Value* step) {
    auto load = [&](const Operand& operand, int first) {
      llvm::Value* from = build.at(operand.first, build.ir().CreateMul(step, build.i64(operand.step)));
      for (int i = 0; i < 2; ++i)
        call(build, llvm::Intrinsic::x86_tileloadd64,
             {tile_number(build, first + i), build.at(from, static_cast<std::size_t>(operand.tile * i)),
              build.i64(operand.row)});
    };
    load(a, kA);
    load(b, kB);
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j)
        call(build, llvm::Intrinsic::x86_tdpbf16ps,
             {tile_number(build, 2 * i + j), tile_number(build, kA + i), tile_number(build, kB + j)});
  });
}

void zero_block(HostBuilder& build) {
  for (int tile = 0; tile < 4; ++tile) call(build, llvm::Intrinsic::x86_tilezero, {tile_number(build, tile)});
}

/// Loads or stores tiles 0 to 3.
void move_block(HostBuilder& build, llvm::Intrinsic::ID id, llvm::Value* corner, int row_bytes) {
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      call(build, id,
           {tile_number(build, 2 * i + j),
            build.at(corner, static_cast<std::size_t>(i * kTile * row_bytes + j * kTileBytes)),
            build.i64(row_bytes)});
}

}  // namespace

void configure_tiles(HostBuilder& build) {
  struct {
    std::uint8_t palette = 1, start = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {};
    std::uint8_t rows[16] = {};
  } config;
  static_assert(sizeof(config) == 64);
  for (int tile = 0; tile < 8; ++tile) config.row_bytes[tile] = kTileBytes, config.rows[tile] = kTile;
  llvm::Module& module = *build.function()->getParent();
  const llvm::StringRef bytes(reinterpret_cast<const char*>(&config), sizeof(config));
  llvm::Constant* value = llvm::ConstantDataArray::getString(module.getContext(), bytes, false);
  auto* global = new llvm::GlobalVariable(module, value->getType(), true, llvm::GlobalValue::InternalLinkage,
                                          value, "tile_config");
  global->setAlignment(llvm::Align(64));
  call(build, llvm::Intrinsic::x86_ldtilecfg, {global});
}

void release_tiles(HostBuilder& build) { call(build, llvm::Intrinsic::x86_tilerelease, {}); }

void stay_awake(HostBuilder& build) {
  call(build, llvm::Intrinsic::x86_tdpbf16ps,
       {tile_number(build, 0), tile_number(build, 4), tile_number(build, 6)});
}

llvm::Function* emit_amx_qk(const HostModule& host) {
  const HostShape& shape = host.shape;
  auto* pointer = llvm::PointerType::get(host.context(), 0);
  auto* index = llvm::Type::getInt64Ty(host.context());
  llvm::Function* function =
      host.function("amx_qk", llvm::Type::getVoidTy(host.context()), {pointer, pointer, index, pointer});
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  const int panel_bytes = shape.panel * 4, k_bytes = shape.q_rows * 2;  // of a kv row
  const Operand q{.first = build.arg(0), .row = panel_bytes, .tile = kTileBytes, .step = kTile * panel_bytes};
  build.loop(build.i64(0), build.arg(2), build.i64(kAcross), [&](llvm::Value* first) {
    const Operand k{.first = build.at(build.arg(1), ir.CreateMul(first, build.i64(k_bytes))),
                    .row = kTileBytes,
                    .tile = kTile * k_bytes,
                    .step = kTile * kTileBytes};
    zero_block(build);
    multiply_block(build, k, q, build.i64(shape.q_rows / kAcross));
    move_block(build, llvm::Intrinsic::x86_tilestored64,
               build.at(build.arg(3), ir.CreateMul(first, build.i64(panel_bytes))), panel_bytes);
  });
  ir.CreateRetVoid();
  return function;
}

llvm::Function* emit_amx_pv(const HostModule& host) {
  const HostShape& shape = host.shape;
  auto* pointer = llvm::PointerType::get(host.context(), 0);
  auto* index = llvm::Type::getInt64Ty(host.context());
  llvm::Function* function =
      host.function("amx_pv", llvm::Type::getVoidTy(host.context()), {pointer, pointer, index, pointer});
  HostBuilder build(host, function);
  llvm::IRBuilder<>& ir = build.ir();
  const int panel_bytes = shape.panel * 4;
  const Operand p{.first = build.arg(0), .row = panel_bytes, .tile = kTileBytes, .step = kTile * panel_bytes};
  llvm::Value* steps = ir.CreateLShr(ir.CreateAdd(build.arg(2), build.i64(kAcross - 1)), 5);
  build.loop(build.i64(0), build.i64(shape.o_columns), build.i64(kAcross), [&](llvm::Value* first) {
    const Operand v{.first = build.at(build.arg(1), ir.CreateMul(first, build.i64(kTileBytes))),
                    .row = kTileBytes,
                    .tile = kTile * kTileBytes,
                    .step = shape.o_columns * kTileBytes};
    llvm::Value* o = build.at(build.arg(3), ir.CreateMul(first, build.i64(panel_bytes)));
    move_block(build, llvm::Intrinsic::x86_tileloadd64, o, panel_bytes);
    multiply_block(build, v, p, steps);
    move_block(build, llvm::Intrinsic::x86_tilestored64, o, panel_bytes);
  });
  ir.CreateRetVoid();
  return function;
}

}  // namespace fa
