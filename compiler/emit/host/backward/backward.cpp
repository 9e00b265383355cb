// The backward kernel's outline: a tile of query rows begins, one step for each kv tile that the runtime's
// walk leaves, its panels within, and the end of the tile.
#include "compiler/emit/host/backward/backward.h"

#include "compiler/derive/elements.h"
#include "compiler/emit/host/backward/captured.h"
#include "compiler/emit/host/backward/parts.h"
#include "compiler/emit/host/outline.h"
#include "compiler/emit/host/parts.h"
#include "compiler/emit/host/vector/elementary.h"
#include "compiler/spec/rounding.h"

namespace fa {
namespace {

/// A product that adds to dQ, dK or dV, by vectors of its rows.
struct Accumulation {
  std::vector<int> widths;  // of its calls, in vectors
  std::map<int, llvm::Function*> functions;
  int c_stride = 0;
};

Accumulation accumulation(const BackwardModule& backward, const char* name, AccumulatedLeft left, int vecs) {
  Accumulation result;
  const int calls = ceil_div(vecs, backward.shape.most_vecs);
  for (int i = 0; i < calls; ++i) result.widths.push_back(vecs / calls + (i < vecs % calls ? 1 : 0));
  result.c_stride = vecs * backward.host.shape.lanes;
  for (const int width : result.widths)
    if (!result.functions.contains(width))
      result.functions[width] = emit_accumulate(backward, name, left, width, result.c_stride);
  return result;
}

void accumulate(HostBuilder& build, const HostModule& host, const Accumulation& product,
                AccumulateArgs<llvm::Value*> args) {
  for (const int width : product.widths) {
    call<AccumulateArgs>(build.ir(), product.functions.at(width), args);
    args.b = build.float_at(args.b, build.i64(width * host.shape.lanes));
    args.c = build.float_at(args.c, build.i64(width * host.shape.lanes));
  }
}

struct Functions {
  llvm::Function *pack_q = nullptr, *pack_do = nullptr, *copy_q = nullptr, *copy_do = nullptr;
  llvm::Function *copy_k = nullptr, *copy_v = nullptr, *row_sums = nullptr;
  llvm::Function *mask = nullptr, *dropout = nullptr;
  llvm::Function *scores[2] = {}, *d_probs[2] = {}, *elements[2] = {};  // [masked]
  Accumulation d_q, d_k, d_v;
};

Functions emit_functions(const BackwardModule& backward, TileKinds tiles) {
  const HostModule& host = backward.host;
  const int d = host.spec.head_dim, dv = host.spec.head_dim_v, panel = host.shape.panel;
  const BackwardShape& shape = backward.shape;
  Functions made;
  made.pack_q = emit_pack(host, "pack_q", host.spec.dtype, d);
  made.pack_do = emit_pack(host, "pack_do", host.spec.dtype, dv);
  made.copy_q = emit_copy(host, "copy_q", d, shape.d_padded);
  made.copy_do = emit_copy(host, "copy_do", dv, shape.dv_padded);
  if (shape.copy_k) made.copy_k = emit_copy(host, "copy_k", d, shape.d_padded);
  if (shape.copy_v) made.copy_v = emit_copy(host, "copy_v", dv, shape.dv_padded);
  made.row_sums = emit_row_sums(backward);
  if (tiles.partial) made.mask = emit_mask(host);
  if (host.spec.has_dropout) made.dropout = emit_dropout(host);
  for (const bool masked : {false, true}) {
    if (!(masked ? tiles.partial : tiles.full)) continue;
    made.scores[masked] = emit_qk(host, masked ? "scores_masked" : "scores", d, masked);
    made.d_probs[masked] = emit_qk(host, masked ? "d_probs_masked" : "d_probs", dv, masked);
    made.elements[masked] = emit_elements(backward, masked);
  }
  made.d_q = accumulation(backward, "d_q", {.row = 1, .depth = panel}, shape.d_vecs);
  made.d_k = accumulation(backward, "d_k", {.row = panel, .depth = 1}, shape.d_vecs);
  made.d_v = accumulation(backward, "d_v", {.row = panel, .depth = 1}, shape.dv_vecs);
  return made;
}

void emit_start_entry(const BackwardModule& backward, const Functions& functions) {
  const HostModule& host = backward.host;
  const BackwardShape& shape = backward.shape;
  HostBuilder build(host, entry<BackwardEntryArgs>(host, kHostBackwardStartSymbol));
  llvm::IRBuilder<>& ir = build.ir();
  const auto args = arguments_of<BackwardEntryArgs>(*build.function());
  const int bytes = dtype_bytes(host.spec.dtype);
  llvm::Value* b = ir.CreateSExt(args.b, build.i64());
  llvm::Value* h = ir.CreateSExt(args.h, build.i64());
  llvm::Value* first = ir.CreateSExt(args.first_q, build.i64());
  llvm::Value* q_len =
      ir.CreateSExt(build.param(args.params, build.i32(), offsetof(ForwardParams, call.q_len)), build.i64());
  llvm::Value* rows = build.min_i64(ir.CreateSub(q_len, first), build.i64(host.shape.tile_q));
  const int most_rows = host.shape.panels * host.shape.panel;
  auto zero = [&](std::size_t offset, llvm::Value* first_float, int floats) {
    llvm::Value* to = build.at(args.workspace, offset);
    build.loop(first_float, build.i64(floats), build.i64(host.shape.lanes),
               [&](llvm::Value* at) { build.store_vec(build.splat(build.f32(0)), build.float_at(to, at)); });
  };
  // Rows past the last have no gradient: 0 in dO, and in Q, which is multiplied by dS.
  auto bring = [&](std::size_t pointer, std::size_t strides, llvm::Function* pack, std::size_t columns,
                   llvm::Function* copy, std::size_t in_rows, int padded) {
    const HeadView head = head_view(build, args.params, pointer, strides, bytes, b, h);
    llvm::Value* row_bytes = ir.CreateMul(head.row_stride, build.i64(bytes));
    llvm::Value* from = build.at(head.data, ir.CreateMul(first, row_bytes));
    ir.CreateCall(pack, {from, row_bytes, rows, build.at(args.workspace, columns)});
    ir.CreateCall(copy, {from, row_bytes, rows, build.at(args.workspace, in_rows)});
    zero(in_rows, ir.CreateMul(rows, build.i64(padded)), most_rows * padded);
  };
  bring(offsetof(ForwardParams, q), offsetof(ForwardParams, q_strides), functions.pack_q, shape.q_columns,
        functions.copy_q, shape.q_rows, shape.d_padded);
  bring(offsetof(BackwardParams, d_o), offsetof(BackwardParams, d_o_strides), functions.pack_do,
        shape.do_columns, functions.copy_do, shape.do_rows, shape.dv_padded);
  zero(shape.dq, build.i64(0), most_rows * shape.d_padded);
  call<BackwardEntryArgs>(ir, functions.row_sums, args);
  ir.CreateRetVoid();
}

/// The step's code for one kv tile.
class Step {
 public:
  Step(const BackwardModule& backward, const Functions& functions)
      : backward_(backward),
        host_(backward.host),
        functions_(functions),
        build_(host_, entry<BackwardStepArgs>(host_, kHostBackwardStepSymbol)),
        ir_(build_.ir()),
        args_(arguments_of<BackwardStepArgs>(*build_.function())) {}

