// The host kernel's outline: a q tile begins, one step for each kv tile that the runtime's walk leaves, its
// panels within, and the end of the q tile.
#include "compiler/emit/host.h"

#include <cstddef>
#include <map>

#include "compiler/emit/host_parts.h"
#include "compiler/ir/simplify.h"

namespace fa {
namespace {

/// A head's first byte and its row stride, in floats of the workspace's copy or elements of the tensor.
struct HeadView {
  llvm::Value* data;
  llvm::Value* row_stride;
};

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

/// How head_dim_v's vectors are shared out among the second product's calls: as evenly as its register block
/// allows.
std::vector<int> pv_calls(const HostShape& shape) {
  const int calls = (shape.dv_vecs + shape.pv_vecs - 1) / shape.pv_vecs;
  std::vector<int> widths;
  for (int i = 0; i < calls; ++i)
    widths.push_back(shape.dv_vecs / calls + (i < shape.dv_vecs % calls ? 1 : 0));
  return widths;
}

struct Parts {
  /// What differs between full and partial tiles.
  struct OfTile {
    llvm::Function *qk = nullptr, *softmax = nullptr;
    std::map<int, llvm::Function*> pv{};  // by vectors of head_dim_v
  };
  llvm::Function *start, *finish, *copy_k = nullptr, *copy_v = nullptr, *mask = nullptr, *dropout = nullptr;
  OfTile full{}, partial{};
};

Parts::OfTile emit_parts_of_tile(const HostModule& host, bool masked) {
  Parts::OfTile parts{.qk = emit_qk(host, masked), .softmax = emit_softmax(host, masked)};
  for (const int vecs : pv_calls(host.shape))
    if (!parts.pv.contains(vecs)) parts.pv[vecs] = emit_pv(host, vecs, masked);
  return parts;
}

/// What a launch may find: tiles that the mask keeps all of, and others.
struct Kinds {
  bool full, partial;
};

Kinds kinds_of_tiles(const HostModule& host, const TileClasses& classes) {
  const bool masked = host.hooks.mask_mod && !host.facts.mask_is_always_true;
  return {.full = !masked || classes.function != nullptr, .partial = masked};
}

Parts emit_parts(const HostModule& host, Kinds tiles) {
  const HostShape& shape = host.shape;
  Parts parts{.start = emit_start(host), .finish = emit_finish(host)};
  if (shape.copy_k) parts.copy_k = emit_copy(host, "copy_k", shape.head_dim, shape.head_dim);
  if (shape.copy_v) parts.copy_v = emit_copy(host, "copy_v", shape.head_dim_v, shape.dv_padded);
  if (tiles.partial) parts.mask = emit_mask(host);
  if (tiles.full) parts.full = emit_parts_of_tile(host, false);
  if (tiles.partial) parts.partial = emit_parts_of_tile(host, true);
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
  ir.CreateCall(parts.start,
                {params, build.arg(1), q.data, ir.CreateMul(q.row_stride, build.i64(bytes)), build.arg(4)});
  ir.CreateRetVoid();
}

void emit_finish_entry(const HostModule& host, const Parts& parts) {
  HostBuilder build(host, entry(host, kHostFinishSymbol, 0));
  build.ir().CreateCall(parts.finish, {build.arg(0), build.arg(1), build.arg(2), build.arg(3), build.arg(4)});
  build.ir().CreateRetVoid();
}

void emit_step_entry(const HostModule& host, const Parts& parts, Kinds tiles) {
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
  llvm::Value* kv_h = wide(ir.CreateSDiv(h32, number(offsetof(ForwardParams, group_size))));
  const HeadView k = head_view(build, params, offsetof(ForwardParams, k), offsetof(ForwardParams, k_strides),
                               bytes, b, kv_h);
  const HeadView v = head_view(build, params, offsetof(ForwardParams, v), offsetof(ForwardParams, v_strides),
                               bytes, b, kv_h);
  llvm::Value* kv_left = ir.CreateSub(number(offsetof(ForwardParams, kv_len)), first_kv);
  llvm::Value* q_left = ir.CreateSub(number(offsetof(ForwardParams, q_len)), first_q);
  llvm::Value* drops = ir.CreateICmpNE(number(offsetof(ForwardParams, drop_threshold)), build.i32(0));
  llvm::Value* rows = ir.CreateIntrinsic(llvm::Intrinsic::smin, {i32}, {kv_left, build.i32(shape.tile_kv)});
  // K's or V's rows of this tile: where they lie, or their copy.
  auto tile = [&](const HeadView& view, llvm::Function* copy, std::size_t offset, int padded) -> HeadView {
    if (copy) return {.data = buffer(offset), .row_stride = build.i64(padded)};
    llvm::Value* skipped = ir.CreateMul(wide(first_kv), view.row_stride);
    return {.data = build.at(view.data, ir.CreateMul(skipped, build.i64(bytes))),
            .row_stride = view.row_stride};
  };
  llvm::Value* copied = tiles.partial ? ir.CreateAlloca(ir.getInt1Ty()) : nullptr;
  const HeadView k_tile = tile(k, parts.copy_k, shape.k, shape.head_dim);
  const HeadView v_tile = tile(v, parts.copy_v, shape.v, shape.dv_padded);
  auto copy = [&](llvm::Function* function, const HeadView& view, const HeadView& to) {
    if (!function) return;
    llvm::Value* row_bytes = ir.CreateMul(view.row_stride, build.i64(bytes));
    llvm::Value* from = build.at(view.data, ir.CreateMul(wide(first_kv), row_bytes));
    ir.CreateCall(function, {from, row_bytes, wide(rows), to.data});
  };
  auto copy_both = [&] {
    copy(parts.copy_k, k, k_tile);
    copy(parts.copy_v, v, v_tile);
  };
  auto each_panel = [&](const std::function<void(llvm::Value*)>& body) {
    build.loop(build.i32(0), build.i32(shape.panels), build.i32(1), [&](llvm::Value* panel) {
      llvm::Value* panel_row = ir.CreateMul(panel, build.i32(shape.panel));
      build.if_then(ir.CreateICmpSLT(panel_row, q_left), [&] { body(panel_row); });
    });
  };
  // Attends a panel to `kept` kv rows of the tile from row `low` on.
  auto attend = [&](const Parts::OfTile& tile_parts, llvm::Value* panel_row, llvm::Value* low,
                    llvm::Value* kept) {
    llvm::Value* q_row = ir.CreateAdd(first_q, panel_row);
    llvm::Value* kept32 = ir.CreateTrunc(kept, i32);
    llvm::Value* kv_row = ir.CreateAdd(first_kv, ir.CreateTrunc(low, i32));
    llvm::Value* row = wide(panel_row);
    llvm::Value* q_panel = build.float_at(buffer(shape.q), ir.CreateMul(row, build.i64(shape.head_dim)));
    llvm::Value* o_panel = build.float_at(buffer(shape.o), ir.CreateMul(row, build.i64(shape.dv_padded)));
    llvm::Value* s = buffer(shape.s);
    llvm::Value* k_rows = build.float_at(k_tile.data, ir.CreateMul(low, k_tile.row_stride));
    llvm::Value* v_rows = build.float_at(v_tile.data, ir.CreateMul(low, v_tile.row_stride));
    llvm::Value* keep =
        ir.CreateGEP(ir.getInt16Ty(), buffer(shape.keep), ir.CreateMul(low, build.i64(shape.panel_vecs)));
    ir.CreateCall(tile_parts.qk, {q_panel, k_rows, k_tile.row_stride, kept, s, buffer(shape.spans), low});
    ir.CreateCall(tile_parts.softmax, {params, s, keep, build.float_at(buffer(shape.row_max), row),
                                       build.float_at(buffer(shape.row_sum), row), buffer(shape.rescale), b32,
                                       h32, q_row, kv_row, kept32});
    if (parts.dropout)
      build.if_then(drops,
                    [&] { ir.CreateCall(parts.dropout, {params, s, b32, h32, q_row, kv_row, kept32}); });
    int column = 0;
    for (const int vecs : pv_calls(shape)) {
      ir.CreateCall(tile_parts.pv.at(vecs), {s, build.float_at(v_rows, build.i64(column)), v_tile.row_stride,
                                             kept, build.float_at(o_panel, build.i64(column)),
                                             buffer(shape.rescale), buffer(shape.spans), low});
      column += vecs * shape.lanes;
    }
  };

  auto full_tile = [&] {
    copy_both();
    each_panel([&](llvm::Value* panel_row) {
      attend(parts.full, panel_row, build.i64(0), ir.CreateSExt(rows, build.i64()));
    });
  };
  auto partial_tile = [&] {
    ir.CreateStore(ir.getFalse(), copied);
    each_panel([&](llvm::Value* panel_row) {
      llvm::Value* span =
          ir.CreateCall(parts.mask, {params, buffer(shape.keep), b32, h32, ir.CreateAdd(first_q, panel_row),
                                     first_kv, rows, buffer(shape.spans)});
      build.if_then(ir.CreateICmpNE(span, build.i64(0)), [&] {
        if (parts.copy_k || parts.copy_v)
          build.if_then(ir.CreateNot(ir.CreateLoad(ir.getInt1Ty(), copied)), [&] {
            copy_both();
            ir.CreateStore(ir.getTrue(), copied);
          });
        llvm::Value* low = ir.CreateAnd(span, build.i64(0xffffffff));
        attend(parts.partial, panel_row, low, ir.CreateSub(ir.CreateLShr(span, 32), low));
      });
    });
  };
  if (tiles.full && tiles.partial)
    build.if_else(ir.CreateICmpNE(build.arg(6), build.i32(0)), full_tile, partial_tile);
  else
    tiles.full ? full_tile() : partial_tile();
  ir.CreateRetVoid();
}

void emit_info(const HostModule& host, const TileClasses& classes, Kinds tiles) {
  llvm::LLVMContext& context = host.context();
  auto number = [&](unsigned value) {
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value);
  };
  // Whether the class differs along one of its arguments, itself or through a summary.
  auto differs = [&](unsigned argument, bool Summary::* depends) {
    bool any = classes.function != nullptr && !classes.function->getArg(argument)->use_empty();
    for (const Summary& summary : classes.summaries) any |= summary.*depends;
    return number(any ? 1 : 0);
  };
  static_assert(offsetof(HostInfo, tile_q) == 4 && offsetof(HostInfo, workspace_bytes) == 8 &&
                offsetof(HostInfo, tile_kv) == 16 && offsetof(HostInfo, num_summaries) == 20 &&
                offsetof(HostInfo, has_tile_class) == 24 && offsetof(HostInfo, is_masked) == 28 &&
                offsetof(HostInfo, class_of_batch) == 32 && offsetof(HostInfo, class_of_head) == 36 &&
                sizeof(HostInfo) == 40);
  llvm::Constant* value = llvm::ConstantStruct::getAnon(
      {number(kHostVersion), number(static_cast<unsigned>(host.shape.tile_q)),
       llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), host.shape.bytes),
       number(static_cast<unsigned>(host.shape.tile_kv)),
       number(static_cast<unsigned>(classes.summaries.size())), number(classes.function != nullptr ? 1 : 0),
       number(tiles.partial ? 1 : 0), differs(0, &Summary::depends_on_b),
       differs(1, &Summary::depends_on_h)});
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
                        .module = *hooks.module};
  std::vector<llvm::Function*> scalar_hooks;
  for (llvm::Function& function : *hooks.module) scalar_hooks.push_back(&function);

  const Kinds tiles = kinds_of_tiles(host, classes);
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
  hooks.score_mod = hooks.mask_mod = hooks.logit = nullptr;
  hooks.logit_multiplier = hooks.logit_addend = hooks.logit_addend_slope = nullptr;
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
      simplify(function);
    }
}

}  // namespace fa
