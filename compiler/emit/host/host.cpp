// The host kernel's outline: a q tile begins, one step for each kv tile that the runtime's walk leaves, its
// panels within, and the end of the q tile.
#include "compiler/emit/host/host.h"

#include <cstddef>

#include "compiler/emit/host/parts.h"
#include "compiler/emit/host/products/products.h"
#include "compiler/emit/host/vector/elementary.h"
#include "compiler/ir/simplify.h"

namespace fa {
namespace {

HeadView head_view(HostBuilder& build, llvm::Value* params, std::size_t pointer, std::size_t strides,
                   int bytes, llvm::Value* b, llvm::Value* h) {
  llvm::IRBuilder<>& ir = build.ir();
  auto stride = [&](std::size_t offset) { return build.param(params, build.i64(), strides + offset); };
  llvm::Value* first = ir.CreateAdd(ir.CreateMul(b, stride(offsetof(TensorStrides, batch))),
                                    ir.CreateMul(h, stride(offsetof(TensorStrides, head))));
  llvm::Value* data =
      build.at(build.param(params, build.ptr(), pointer), ir.CreateMul(first, build.i64(bytes)));
  return {.data = data, .row_stride = stride(offsetof(TensorStrides, row))};
}

TileKinds kinds_of_tiles(const HostModule& host, const TileClasses& classes) {
  const bool masked = host.hooks.mask_mod && !host.facts.mask_is_always_true;
  return {.full = !masked || classes.function != nullptr || classes.map, .partial = masked};
}

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

/// An entry: void(const ForwardParams*, workspace, i32 b, i32 h, i32 first q, <`more` i32s>).
llvm::Function* entry(const HostModule& host, const char* name, int more) {
  auto* pointer = llvm::PointerType::get(host.context(), 0);
  auto* i32 = llvm::Type::getInt32Ty(host.context());
  auto* nothing = llvm::Type::getVoidTy(host.context());
  llvm::Function* function = more == 0
                                 ? host.function(name, nothing, {pointer, pointer, i32, i32, i32})
                                 : host.function(name, nothing, {pointer, pointer, i32, i32, i32, i32, i32});
  function->setLinkage(llvm::Function::ExternalLinkage);
  return function;
}

void emit_start_entry(const HostModule& host, const Parts& parts) {
  HostBuilder build(host, entry(host, kHostStartSymbol, 0));
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value* params = build.arg(0);
  const int bytes = dtype_bytes(host.spec.dtype);
  const HeadView q =
      head_view(build, params, offsetof(ForwardParams, q), offsetof(ForwardParams, q_strides), bytes,
                ir.CreateSExt(build.arg(2), build.i64()), ir.CreateSExt(build.arg(3), build.i64()));
  llvm::Value* row_bytes = ir.CreateMul(q.row_stride, build.i64(bytes));
  llvm::Value* first_q = ir.CreateSExt(build.arg(4), build.i64());
  llvm::Value* q_len =
      ir.CreateSExt(build.param(params, build.i32(), offsetof(ForwardParams, call.q_len)), build.i64());
  llvm::Value* rows = build.min_i64(ir.CreateSub(q_len, first_q), build.i64(host.shape.tile_q));
  parts.products->begin(build, build.arg(1), build.at(q.data, ir.CreateMul(first_q, row_bytes)), row_bytes,
                        rows);
  const auto [row_max, row_sum] = first_softmax(host, build, params, build.arg(2), build.arg(3));
  ir.CreateCall(parts.reset, {build.arg(1), row_max, row_sum});
  ir.CreateRetVoid();
}

void emit_finish_entry(const HostModule& host, const Parts& parts) {
  HostBuilder build(host, entry(host, kHostFinishSymbol, 0));
  parts.products->finish(build, build.arg(1));
  build.ir().CreateCall(parts.finish, {build.arg(0), build.arg(1), build.arg(2), build.arg(3), build.arg(4)});
  build.ir().CreateRetVoid();
}

void emit_step_entry(const HostModule& host, const Parts& parts, TileKinds tiles) {
  const HostShape& shape = host.shape;
  auto* i32 = llvm::Type::getInt32Ty(host.context());
  HostBuilder build(host, entry(host, kHostStepSymbol, 2));
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value *params = build.arg(0), *workspace = build.arg(1), *b32 = build.arg(2), *h32 = build.arg(3),
              *first_q = build.arg(4), *first_kv = build.arg(5);
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
    ir.CreateCall(parts.softmax[masked], {params, s, keep, build.float_at(buffer(shape.row_max), row),
                                          build.float_at(buffer(shape.row_sum), row), buffer(shape.rescale),
                                          b32, h32, q_row, kv_row, kept32});
    if (parts.dropout)
      build.if_then(drops,
                    [&] { ir.CreateCall(parts.dropout, {params, s, b32, h32, q_row, kv_row, kept32}); });
    products.output(build, panel);
  };

