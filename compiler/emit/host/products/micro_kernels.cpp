#include "compiler/emit/host/products/micro_kernels.h"

#include "compiler/emit/host/parts.h"
#include "compiler/spec/rounding.h"

namespace fa {

MicroKernels::MicroKernels(const HostModule& host, TileKinds tiles) : shape_(host.shape) {
  for (const bool masked : {false, true}) {
    if (!(masked ? tiles.partial : tiles.full)) continue;
    Functions& functions = functions_[masked];
    functions.qk = emit_qk(host, masked ? "qk_masked" : "qk", shape_.q_words, masked);
    for (const int vecs : calls())
      if (!functions.pv.contains(vecs)) functions.pv[vecs] = emit_pv(host, vecs, masked);
  }
}

void MicroKernels::scores(HostBuilder& build, const StepPanel& panel, llvm::Value* q, llvm::Value* k,
                          llvm::Value* k_row_bytes) const {
  llvm::IRBuilder<>& ir = build.ir();
  call<ScoresArgs>(ir, functions_[panel.masked].qk,
                   {.q = build.float_at(q, ir.CreateMul(panel.row, build.i64(shape_.q_words))),
                    .k = build.at(k, ir.CreateMul(panel.low, k_row_bytes)),
                    .stride = k_row_bytes,
                    .rows = panel.kept,
                    .scores = panel.s,
                    .spans = panel.spans,
                    .low = panel.low});
}

void MicroKernels::output(HostBuilder& build, const StepPanel& panel, llvm::Value* p, HeadView v,
                          llvm::Value* workspace) const {
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value* o = build.float_at(panel.o, ir.CreateMul(panel.row, build.i64(shape_.dv_padded)));
  llvm::Value *low = panel.low, *words = panel.kept;
  if (shape_.numbers == 2) {
    low = ir.CreateLShr(low, 1);
    words = ir.CreateLShr(ir.CreateAdd(words, build.i64(1)), 1);
  }
  llvm::Value* first = build.float_at(v.data, ir.CreateMul(low, v.row_stride));
  int column = 0;
  for (const int vecs : calls()) {
    call<OutputArgs>(ir, functions_[panel.masked].pv.at(vecs),
                     {.probabilities = p,
                      .v = build.float_at(first, build.i64(column)),
                      .stride = v.row_stride,
                      .rows = words,
                      .o = build.float_at(o, build.i64(column)),
                      .rescale = build.at(workspace, shape_.rescale),
                      .spans = panel.spans,
                      .low = panel.low});
    column += vecs * shape_.lanes;
  }
}

/// How head_dim_v's vectors are shared out among the second product's calls: as evenly as its register block
/// allows.
std::vector<int> MicroKernels::calls() const {
  const int count = ceil_div(shape_.dv_vecs, shape_.pv_vecs);
  std::vector<int> widths;
  for (int i = 0; i < count; ++i)
    widths.push_back(shape_.dv_vecs / count + (i < shape_.dv_vecs % count ? 1 : 0));
  return widths;
}

}  // namespace fa
