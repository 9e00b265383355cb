// Standard attention, algorithm 0 of the FlashAttention paper: S whole in memory, its rows' softmax in place, O = P V.
// Three passes over tiles of query rows. A block of the workspace holds one panel of rows, kv tile after kv tile: the order in
// which the fused kernel's steps read and write S.
#include <cstddef>

#include "compiler/emit/host/baseline/passes.h"
#include "compiler/emit/host/memory.h"
#include "compiler/emit/host/vector/math.h"
#include "compiler/ir/math/constants.h"

namespace fa {
namespace {

/// The block of a panel, and what it has of a kv tile.
class Blocks {
 public:
  Blocks(const HostModule& host, HostBuilder& build, const PassArgs<llvm::Value*>& args)
      : shape_(host.shape), build_(build), room_(score_room(host.shape)), rows_(args.kept) {
    llvm::IRBuilder<>& ir = build.ir();
    const HostRoom room = host_room(host.shape, LoopOrder::standard);
    llvm::Value* kv_len = build.param(args.params, build.i32(), offsetof(ForwardParams, call.kv_len));
    llvm::Value* whole = ir.CreateAdd(ir.CreateSExt(kv_len, build.i64()), build.i64(shape_.tile_kv - 1));
    llvm::Value* tiles = ir.CreateUDiv(whole, build.i64(shape_.tile_kv));
    bytes_ = ir.CreateAdd(ir.CreateMul(tiles, build.i64(static_cast<std::int64_t>(room.kv_tile_bytes))),
                          build.i64(static_cast<std::int64_t>(room.block_bytes)));
  }

  llvm::Value* row_max(llvm::Value* row) { return build_.at(block(row), room_.row_max); }
  llvm::Value* row_sum(llvm::Value* row) { return build_.at(block(row), room_.row_sum); }
  llvm::Value* s(llvm::Value* row, llvm::Value* first_kv) {
    llvm::IRBuilder<>& ir = build_.ir();
    llvm::Value* first = ir.CreateMul(ir.CreateSExt(first_kv, build_.i64()), build_.i64(shape_.panel));
    return build_.float_at(build_.at(block(row), room_.s), first);
  }

 private:
  llvm::Value* block(llvm::Value* row) {
    llvm::IRBuilder<>& ir = build_.ir();
    llvm::Value* number = ir.CreateUDiv(ir.CreateSExt(row, build_.i64()), build_.i64(shape_.panel));
    return build_.at(rows_, ir.CreateMul(number, bytes_));
  }

  const HostShape& shape_;
  HostBuilder& build_;
  ScoreRoom room_;
  llvm::Value *rows_, *bytes_;
};

/// A pass in the making.
struct StandardPass {
  const HostModule& host;
  HostBuilder build;
  PassArgs<llvm::Value*> args;
  Blocks blocks;

  StandardPass(const HostModule& module, int number)
      : host(module),
        build(module, pass_entry(module, number)),
        args(arguments_of<PassArgs>(*build.function())),
        blocks(module, build, args) {}

