// The products by vectors of floats: K and V are read where they lie, or copied into the workspace first
// where they are no floats or no whole vectors.
#include "compiler/emit/host/products/products.h"

#include "compiler/emit/host/parts.h"
#include "compiler/emit/host/products/micro_kernels.h"

namespace fa {
namespace {

class FloatProducts : public HostProducts {
 public:
  FloatProducts(const HostModule& host, TileKinds tiles)
      : host_(host),
        shape_(host.shape),
        kernels_(host, tiles),
        pack_q_(emit_pack(host, "pack_q", host.spec.dtype, host.shape.head_dim)) {
    if (shape_.copy_k) copy_k_ = emit_copy(host, "copy_k", shape_.head_dim, shape_.head_dim);
    if (shape_.copy_v) copy_v_ = emit_copy(host, "copy_v", shape_.head_dim_v, shape_.dv_padded);
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

  void load_k(HostBuilder& build) override { copy(build, copy_k_, tile_.k, k_); }
  void load_v(HostBuilder& build) override { copy(build, copy_v_, tile_.v, v_); }

  void scores(HostBuilder& build, const StepPanel& panel) override {
    kernels_.scores(build, panel, build.at(tile_.workspace, shape_.q), k_.data,
                    build.ir().CreateMul(k_.row_stride, build.i64(4)));
  }

  void output(HostBuilder& build, const StepPanel& panel) override {
    kernels_.output(build, panel, panel.s, v_, tile_.workspace);
  }

 private:
  int bytes() const { return dtype_bytes(host_.spec.dtype); }

  /// The tile's rows: where they lie, or their copy.
  HeadView here(HostBuilder& build, const HeadView& head, llvm::Function* copied, std::size_t offset,
                int padded) const {
    if (copied) return {.data = build.at(tile_.workspace, offset), .row_stride = build.i64(padded)};
    return {.data = first_row(build, head, tile_.first_kv, bytes()), .row_stride = head.row_stride};
  }

  void copy(HostBuilder& build, llvm::Function* function, const HeadView& head, const HeadView& to) const {
    if (!function) return;
    llvm::Value* row_bytes = build.ir().CreateMul(head.row_stride, build.i64(bytes()));
    build.ir().CreateCall(function,
                          {first_row(build, head, tile_.first_kv, bytes()), row_bytes, tile_.rows, to.data});
  }

  const HostModule& host_;
  const HostShape& shape_;
  MicroKernels kernels_;
  llvm::Function *pack_q_, *copy_k_ = nullptr, *copy_v_ = nullptr;
  StepTile tile_{};
  HeadView k_{}, v_{};
};

}  // namespace

llvm::Value* first_row(HostBuilder& build, const HeadView& head, llvm::Value* first_kv, int bytes) {
  llvm::IRBuilder<>& ir = build.ir();
  llvm::Value* skipped = ir.CreateMul(first_kv, head.row_stride);
  return build.at(head.data, ir.CreateMul(skipped, build.i64(bytes)));
}

std::unique_ptr<HostProducts> host_products(const HostModule& host, TileKinds tiles) {
  switch (host.shape.product) {
    case HostProduct::tiles:
      return amx_products(host);
    case HostProduct::pairs:
      return pair_products(host, tiles);
    case HostProduct::floats:
      break;
  }
  return std::make_unique<FloatProducts>(host, tiles);
}

}  // namespace fa
