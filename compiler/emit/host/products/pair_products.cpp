// Products in bf16 by an instruction that multiplies pairs: a 32-bit word holds two numbers. Two neighbours in a
// row of Q or K are such a word already, so K is read in place and Q is packed like floats. V is paired once a
// tile, P once a panel.
#include "compiler/emit/host/parts.h"
#include "compiler/emit/host/products/micro_kernels.h"
#include "compiler/emit/host/products/pairs.h"
#include "compiler/emit/host/products/products.h"

namespace fa {
namespace {

class PairProducts : public HostProducts {
 public:
  PairProducts(const HostModule& host, TileKinds tiles)
      : shape_(host.shape),
        kernels_(host, tiles),
        pack_q_(emit_pack(host, "pack_q", DType::f32, host.shape.q_words)),
        pack_p_(emit_pack_p(host)),
        pair_v_(emit_pair_rows(host, "pair_v")) {}

  void begin(HostBuilder& build, llvm::Value* workspace, llvm::Value* q, llvm::Value* row_bytes,
             llvm::Value* rows) override {
    build.ir().CreateCall(pack_q_, {q, row_bytes, rows, build.at(workspace, shape_.q)});
  }

  void begin_step(HostBuilder&, const StepTile& tile) override { tile_ = tile; }

  bool loads() const override { return true; }

  void load_v(HostBuilder& build) override {
    build.ir().CreateCall(pair_v_, {first_row(build, tile_.v, tile_.first_kv, kBytes),
                                    row_bytes(build, tile_.v), tile_.rows, buffer(build, shape_.v)});
  }

  int granule() const override { return 2; }

  void scores(HostBuilder& build, const StepPanel& panel) override {
    kernels_.scores(build, panel, buffer(build, shape_.q), first_row(build, tile_.k, tile_.first_kv, kBytes),
                    row_bytes(build, tile_.k));
  }

  void output(HostBuilder& build, const StepPanel& panel) override {
    llvm::IRBuilder<>& ir = build.ir();
    llvm::Value* p = panel.s;
    if (!panel.paired) {
      llvm::Value* even = ir.CreateAnd(ir.CreateAdd(panel.kept, build.i64(1)), build.i64(-2));
      zero_rows(build, shape_, panel.s, panel.kept, even);
      p = buffer(build, shape_.p_pairs);
      ir.CreateCall(pack_p_, {panel.s, even, p});
    }
    kernels_.output(build, panel, p,
                    {.data = buffer(build, shape_.v), .row_stride = build.i64(shape_.dv_padded)},
                    tile_.workspace);
  }

 private:
  static constexpr int kBytes = 2;  // of a number

  llvm::Value* buffer(HostBuilder& build, std::size_t offset) const {
    return build.at(tile_.workspace, offset);
  }
  llvm::Value* row_bytes(HostBuilder& build, const HeadView& head) const {
    return build.ir().CreateMul(head.row_stride, build.i64(kBytes));
  }

  const HostShape& shape_;
  MicroKernels kernels_;
  llvm::Function *pack_q_, *pack_p_, *pair_v_;
  StepTile tile_{};
};

}  // namespace

std::unique_ptr<HostProducts> pair_products(const HostModule& host, TileKinds tiles) {
  return std::make_unique<PairProducts>(host, tiles);
}

}  // namespace fa
