// The host kernel's outline: a q tile begins, one step for each kv tile that the runtime's walk leaves, its
// panels within, and the end of the q tile.
#include "compiler/emit/host/host.h"

#include <cstddef>

#include "compiler/emit/host/outline.h"
#include "compiler/emit/host/parts.h"
#include "compiler/emit/host/step/step.h"
#include "compiler/emit/host/vector/elementary.h"

namespace fa {
namespace {

struct Parts {
  llvm::Function *reset, *finish;
  StepParts step;
};

Parts emit_parts(const HostModule& host, TileKinds tiles) {
  Parts parts{.reset = emit_reset(host), .finish = emit_finish(host), .step = {}};
  parts.step.products = host_products(host, tiles);
  if (tiles.partial) parts.step.mask = emit_mask(host);
  if (tiles.full) parts.step.softmax[false] = emit_softmax(host, false);
  if (tiles.partial) parts.step.softmax[true] = emit_softmax(host, true);
  if (host.spec.has_dropout) parts.step.dropout = emit_dropout(host);
  return parts;
}

void emit_start_entry(const HostModule& host, const Parts& parts) {
  HostBuilder build(host, entry<EntryArgs>(host, kHostStartSymbol));
  llvm::IRBuilder<>& ir = build.ir();
  const auto args = arguments_of<EntryArgs>(*build.function());
  pack_rows(
      host, build, *parts.step.products,
      {.params = args.params, .workspace = args.workspace, .b = args.b, .h = args.h, .first_kv = nullptr},
      args.first_q);
  const auto [row_max, row_sum] = first_softmax(host, build, args.params, args.b, args.h);
  const StepRows rows = rows_in_workspace(build, host.shape, args.workspace, args.first_q);
  ir.CreateCall(parts.reset, {rows.o, rows.row_max, rows.row_sum, row_max, row_sum});
  ir.CreateRetVoid();
}

void emit_finish_entry(const HostModule& host, const Parts& parts) {
  HostBuilder build(host, entry<EntryArgs>(host, kHostFinishSymbol));
  const auto args = arguments_of<EntryArgs>(*build.function());
  const StepRows rows = rows_in_workspace(build, host.shape, args.workspace, args.first_q);
  const StepPlace place{
      .params = args.params, .workspace = args.workspace, .b = args.b, .h = args.h, .first_kv = nullptr};
  finish_rows(host, build, parts.finish, *parts.step.products, place, rows);
  build.ir().CreateRetVoid();
}

void emit_step_entry(const HostModule& host, const Parts& parts, TileKinds tiles) {
  HostBuilder build(host, entry<StepArgs>(host, kHostStepSymbol));
  llvm::IRBuilder<>& ir = build.ir();
  const auto args = arguments_of<StepArgs>(*build.function());
  HostProducts& products = *parts.step.products;
  const StepRows rows = rows_in_workspace(build, host.shape, args.workspace, args.first_q);
  const TileStep step(host, parts.step, build,
                      {.params = args.params,
                       .workspace = args.workspace,
                       .b = args.b,
                       .h = args.h,
                       .first_kv = args.first_kv});
  step.begin();
  llvm::Value* loaded = tiles.partial ? ir.CreateAlloca(ir.getInt1Ty()) : nullptr;

  auto full_tile = [&] {
    products.load(build);
    each_panel(host, build, args.params, args.first_q,
               [&](llvm::Value* row) { step.attend(rows, step.whole(rows, row), false); });
  };
  auto partial_tile = [&] {
    ir.CreateStore(ir.getFalse(), loaded);
    each_panel(host, build, args.params, args.first_q, [&](llvm::Value* row) {
      llvm::Value* span = step.mask(rows, row);
      build.if_then(ir.CreateICmpNE(span, build.i64(0)), [&] {
        if (products.loads())
          build.if_then(ir.CreateNot(ir.CreateLoad(ir.getInt1Ty(), loaded)), [&] {
            products.load(build);
            ir.CreateStore(ir.getTrue(), loaded);
          });
        StepPanel panel = step.whole(rows, row);
        panel.masked = true;
        panel.low = ir.CreateAnd(span, build.i64(0xffffffff & -products.granule()));
        panel.kept = ir.CreateSub(ir.CreateLShr(span, 32), panel.low);
        step.attend(rows, panel, true);
      });
    });
  };
  if (tiles.full && tiles.partial)
    build.if_else(ir.CreateICmpNE(args.full, build.i32(0)), full_tile, partial_tile);
  else
    tiles.full ? full_tile() : partial_tile();
  step.end();
  ir.CreateRetVoid();
}

}  // namespace

HostIr emit_host(const CheckedSpec& spec, const HookIr& hooks, const Facts& facts, const TileClasses& classes,
                 const Plan& plan, const HostCpu& cpu) {
  const std::shared_ptr<llvm::Module> module = start_module(spec, hooks, cpu);
  const HostModule host{
      .spec = spec,
      .hooks = hooks,
      .facts = facts,
      .cpu = cpu,
      .shape = host_shape(spec, plan, cpu),
      .module = *module,
      .calls_elementary = has_many_elementary_calls({hooks.module, facts.logits.module, classes.module})};

  const TileKinds tiles = kinds_of_tiles(host, classes);
  const Parts parts = emit_parts(host, tiles);
  emit_start_entry(host, parts);
  emit_step_entry(host, parts, tiles);
  emit_finish_entry(host, parts);
  emit_classes(host, classes);
  emit_info(host, classes, tiles, host.shape.bytes);

  polish(host);
  return {.module = module, .cpu = cpu};
}

}  // namespace fa