  StepPlace place(llvm::Value* first_kv) const {
    return {
        .params = args.params, .workspace = args.workspace, .b = args.b, .h = args.h, .first_kv = first_kv};
  }
  /// Where the outputs of the item's rows are summed up. Rows' maxima and sums are in blocks.
  StepRows rows() {
    return {.first_q = args.first_q,
            .o = build.at(args.workspace, host.shape.o),
            .row_max = nullptr,
            .row_sum = nullptr};
  }
  void each_panel(const std::function<void(llvm::Value*)>& body) {
    fa::each_panel(host, build, args.params, args.first_q, body);
  }
  void each_kv_tile(const std::function<void(llvm::Value*)>& body) {
    fa::each_kv_tile(host, build, args.params, body);
  }
  StepPanel panel(const TileStep& step, llvm::Value* row, llvm::Value* first_kv) {
    StepPanel result = step.whole(rows(), row);
    result.s = blocks.s(row, first_kv);
    return result;
  }
};

/// S = Q K^T, then score_mod and mask, and each row's maximum.
void emit_scores(const HostModule& host, const StepParts& parts, int number) {
  llvm::Function* logits = emit_logits(host, has_mask(host));
  StandardPass pass(host, number);
  HostBuilder& build = pass.build;
  pack_rows(host, build, *parts.products, pass.place(nullptr), pass.args.first_q);
  llvm::Value* first_max = first_softmax(host, build, pass.args.params, pass.args.b, pass.args.h).first;
  pass.each_panel([&](llvm::Value* row) {
    fill_floats(build, host.shape, pass.blocks.row_max(row), host.shape.panel, first_max);
  });
  pass.each_kv_tile([&](llvm::Value* first_kv) {
    const TileStep step(host, parts, build, pass.place(first_kv));
    step.begin();
    parts.products->load_k(build);
    pass.each_panel([&](llvm::Value* row) {
      const StepPanel panel = pass.panel(step, row, first_kv);
      parts.products->scores(build, panel);
      if (parts.mask) step.mask(pass.rows(), row);
      call<LogitsArgs>(build.ir(), logits,
                       {.params = pass.args.params,
                        .scores = panel.s,
                        .keep = step.keep(panel),
                        .row_max = pass.blocks.row_max(row),
                        .b = pass.args.b,
                        .h = pass.args.h,
                        .first_q = step.q_row(pass.rows(), panel),
                        .first_kv = first_kv,
                        .rows = step.narrow(panel.kept)});
    });
    step.end();
  });
  build.ir().CreateRetVoid();
}

/// The rows' sums before their first key, counted from their maxima over all keys: of the sink, where there is one.
void start_sums(StandardPass& pass, llvm::Value* row, llvm::Value* first_max, llvm::Value* first_sum) {
  HostBuilder& build = pass.build;
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value* zero = build.splat(build.f32(0));
  for (int lane = 0; lane < pass.host.shape.panel; lane += pass.host.shape.lanes) {
    llvm::Value* maximum = build.load_vec(build.float_at(pass.blocks.row_max(row), build.i64(lane)));
    llvm::Value* shift =
        ir.CreateSelect(ir.CreateFCmpOEQ(maximum, build.splat(build.f32(-kInf))), zero, maximum);
    llvm::Value* factor =
        HostMath(ir, pass.host.cpu).exp2_nonpositive(ir.CreateFSub(build.splat(first_max), shift));
    build.store_vec(ir.CreateFMul(factor, build.splat(first_sum)),
                    build.float_at(pass.blocks.row_sum(row), build.i64(lane)));
  }
}

/// P = exp2(S - maximum) in the place of S, and each row's sum; then dropped elements become 0.
void emit_row_softmax(const HostModule& host, const StepParts& parts, int number) {
  llvm::Function* probabilities = emit_probabilities(host);
  StandardPass pass(host, number);
  HostBuilder& build = pass.build;
  llvm::IRBuilder<>& ir = build.ir();
  const auto [first_max, first_sum] = first_softmax(host, build, pass.args.params, pass.args.b, pass.args.h);
  pass.each_panel([&](llvm::Value* row) {
    start_sums(pass, row, first_max, first_sum);
    pass.each_kv_tile([&](llvm::Value* first_kv) {
      const TileStep step(host, parts, build, pass.place(first_kv));
      const StepPanel panel = pass.panel(step, row, first_kv);
      call<ProbabilitiesArgs>(ir, probabilities,
                              {.params = pass.args.params,
                               .scores = panel.s,
                               .row_max = pass.blocks.row_max(row),
                               .row_sum = pass.blocks.row_sum(row),
                               .rows = step.narrow(panel.kept)});
      step.drop(pass.rows(), panel);
    });
  });
  ir.CreateRetVoid();
}

/// O = P V, divided by each row's sum, and lse.
void emit_products_with_v(const HostModule& host, const StepParts& parts, int number) {
  const HostShape& shape = host.shape;
  llvm::Function* finish = emit_finish(host);
  StandardPass pass(host, number);
  HostBuilder& build = pass.build;
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value* o = pass.rows().o;
  fill_floats(build, shape, o, shape.panels * shape.panel * shape.o_columns, build.f32(0));
  fill_floats(build, shape, build.at(pass.args.workspace, shape.rescale), shape.panel, build.f32(1));
  pass.each_kv_tile([&](llvm::Value* first_kv) {
    const TileStep step(host, parts, build, pass.place(first_kv));
    step.begin();
    parts.products->load_v(build);
    pass.each_panel(
        [&](llvm::Value* row) { parts.products->output(build, pass.panel(step, row, first_kv)); });
    step.end();
  });
  llvm::Value* rows = parts.products->finish(build, pass.args.workspace, o);
  llvm::Value* there = count_rows(host, build, pass.args.params, pass.args.first_q);
  pass.each_panel([&](llvm::Value* row) {
    llvm::Value* first = ir.CreateSExt(row, build.i64());
    call<FinishArgs>(ir, finish,
                     {.params = pass.args.params,
                      .o = build.float_at(rows, ir.CreateMul(first, build.i64(shape.dv_padded))),
                      .row_max = pass.blocks.row_max(row),
                      .row_sum = pass.blocks.row_sum(row),
                      .b = pass.args.b,
                      .h = pass.args.h,
                      .first_q = ir.CreateAdd(pass.args.first_q, row),
                      .rows = build.min_i64(ir.CreateSub(there, first), build.i64(shape.panel))});
  });
  ir.CreateRetVoid();
}

}  // namespace

EmittedPasses emit_standard(const HostModule& host) {
  const StepParts parts = emit_step_parts(host);
  emit_scores(host, parts, 0);
  emit_row_softmax(host, parts, 1);
  emit_products_with_v(host, parts, 2);
  return {.all = 3, .by_head = 0};
}

}  // namespace fa
