// The host kernel's outline: a q tile begins, one step for each kv tile that the runtime's walk leaves, its
// panels within, and the end of the q tile.
#include "compiler/emit/host/host.h"

#include <cstddef>

#include "compiler/emit/host/outline.h"
#include "compiler/emit/host/parts.h"
#include "compiler/emit/host/products/products.h"
#include "compiler/emit/host/vector/elementary.h"

namespace fa {
namespace {

struct Parts {
  llvm::Function *reset, *finish, *mask = nullptr, *softmax[2] = {}, *dropout = nullptr;  // softmax[masked]
  std::unique_ptr<HostProducts> products;
};

Parts emit_parts(const HostModule& host, TileKinds tiles) {
  Parts parts{.reset = emit_reset(host), .finish = emit_finish(host), .products = host_products(host, tiles)};
  if (tiles.partial) parts.mask = emit_mask(host);
  if (tiles.full) parts.softmax[false] = emit_softmax(host, false);
  if (tiles.partial) parts.softmax[true] = emit_softmax(host, true);
  if (host.spec.has_dropout) parts.dropout = emit_dropout(host);
  return parts;
}

void emit_start_entry(const HostModule& host, const Parts& parts) {
  HostBuilder build(host, entry<EntryArgs>(host, kHostStartSymbol));
  llvm::IRBuilder<>& ir = build.ir();
  const auto args = arguments_of<EntryArgs>(*build.function());
  llvm::Value* params = args.params;
  const int bytes = dtype_bytes(host.spec.dtype);
  const HeadView q = head_view(build, params, offsetof(ForwardParams, q), offsetof(ForwardParams, q_strides),
                               bytes, ir.CreateSExt(args.b, build.i64()), ir.CreateSExt(args.h, build.i64()));
  llvm::Value* row_bytes = ir.CreateMul(q.row_stride, build.i64(bytes));
  llvm::Value* first_q = ir.CreateSExt(args.first_q, build.i64());
  llvm::Value* q_len =
      ir.CreateSExt(build.param(params, build.i32(), offsetof(ForwardParams, call.q_len)), build.i64());
  llvm::Value* rows = build.min_i64(ir.CreateSub(q_len, first_q), build.i64(host.shape.tile_q));
  parts.products->begin(build, args.workspace, build.at(q.data, ir.CreateMul(first_q, row_bytes)), row_bytes,
                        rows);
  const auto [row_max, row_sum] = first_softmax(host, build, params, args.b, args.h);
  ir.CreateCall(parts.reset, {args.workspace, row_max, row_sum});
  ir.CreateRetVoid();
}

void emit_finish_entry(const HostModule& host, const Parts& parts) {
  HostBuilder build(host, entry<EntryArgs>(host, kHostFinishSymbol));
  const auto args = arguments_of<EntryArgs>(*build.function());
  parts.products->finish(build, args.workspace);
  call<EntryArgs>(build.ir(), parts.finish, args);
  build.ir().CreateRetVoid();
}

void emit_step_entry(const HostModule& host, const Parts& parts, TileKinds tiles) {
  const HostShape& shape = host.shape;
  auto* i32 = llvm::Type::getInt32Ty(host.context());
  HostBuilder build(host, entry<StepArgs>(host, kHostStepSymbol));
  llvm::IRBuilder<>& ir = build.ir();
  const auto args = arguments_of<StepArgs>(*build.function());
  llvm::Value *params = args.params, *workspace = args.workspace, *b32 = args.b, *h32 = args.h,
              *first_q = args.first_q, *first_kv = args.first_kv;
  auto number = [&](std::size_t offset) { return build.param(params, i32, offset); };
  auto wide = [&](llvm::Value* value) { return ir.CreateSExt(value, build.i64()); };
  auto buffer = [&](std::size_t offset) { return build.at(workspace, offset); };
  const int bytes = dtype_bytes(host.spec.dtype);

  llvm::Value* b = wide(b32);
  llvm::Value* kv_h = wide(ir.CreateSDiv(h32, number(offsetof(ForwardParams, call.group_size))));
  const HeadView k = head_view(build, params, offsetof(ForwardParams, k), offsetof(ForwardParams, k_strides),
                               bytes, b, kv_h);
  const HeadView v = head_view(build, params, offsetof(ForwardParams, v), offsetof(ForwardParams, v_strides),
                               bytes, b, kv_h);
  llvm::Value* kv_left = ir.CreateSub(number(offsetof(ForwardParams, call.kv_len)), first_kv);
  llvm::Value* q_left = ir.CreateSub(number(offsetof(ForwardParams, call.q_len)), first_q);
  llvm::Value* drops = ir.CreateICmpNE(number(offsetof(ForwardParams, call.drop_threshold)), build.i32(0));
  llvm::Value* rows = ir.CreateIntrinsic(llvm::Intrinsic::smin, {i32}, {kv_left, build.i32(shape.tile_kv)});
  HostProducts& products = *parts.products;
  products.begin_step(
      build, {.workspace = workspace, .k = k, .v = v, .first_kv = wide(first_kv), .rows = wide(rows)});
  llvm::Value* loaded = tiles.partial ? ir.CreateAlloca(ir.getInt1Ty()) : nullptr;
  auto each_panel = [&](const std::function<void(llvm::Value*)>& body) {
    build.loop(build.i32(0), build.i32(shape.panels), build.i32(1), [&](llvm::Value* panel) {
      llvm::Value* panel_row = ir.CreateMul(panel, build.i32(shape.panel));
      build.if_then(ir.CreateICmpSLT(panel_row, q_left), [&] { body(panel_row); });
    });
  };
  // Attends a panel to `kept` kv rows of the tile from row `low` on.
  auto attend = [&](bool masked, llvm::Value* panel_row, llvm::Value* low, llvm::Value* kept) {
    llvm::Value* q_row = ir.CreateAdd(first_q, panel_row);
    llvm::Value* kept32 = ir.CreateTrunc(kept, i32);
    llvm::Value* kv_row = ir.CreateAdd(first_kv, ir.CreateTrunc(low, i32));
    llvm::Value *row = wide(panel_row), *s = buffer(shape.s);
    llvm::Value* keep =
        ir.CreateGEP(ir.getInt16Ty(), buffer(shape.keep), ir.CreateMul(low, build.i64(shape.panel_vecs)));
    const StepPanel panel{
        .masked = masked, .row = row, .low = low, .kept = kept, .spans = buffer(shape.spans), .s = s};
    products.scores(build, panel);
    llvm::Value* row_max = build.float_at(buffer(shape.row_max), row);
    llvm::Value* row_sum = build.float_at(buffer(shape.row_sum), row);
    call<SoftmaxArgs>(ir, parts.softmax[masked],
                      {.params = params,
                       .scores = s,
                       .keep = keep,
                       .row_max = row_max,
                       .row_sum = row_sum,
                       .rescale = buffer(shape.rescale),
                       .b = b32,
                       .h = h32,
                       .first_q = q_row,
                       .first_kv = kv_row,
                       .rows = kept32});
    if (parts.dropout)
      build.if_then(drops, [&] {
        call<DropoutArgs>(ir, parts.dropout,
                          {.params = params,
                           .probabilities = s,
                           .b = b32,
                           .h = h32,
                           .first_q = q_row,
                           .first_kv = kv_row,
                           .rows = kept32});
      });
    products.output(build, panel);
  };

  auto full_tile = [&] {
    products.load(build);
    each_panel([&](llvm::Value* panel_row) { attend(false, panel_row, build.i64(0), wide(rows)); });
  };
  auto partial_tile = [&] {
    ir.CreateStore(ir.getFalse(), loaded);
    each_panel([&](llvm::Value* panel_row) {
      llvm::Value* span = call<MaskArgs>(ir, parts.mask,
                                         {.params = params,
                                          .keep = buffer(shape.keep),
                                          .b = b32,
                                          .h = h32,
                                          .first_q = ir.CreateAdd(first_q, panel_row),
                                          .first_kv = first_kv,
                                          .rows = rows,
                                          .spans = buffer(shape.spans)});
      build.if_then(ir.CreateICmpNE(span, build.i64(0)), [&] {
        if (products.loads())
          build.if_then(ir.CreateNot(ir.CreateLoad(ir.getInt1Ty(), loaded)), [&] {
            products.load(build);
            ir.CreateStore(ir.getTrue(), loaded);
          });
        llvm::Value* low = ir.CreateAnd(span, build.i64(0xffffffff & -products.granule()));
        attend(true, panel_row, low, ir.CreateSub(ir.CreateLShr(span, 32), low));
      });
    });
  };
  if (tiles.full && tiles.partial)
    build.if_else(ir.CreateICmpNE(args.full, build.i32(0)), full_tile, partial_tile);
  else
    tiles.full ? full_tile() : partial_tile();
  products.end_step(build);
  ir.CreateRetVoid();
}

}  // namespace

HostIr emit_host(const CheckedSpec& spec, const HookIr& hooks, const Facts& facts, const TileClasses& classes,
                 const Plan& plan, const HostCpu& cpu) {
  const std::shared_ptr<llvm::Module> module = make_module(spec.name, hooks.module);
  module->setTargetTriple(cpu.triple);
  module->setDataLayout(cpu.data_layout);
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