  void emit(TileKinds tiles) {
    llvm::Value* b = wide(args_.b);
    llvm::Value* kv_h = wide(ir_.CreateSDiv(args_.h, number(offsetof(ForwardParams, call.group_size))));
    llvm::Value* kv_left = ir_.CreateSub(number(offsetof(ForwardParams, call.kv_len)), args_.first_kv);
    q_left_ = ir_.CreateSub(number(offsetof(ForwardParams, call.q_len)), args_.first_q);
    rows_ = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, kv_left, build_.i32(host_.shape.tile_kv));
    const BackwardShape& shape = backward_.shape;
    k_ = tile_of(offsetof(ForwardParams, k), offsetof(ForwardParams, k_strides), b, kv_h, functions_.copy_k,
                 shape.k, shape.d_padded);
    v_ = tile_of(offsetof(ForwardParams, v), offsetof(ForwardParams, v_strides), b, kv_h, functions_.copy_v,
                 shape.v, shape.dv_padded);
    if (tiles.full && tiles.partial)
      build_.if_else(
          ir_.CreateICmpNE(args_.full, build_.i32(0)), [&] { full_tile(); }, [&] { partial_tile(); });
    else
      tiles.full ? full_tile() : partial_tile();
    ir_.CreateRetVoid();
  }

