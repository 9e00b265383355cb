#include "compiler/emit/host/step/step.h"

#include <cstddef>

#include "compiler/emit/host/outline.h"

namespace fa {

StepRows rows_in_workspace(HostBuilder& build, const HostShape& shape, llvm::Value* workspace,
                           llvm::Value* first_q) {
  return {.first_q = first_q,
          .o = build.at(workspace, shape.o),
          .row_max = build.at(workspace, shape.row_max),
          .row_sum = build.at(workspace, shape.row_sum)};
}

llvm::Value* count_rows(const HostModule& host, HostBuilder& build, llvm::Value* params,
                        llvm::Value* first_q) {
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value* q_len =
      ir.CreateSExt(build.param(params, build.i32(), offsetof(ForwardParams, call.q_len)), build.i64());
  return build.min_i64(ir.CreateSub(q_len, ir.CreateSExt(first_q, build.i64())),
                       build.i64(host.shape.tile_q));
}

void pack_rows(const HostModule& host, HostBuilder& build, HostProducts& products, const StepPlace& place,
               llvm::Value* first_q) {
  llvm::IRBuilder<>& ir = build.ir();
  const int bytes = dtype_bytes(host.spec.dtype);
  const HeadView q =
      head_view(build, place.params, offsetof(ForwardParams, q), offsetof(ForwardParams, q_strides), bytes,
                ir.CreateSExt(place.b, build.i64()), ir.CreateSExt(place.h, build.i64()));
  llvm::Value* row_bytes = ir.CreateMul(q.row_stride, build.i64(bytes));
  llvm::Value* first = build.at(q.data, ir.CreateMul(ir.CreateSExt(first_q, build.i64()), row_bytes));
  products.begin(build, place.workspace, first, row_bytes, count_rows(host, build, place.params, first_q));
}

void finish_rows(const HostModule& host, HostBuilder& build, llvm::Function* finish, HostProducts& products,
                 const StepPlace& place, const StepRows& rows) {
  call<FinishArgs>(build.ir(), finish,
                   {.params = place.params,
                    .o = products.finish(build, place.workspace, rows.o),
                    .row_max = rows.row_max,
                    .row_sum = rows.row_sum,
                    .b = place.b,
                    .h = place.h,
                    .first_q = rows.first_q,
                    .rows = count_rows(host, build, place.params, rows.first_q)});
}

void each_panel(const HostModule& host, HostBuilder& build, llvm::Value* params, llvm::Value* first_q,
                const std::function<void(llvm::Value*)>& body) {
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value* q_left =
      ir.CreateSub(build.param(params, build.i32(), offsetof(ForwardParams, call.q_len)), first_q);
  build.loop(build.i32(0), build.i32(host.shape.panels), build.i32(1), [&](llvm::Value* panel) {
    llvm::Value* row = ir.CreateMul(panel, build.i32(host.shape.panel));
    build.if_then(ir.CreateICmpSLT(row, q_left), [&] { body(row); });
  });
}

TileStep::TileStep(const HostModule& host, const StepParts& parts, HostBuilder& build, const StepPlace& place)
    : host_(host), parts_(parts), build_(build), place_(place) {
  llvm::IRBuilder<>& ir = build.ir();
  auto number = [&](std::size_t offset) { return build.param(place.params, build.i32(), offset); };
  auto wide = [&](llvm::Value* value) { return ir.CreateSExt(value, build.i64()); };
  const int bytes = dtype_bytes(host.spec.dtype);
  llvm::Value* b = wide(place.b);
  llvm::Value* kv_h = wide(ir.CreateSDiv(place.h, number(offsetof(ForwardParams, call.group_size))));
  const HeadView k = head_view(build, place.params, offsetof(ForwardParams, k),
                               offsetof(ForwardParams, k_strides), bytes, b, kv_h);
  const HeadView v = head_view(build, place.params, offsetof(ForwardParams, v),
                               offsetof(ForwardParams, v_strides), bytes, b, kv_h);
  llvm::Value* kv_left = ir.CreateSub(number(offsetof(ForwardParams, call.kv_len)), place.first_kv);
  drops_ = ir.CreateICmpNE(number(offsetof(ForwardParams, call.drop_threshold)), build.i32(0));
  rows_ = ir.CreateIntrinsic(llvm::Intrinsic::smin, {build.i32()}, {kv_left, build.i32(host.shape.tile_kv)});
  tile_ = {
      .workspace = place.workspace, .k = k, .v = v, .first_kv = wide(place.first_kv), .rows = wide(rows_)};
}

void TileStep::begin() const { parts_.products->begin_step(build_, tile_); }

StepPanel TileStep::whole(const StepRows& rows, llvm::Value* row) const {
  return {.masked = false,
          .row = build_.ir().CreateSExt(row, build_.i64()),
          .low = build_.i64(0),
          .kept = tile_.rows,
          .spans = buffer(host_.shape.spans),
          .s = buffer(host_.shape.s),
          .o = rows.o};
}

llvm::Value* TileStep::mask(const StepRows& rows, llvm::Value* row) const {
  return call<MaskArgs>(build_.ir(), parts_.mask,
                        {.params = place_.params,
                         .keep = buffer(host_.shape.keep),
                         .b = place_.b,
                         .h = place_.h,
                         .first_q = build_.ir().CreateAdd(rows.first_q, row),
                         .first_kv = place_.first_kv,
                         .rows = rows_,
                         .spans = buffer(host_.shape.spans)});
}

llvm::Value* TileStep::keep(const StepPanel& panel) const {
  llvm::IRBuilder<>& ir = build_.ir();
  return ir.CreateGEP(ir.getInt16Ty(), buffer(host_.shape.keep),
                      ir.CreateMul(panel.low, build_.i64(host_.shape.panel_vecs)));
}

llvm::Value* TileStep::q_row(const StepRows& rows, const StepPanel& panel) const {
  return build_.ir().CreateAdd(rows.first_q, narrow(panel.row));
}

llvm::Value* TileStep::kv_row(const StepPanel& panel) const {
  return build_.ir().CreateAdd(place_.first_kv, narrow(panel.low));
}

void TileStep::drop(const StepRows& rows, const StepPanel& panel) const {
  if (parts_.dropout == nullptr) return;
  build_.if_then(drops_, [&] {
    call<DropoutArgs>(build_.ir(), parts_.dropout,
                      {.params = place_.params,
                       .probabilities = panel.s,
                       .b = place_.b,
                       .h = place_.h,
                       .first_q = q_row(rows, panel),
                       .first_kv = kv_row(panel),
                       .rows = narrow(panel.kept)});
  });
}

void TileStep::attend(const StepRows& rows, const StepPanel& panel, bool masked) const {
  if (host_.shape.softmax_rows == host_.shape.tile_kv) return attend_at_once(rows, panel, masked);
  llvm::IRBuilder<>& ir = build_.ir();
  llvm::Value* most = build_.i64(host_.shape.softmax_rows);
  build_.loop(build_.i64(0), panel.kept, most, [&](llvm::Value* first) {
    StepPanel some = panel;
    some.low = ir.CreateAdd(panel.low, first);
    some.kept = build_.min_i64(ir.CreateSub(panel.kept, first), most);
    attend_at_once(rows, some, masked);
  });
}

void TileStep::attend_at_once(const StepRows& rows, const StepPanel& panel, bool masked) const {
  parts_.products->scores(build_, panel);
  call<SoftmaxArgs>(
      build_.ir(), parts_.softmax[masked],
      {.params = place_.params,
       .scores = panel.s,
       .keep = keep(panel),
       .row_max = build_.float_at(rows.row_max, panel.row),
       .row_sum = build_.float_at(rows.row_sum, panel.row),
       .rescale = buffer(host_.shape.rescale),
       .o = build_.float_at(rows.o, build_.ir().CreateMul(panel.row, build_.i64(host_.shape.o_columns))),
       .b = place_.b,
       .h = place_.h,
       .first_q = q_row(rows, panel),
       .first_kv = kv_row(panel),
       .rows = narrow(panel.kept)});
  drop(rows, panel);
  StepPanel weighed = panel;
  weighed.paired = pairs_probabilities(host_);
  parts_.products->output(build_, weighed);
}

}  // namespace fa
