// The host kernel's outline: a q tile begins, one step for each kv tile that the runtime's walk leaves, its
// panels within, and the end of the q tile.
#include "compiler/emit/host/host.h"

#include <cstddef>

#include "compiler/analysis/tiles/class_signature.h"
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

/// An entry of the kernel, with EntryArgs or StepArgs.
template <template <class> class Args>
llvm::Function* entry(const HostModule& host, const char* name) {
  auto* i32 = llvm::Type::getInt32Ty(host.context());
  Args<llvm::Type*> types;
  auto all = in_order(types);
  all.fill(i32);
  types = std::bit_cast<Args<llvm::Type*>>(all);
  types.params = types.workspace = llvm::PointerType::get(host.context(), 0);
  llvm::Function* function = host.function(name, llvm::Type::getVoidTy(host.context()), types);
  function->setLinkage(llvm::Function::ExternalLinkage);
  return function;
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

void emit_info(const HostModule& host, const TileClasses& classes, TileKinds tiles) {
  llvm::LLVMContext& context = host.context();
  auto number = [&](unsigned value) {
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value);
  };
  // Whether the class differs along one of its arguments.
  const auto differs = [&](ClassArg argument, bool TileMap::* of) {
    if (classes.map) return *classes.map.*of;
    return classes.function != nullptr && !class_argument(*classes.function, argument)->use_empty();
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
       number(differs(ClassArg::b, &TileMap::of_batch) ? 1 : 0),
       number(differs(ClassArg::h, &TileMap::of_head) ? 1 : 0), number(classes.map ? 1 : 0),
       number(count(true)), number(count(false)), number(static_cast<unsigned>(map.row_block)),
       number(static_cast<unsigned>(map.column_block)), number(static_cast<unsigned>(map.always_alike)),
       number(map.is_relative ? 1 : 0), number(static_cast<unsigned>(map.most_steps))});
  auto* info = new llvm::GlobalVariable(host.module, value->getType(), true,
                                        llvm::GlobalValue::ExternalLinkage, value, kHostInfoSymbol);
  info->setAlignment(llvm::Align(8));
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
  emit_info(host, classes, tiles);

  // The emitters write the code as it should run; what is left is repeated addresses and splats.
  const std::string width = std::to_string(cpu.lanes * 32);
  for (llvm::Function& function : *module)
    if (!function.isDeclaration()) {
      function.addFnAttr("prefer-vector-width", width);
      function.addFnAttr("min-legal-vector-width", width);
      verify(function, "emit_host");
      simplify_in_place(function);
    }
  return {.module = module, .cpu = cpu};
}

}  // namespace fa