 private:
  llvm::Value* number(std::size_t offset) { return build_.param(args_.params, build_.i32(), offset); }
  llvm::Value* wide(llvm::Value* value) { return ir_.CreateSExt(value, build_.i64()); }
  llvm::Value* buffer(std::size_t offset) { return build_.at(args_.workspace, offset); }

  /// The tile's rows as floats: where they lie, or their copy.
  HeadView tile_of(std::size_t pointer, std::size_t strides, llvm::Value* b, llvm::Value* kv_h,
                   llvm::Function* copy, std::size_t offset, int padded) {
    const int bytes = dtype_bytes(host_.spec.dtype);
    const HeadView head = head_view(build_, args_.params, pointer, strides, bytes, b, kv_h);
    llvm::Value* row_bytes = ir_.CreateMul(head.row_stride, build_.i64(bytes));
    llvm::Value* from = build_.at(head.data, ir_.CreateMul(wide(args_.first_kv), row_bytes));
    if (copy == nullptr) return {.data = from, .row_stride = head.row_stride};
    ir_.CreateCall(copy, {from, row_bytes, wide(rows_), buffer(offset)});
    return {.data = buffer(offset), .row_stride = build_.i64(padded)};
  }

  void each_panel(const std::function<void(llvm::Value*)>& body) {
    build_.loop(build_.i32(0), build_.i32(host_.shape.panels), build_.i32(1), [&](llvm::Value* panel) {
      llvm::Value* panel_row = ir_.CreateMul(panel, build_.i32(host_.shape.panel));
      build_.if_then(ir_.CreateICmpSLT(panel_row, q_left_), [&] { body(panel_row); });
    });
  }

  void full_tile() {
    each_panel([&](llvm::Value* panel_row) { attend(false, panel_row, build_.i64(0), wide(rows_)); });
  }

  void partial_tile() {
    each_panel([&](llvm::Value* panel_row) {
      llvm::Value* span = call<MaskArgs>(ir_, functions_.mask,
                                         {.params = args_.params,
                                          .keep = buffer(backward_.shape.keep),
                                          .b = args_.b,
                                          .h = args_.h,
                                          .first_q = ir_.CreateAdd(args_.first_q, panel_row),
                                          .first_kv = args_.first_kv,
                                          .rows = rows_,
                                          .spans = buffer(backward_.shape.spans)});
      build_.if_then(ir_.CreateICmpNE(span, build_.i64(0)), [&] {
        llvm::Value* low = ir_.CreateAnd(span, build_.i64(0xffffffff));
        attend(true, panel_row, low, ir_.CreateSub(ir_.CreateLShr(span, 32), low));
      });
    });
  }

