// FlashAttention's algorithm 1: kv tiles outside, tiles of query rows inside, O and each row's maximum and sum in memory.
// The steps are those of the fused kernel, on what is kept in memory instead of in the thread's workspace.
#include <cstddef>

#include "compiler/emit/host/baseline/passes.h"

namespace fa {
namespace {

/// What is kept of the tile of query rows whose block begins at `block`.
StepRows rows_at(HostBuilder& build, const SumRoom& room, llvm::Value* block, llvm::Value* first_q) {
  return {.first_q = first_q,
          .o = build.at(block, room.o),
          .row_max = build.at(block, room.row_max),
          .row_sum = build.at(block, room.row_sum)};
}

/// A head: for each kv tile, all of its tiles of query rows.
void emit_tiles(const HostModule& host, const StepParts& parts, int number) {
  const HostShape& shape = host.shape;
  const SumRoom room = sum_room(shape);
  llvm::Function* reset = emit_reset(host);
  HostBuilder build(host, pass_entry(host, number));
  llvm::IRBuilder<>& ir = build.ir();
  const auto args = arguments_of<PassArgs>(*build.function());
  const auto [first_max, first_sum] = first_softmax(host, build, args.params, args.b, args.h);
  llvm::Value* q_len =
      ir.CreateSExt(build.param(args.params, build.i32(), offsetof(ForwardParams, call.q_len)), build.i64());
  llvm::Value* q_tiles =
      ir.CreateUDiv(ir.CreateAdd(q_len, build.i64(shape.tile_q - 1)), build.i64(shape.tile_q));
  each_kv_tile(host, build, args.params, [&](llvm::Value* first_kv) {
    const StepPlace place{
        .params = args.params, .workspace = args.workspace, .b = args.b, .h = args.h, .first_kv = first_kv};
    const TileStep step(host, parts, build, place);
    step.begin();
    parts.products->load(build);
    build.loop(build.i64(0), q_tiles, build.i64(1), [&](llvm::Value* tile) {
      llvm::Value* first_q = ir.CreateTrunc(ir.CreateMul(tile, build.i64(shape.tile_q)), build.i32());
      llvm::Value* block =
          build.at(args.kept, ir.CreateMul(tile, build.i64(static_cast<std::int64_t>(room.bytes))));
      const StepRows rows = rows_at(build, room, block, first_q);
      // Just before they are read first: a loop ahead of all tiles would write O once more.
      build.if_then(ir.CreateICmpEQ(first_kv, build.i32(0)), [&] {
        ir.CreateCall(reset, {rows.o, rows.row_max, rows.row_sum, first_max, first_sum});
      });
      pack_rows(host, build, *parts.products, place, first_q);
      each_panel(host, build, args.params, first_q, [&](llvm::Value* row) {
        if (parts.mask) step.mask(rows, row);
        step.attend(rows, step.whole(rows, row), parts.mask != nullptr);
      });
    });
    step.end();
  });
  ir.CreateRetVoid();
}

/// O divided by each row's sum, and lse.
void emit_division(const HostModule& host, const StepParts& parts, int number) {
  llvm::Function* finish = emit_finish(host);
  HostBuilder build(host, pass_entry(host, number));
  const auto args = arguments_of<PassArgs>(*build.function());
  const StepRows rows = rows_at(build, sum_room(host.shape), args.kept, args.first_q);
  const StepPlace place{
      .params = args.params, .workspace = args.workspace, .b = args.b, .h = args.h, .first_kv = nullptr};
  finish_rows(host, build, finish, *parts.products, place, rows);
  build.ir().CreateRetVoid();
}

}  // namespace

EmittedPasses emit_flash1(const HostModule& host) {
  StepParts parts = emit_step_parts(host);
  parts.softmax[has_mask(host)] = emit_softmax(host, has_mask(host));
  emit_tiles(host, parts, 0);
  emit_division(host, parts, 1);
  return {.all = 2, .by_head = 1};
}

}  // namespace fa