  auto full_tile = [&] {
    products.load(build);
    each_panel([&](llvm::Value* panel_row) { attend(false, panel_row, build.i64(0), wide(rows)); });
  };
  auto partial_tile = [&] {
    ir.CreateStore(ir.getFalse(), loaded);
    each_panel([&](llvm::Value* panel_row) {
      llvm::Value* span =
          ir.CreateCall(parts.mask, {params, buffer(shape.keep), b32, h32, ir.CreateAdd(first_q, panel_row),
                                     first_kv, rows, buffer(shape.spans)});
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
    build.if_else(ir.CreateICmpNE(build.arg(6), build.i32(0)), full_tile, partial_tile);
  else
    tiles.full ? full_tile() : partial_tile();
  products.end_step(build);
  ir.CreateRetVoid();
}

void emit_info(const HostModule& host, const TileClasses& classes, TileKinds tiles) {
  llvm::LLVMContext& context = host.context();
  auto number = [&](unsigned value) {
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value);
  };
  // Whether the class differs along one of its arguments.
  const auto differs = [&](unsigned argument, bool TileMap::* of) {
    if (classes.map) return *classes.map.*of;
    return classes.function != nullptr && !classes.function->getArg(argument)->use_empty();
  };
  const auto count = [&](bool of_query) {
    return static_cast<unsigned>(
        std::count_if(classes.summaries.begin(), classes.summaries.end(),
                      [&](const Summary& summary) { return summary.of_query == of_query; }));
  };
  const TileMap map = classes.map.value_or(TileMap{});
  static_assert(offsetof(HostInfo, workspace_bytes) == 0 && offsetof(HostInfo, tile_q) == 8 &&
                offsetof(HostInfo, tile_kv) == 12 && offsetof(HostInfo, has_tile_class) == 16 &&
                offsetof(HostInfo, is_masked) == 20 && offsetof(HostInfo, class_of_batch) == 24 &&
                offsetof(HostInfo, class_of_head) == 28 && offsetof(HostInfo, has_tile_map) == 32 &&
                offsetof(HostInfo, num_query_summaries) == 36 &&
                offsetof(HostInfo, num_key_summaries) == 40 && offsetof(HostInfo, row_block) == 44 &&
                offsetof(HostInfo, column_block) == 48 && offsetof(HostInfo, always_alike) == 52 &&
                offsetof(HostInfo, is_relative) == 56 && offsetof(HostInfo, most_steps) == 60 &&
                sizeof(HostInfo) == 64);
  llvm::Constant* value = llvm::ConstantStruct::getAnon(
      {llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), host.shape.bytes),
       number(static_cast<unsigned>(host.shape.tile_q)), number(static_cast<unsigned>(host.shape.tile_kv)),
       number(classes.function != nullptr ? 1 : 0), number(tiles.partial ? 1 : 0),
       number(differs(0, &TileMap::of_batch) ? 1 : 0), number(differs(1, &TileMap::of_head) ? 1 : 0),
       number(classes.map ? 1 : 0), number(count(true)), number(count(false)),
       number(static_cast<unsigned>(map.row_block)), number(static_cast<unsigned>(map.column_block)),
       number(static_cast<unsigned>(map.always_alike)), number(map.is_relative ? 1 : 0),
       number(static_cast<unsigned>(map.most_steps))});
  auto* info = new llvm::GlobalVariable(host.module, value->getType(), true,
                                        llvm::GlobalValue::ExternalLinkage, value, kHostInfoSymbol);
  info->setAlignment(llvm::Align(8));
}

}  // namespace

void emit_host(const CheckedSpec& spec, HookIr& hooks, const Facts& facts, const TileClasses& classes,
               const Plan& plan, const HostCpu& cpu) {
  const HostModule host{.spec = spec,
                        .hooks = hooks,
                        .facts = facts,
                        .cpu = cpu,
                        .shape = host_shape(spec, plan, cpu),
                        .module = *hooks.module,
                        .calls_elementary = has_many_elementary_calls(*hooks.module)};
  std::vector<llvm::Function*> scalar_hooks;
  for (llvm::Function& function : *hooks.module) scalar_hooks.push_back(&function);

  const TileKinds tiles = kinds_of_tiles(host, classes);
  const Parts parts = emit_parts(host, tiles);
  emit_start_entry(host, parts);
  emit_step_entry(host, parts, tiles);
  emit_finish_entry(host, parts);
  emit_classes(host, classes);
  emit_info(host, classes, tiles);

  for (llvm::Function* function : scalar_hooks)
    if (!function->isDeclaration())
      function->deleteBody(), function->setLinkage(llvm::Function::ExternalLinkage);
  for (llvm::Function* function : scalar_hooks)
    if (function->use_empty()) function->eraseFromParent();
  hooks.score_mod = hooks.mask_mod = hooks.sink = hooks.logit = nullptr;
  hooks.logit_multiplier = hooks.logit_addend = hooks.logit_row_addend = hooks.logit_addend_slope = nullptr;
  const std::string width = std::to_string(cpu.lanes * 32);
  for (llvm::Function& function : *hooks.module)
    if (!function.isDeclaration()) {
      function.addFnAttr("prefer-vector-width", width);
      function.addFnAttr("min-legal-vector-width", width);
    }

  // The emitters write the code as it should run; what is left is repeated addresses and splats.
  for (llvm::Function& function : *hooks.module)
    if (!function.isDeclaration()) {
      verify(function, "emit_host");
      simplify_in_place(function);
    }
}

}  // namespace fa