  /// A panel against `kept` kv rows of the tile from row `low` on.
  void attend(bool masked, llvm::Value* panel_row, llvm::Value* low, llvm::Value* kept) {
    const BackwardShape& shape = backward_.shape;
    const int d = host_.spec.head_dim, dv = host_.spec.head_dim_v;
    llvm::Value* row = wide(panel_row);
    auto of_rows = [&](std::size_t offset, int width) {
      return build_.float_at(buffer(offset), ir_.CreateMul(row, build_.i64(width)));
    };
    llvm::Value* k = build_.float_at(k_.data, ir_.CreateMul(low, k_.row_stride));
    llvm::Value* v = build_.float_at(v_.data, ir_.CreateMul(low, v_.row_stride));
    llvm::Value *s = buffer(shape.s), *dp = buffer(shape.dp), *spans = buffer(shape.spans);
    call<ScoresArgs>(ir_, functions_.scores[masked],
                     {.q = of_rows(shape.q_columns, d),
                      .k = k,
                      .stride = ir_.CreateMul(k_.row_stride, build_.i64(4)),
                      .rows = kept,
                      .scores = s,
                      .spans = spans,
                      .low = low});
    call<ScoresArgs>(ir_, functions_.d_probs[masked],
                     {.q = of_rows(shape.do_columns, dv),
                      .k = v,
                      .stride = ir_.CreateMul(v_.row_stride, build_.i64(4)),
                      .rows = kept,
                      .scores = dp,
                      .spans = spans,
                      .low = low});
    llvm::Value* first_q = ir_.CreateAdd(args_.first_q, panel_row);
    llvm::Value* first_kv = ir_.CreateAdd(args_.first_kv, ir_.CreateTrunc(low, build_.i32()));
    llvm::Value* kept32 = ir_.CreateTrunc(kept, build_.i32());
    if (functions_.dropout != nullptr) drop(first_q, first_kv, kept, kept32);
    llvm::Value* keep = ir_.CreateGEP(ir_.getInt16Ty(), buffer(shape.keep),
                                      ir_.CreateMul(low, build_.i64(host_.shape.panel_vecs)));
    call<ElementsArgs>(ir_, functions_.elements[masked],
                       {.params = args_.params,
                        .item = args_.item,
                        .scores = s,
                        .d_probs = dp,
                        .kept_scale = buffer(shape.kept_scale),
                        .keep = keep,
                        .shift = of_rows(shape.shift, 1),
                        .shift_rest = of_rows(shape.shift_rest, 1),
                        .d_sum = of_rows(shape.d_sum, 1),
                        .b = args_.b,
                        .h = args_.h,
                        .first_q = first_q,
                        .first_kv = first_kv,
                        .rows = kept32});
    llvm::Value* panel = build_.i64(host_.shape.panel);
    llvm::Value* kv_row = ir_.CreateAdd(wide(args_.first_kv), low);
    auto of_item = [&](std::size_t field, int padded) {
      return build_.float_at(ir_.CreateLoad(build_.ptr(), build_.at(args_.item, field)),
                             ir_.CreateMul(kv_row, build_.i64(padded)));
    };
    accumulate(build_, host_, functions_.d_v,
               {.a = s,
                .b = of_rows(shape.do_rows, shape.dv_padded),
                .stride = build_.i64(shape.dv_padded),
                .c = of_item(offsetof(HostBackwardItem, d_v), shape.dv_padded),
                .rows = kept,
                .depth = panel});
    accumulate(build_, host_, functions_.d_k,
               {.a = dp,
                .b = of_rows(shape.q_rows, shape.d_padded),
                .stride = build_.i64(shape.d_padded),
                .c = of_item(offsetof(HostBackwardItem, d_k), shape.d_padded),
                .rows = kept,
                .depth = panel});
    accumulate(build_, host_, functions_.d_q,
               {.a = dp,
                .b = k,
                .stride = k_.row_stride,
                .c = of_rows(shape.dq, shape.d_padded),
                .rows = panel,
                .depth = kept});
  }

