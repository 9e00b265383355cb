// The products by vectors of floats: K and V are read where they lie, or copied into the workspace first
// where they are no floats or no whole vectors.
#include "compiler/emit/host/products/products.h"

#include <map>

#include "compiler/emit/host/parts.h"

namespace fa {
namespace {

class VectorProducts : public HostProducts {
 public:
  VectorProducts(const HostModule& host, TileKinds tiles)
      : host_(host), shape_(host.shape), pack_q_(emit_pack(host, "pack_q", host.shape.head_dim)) {
    if (shape_.copy_k) copy_k_ = emit_copy(host, "copy_k", shape_.head_dim, shape_.head_dim);
    if (shape_.copy_v) copy_v_ = emit_copy(host, "copy_v", shape_.head_dim_v, shape_.dv_padded);
    for (const bool masked : {false, true}) {
      if (!(masked ? tiles.partial : tiles.full)) continue;
      Functions& functions = functions_[masked];
      functions.qk = emit_qk(host, masked ? "qk_masked" : "qk", shape_.head_dim, masked);
      for (const int vecs : calls())
        if (!functions.pv.contains(vecs)) functions.pv[vecs] = emit_pv(host, vecs, masked);
    }
  }

  void begin(HostBuilder& build, llvm::Value* workspace, llvm::Value* q, llvm::Value* row_bytes,
             llvm::Value* rows) override {
    build.ir().CreateCall(pack_q_, {q, row_bytes, rows, build.at(workspace, shape_.q)});
  }

  void begin_step(HostBuilder& build, const StepTile& tile) override {
    tile_ = tile;
    k_ = here(build, tile.k, copy_k_, shape_.k, shape_.head_dim);
    v_ = here(build, tile.v, copy_v_, shape_.v, shape_.dv_padded);
  }

  bool loads() const override { return copy_k_ || copy_v_; }

  void load(HostBuilder& build) override {
    copy(build, copy_k_, tile_.k, k_);
    copy(build, copy_v_, tile_.v, v_);
  }

  void scores(HostBuilder& build, const StepPanel& panel) override {
    llvm::IRBuilder<>& ir = build.ir();
    llvm::Value* q = build.float_at(build.at(tile_.workspace, shape_.q),
                                    ir.CreateMul(panel.row, build.i64(shape_.head_dim)));
    llvm::Value* k = build.float_at(k_.data, ir.CreateMul(panel.low, k_.row_stride));
    call<ScoresArgs>(ir, functions_[panel.masked].qk,
                     {.q = q,
                      .k = k,
                      .stride = k_.row_stride,
                      .rows = panel.kept,
                      .scores = panel.s,
                      .spans = panel.spans,
                      .low = panel.low});
  }

  void output(HostBuilder& build, const StepPanel& panel) override {
    llvm::IRBuilder<>& ir = build.ir();
    llvm::Value* o = build.float_at(build.at(tile_.workspace, shape_.o),
                                    ir.CreateMul(panel.row, build.i64(shape_.dv_padded)));
    llvm::Value* v = build.float_at(v_.data, ir.CreateMul(panel.low, v_.row_stride));
    int column = 0;
    for (const int vecs : calls()) {
      call<OutputArgs>(ir, functions_[panel.masked].pv.at(vecs),
                       {.probabilities = panel.s,
                        .v = build.float_at(v, build.i64(column)),
                        .stride = v_.row_stride,
                        .rows = panel.kept,
                        .o = build.float_at(o, build.i64(column)),
                        .rescale = build.at(tile_.workspace, shape_.rescale),
                        .spans = panel.spans,
                        .low = panel.low});
      column += vecs * shape_.lanes;
    }
  }

 private:
  struct Functions {
    llvm::Function* qk = nullptr;
    std::map<int, llvm::Function*> pv{};  // by vectors of head_dim_v
  };

  /// How head_dim_v's vectors are shared out among the second product's calls: as evenly as its register
  /// block allows.
  std::vector<int> calls() const {
    const int count = (shape_.dv_vecs + shape_.pv_vecs - 1) / shape_.pv_vecs;
    std::vector<int> widths;
    for (int i = 0; i < count; ++i)
      widths.push_back(shape_.dv_vecs / count + (i < shape_.dv_vecs % count ? 1 : 0));
    return widths;
  }

  int bytes() const { return dtype_bytes(host_.spec.dtype); }

  /// The first byte of the tile's rows in the caller's tensor.
  llvm::Value* in_tensor(HostBuilder& build, const HeadView& head) const {
    llvm::IRBuilder<>& ir = build.ir();
    llvm::Value* skipped = ir.CreateMul(tile_.first_kv, head.row_stride);
    return build.at(head.data, ir.CreateMul(skipped, build.i64(bytes())));
  }

  /// The tile's rows: where they lie, or their copy.
  HeadView here(HostBuilder& build, const HeadView& head, llvm::Function* copied, std::size_t offset,
                int padded) const {
    if (copied) return {.data = build.at(tile_.workspace, offset), .row_stride = build.i64(padded)};
    return {.data = in_tensor(build, head), .row_stride = head.row_stride};
  }

  void copy(HostBuilder& build, llvm::Function* function, const HeadView& head, const HeadView& to) const {
    if (!function) return;
    llvm::Value* row_bytes = build.ir().CreateMul(head.row_stride, build.i64(bytes()));
    build.ir().CreateCall(function, {in_tensor(build, head), row_bytes, tile_.rows, to.data});
  }

  const HostModule& host_;
  const HostShape& shape_;
  llvm::Function *pack_q_, *copy_k_ = nullptr, *copy_v_ = nullptr;
  Functions functions_[2];  // of full and of partial tiles
  StepTile tile_{};
  HeadView k_{}, v_{};
};

}  // namespace

std::unique_ptr<HostProducts> host_products(const HostModule& host, TileKinds tiles) {
  if (host.shape.amx) return amx_products(host);
  return std::make_unique<VectorProducts>(host, tiles);
}

}  // namespace fa