  /// Fills kept_scale: what dropout multiplies each probability by.
  void drop(llvm::Value* first_q, llvm::Value* first_kv, llvm::Value* kept, llvm::Value* kept32) {
    llvm::Value* to = buffer(backward_.shape.kept_scale);
    llvm::Value* scale =
        build_.splat(build_.param(args_.params, build_.f32(), offsetof(ForwardParams, call.keep_scale)));
    build_.loop(build_.i64(0), ir_.CreateMul(kept, build_.i64(host_.shape.panel)),
                build_.i64(host_.shape.lanes),
                [&](llvm::Value* at) { build_.store_vec(scale, build_.float_at(to, at)); });
    llvm::Value* drops =
        ir_.CreateICmpNE(number(offsetof(ForwardParams, call.drop_threshold)), build_.i32(0));
    build_.if_then(drops, [&] {
      call<DropoutArgs>(ir_, functions_.dropout,
                        {.params = args_.params,
                         .probabilities = to,
                         .b = args_.b,
                         .h = args_.h,
                         .first_q = first_q,
                         .first_kv = first_kv,
                         .rows = kept32});
    });
  }

  const BackwardModule& backward_;
  const HostModule& host_;
  const Functions& functions_;
  HostBuilder build_;
  llvm::IRBuilder<>& ir_;
  BackwardStepArgs<llvm::Value*> args_;
  llvm::Value *rows_ = nullptr, *q_left_ = nullptr;  // i32
  HeadView k_{}, v_{};
};

/// By the gradient's number.
std::array<std::uint32_t, kMaxGradients> traits_of(const Derivatives& derivatives) {
  std::array<std::uint32_t, kMaxGradients> traits{};
  for (const HookDerivatives* hook : {&derivatives.score_mod, &derivatives.sink})
    for (const Adjoint& adjoint : hook->adjoints) {
      const GradientElements elements = elements_of(derivatives, adjoint.of, adjoint.index);
      std::uint32_t& of = traits[static_cast<std::size_t>(gradient_number(adjoint))];
      of = kGradientIsWanted;
      if (elements.of_batch) of |= kGradientOfBatch;
      if (elements.of_head) of |= kGradientOfHead;
      if (elements.of_row) of |= kGradientOfRow;
      if (elements.is_once) of |= kGradientIsOnce;
    }
  return traits;
}

void emit_backward_info(const BackwardModule& backward) {
  const HostModule& host = backward.host;
  static_assert(sizeof(HostBackwardInfo) == 8 + 4 * kMaxGradients);
  std::vector<std::uint32_t> words = {static_cast<std::uint32_t>(backward.shape.d_padded),
                                      static_cast<std::uint32_t>(backward.shape.dv_padded)};
  for (const std::uint32_t traits : traits_of(backward.derivatives)) words.push_back(traits);
  llvm::Constant* value = llvm::ConstantDataArray::get(host.context(), words);
  new llvm::GlobalVariable(host.module, value->getType(), true, llvm::GlobalValue::ExternalLinkage, value,
                           kHostBackwardInfoSymbol);
}

}  // namespace

HostIr emit_host_backward(const CheckedSpec& spec, const HookIr& hooks, const Facts& facts,
                          const TileClasses& classes, const Derivatives& derivatives, const Plan& plan,
                          const HostCpu& cpu) {
  const std::shared_ptr<llvm::Module> module = start_module(spec, hooks, cpu);
  const HostModule host{.spec = spec,
                        .hooks = hooks,
                        .facts = facts,
                        .cpu = cpu,
                        .shape = host_shape(spec, plan, cpu, HostProduct::floats),
                        .module = *module,
                        .calls_elementary = has_many_elementary_calls(
                            {hooks.module, facts.logits.module, classes.module, derivatives.module})};
  PartLowering lowering(spec, hooks, "parts");
  const BackwardModule backward{.host = host,
                                .derivatives = derivatives,
                                .lowering = lowering,
                                .shape = backward_shape(spec, host.shape, cpu)};
  const TileKinds tiles = kinds_of_tiles(host, classes);
  const Functions functions = emit_functions(backward, tiles);
  emit_start_entry(backward, functions);
  Step(backward, functions).emit(tiles);
  emit_backward_finish(backward);
  emit_backward_store(backward);
  emit_classes(host, classes);
  emit_info(host, classes, tiles, backward.shape.bytes);
  emit_backward_info(backward);
  polish(host);
  return {.module = module, .cpu = cpu};
}

}  // namespace fa
