// The products by AMX: Q is packed when its tile begins, K and V when theirs does, P a panel at a time.
#include "compiler/emit/host/products/amx.h"
#include "compiler/emit/host/products/pairs.h"
#include "compiler/emit/host/products/products.h"

namespace fa {
namespace {

constexpr int kGranule = 32;  // kv rows that one product of tile registers takes

class AmxProducts : public HostProducts {
 public:
  explicit AmxProducts(const HostModule& host)
      : shape_(host.shape),
        pack_q_(emit_amx_pack_q(host)),
        pack_p_(emit_pack_p(host)),
        pack_k_(emit_pack_k(host)),
        pack_v_(emit_pack_v(host)),
        qk_(emit_amx_qk(host)),
        pv_(emit_amx_pv(host)),
        unpack_o_(emit_unpack_o(host)) {}

  void begin(HostBuilder& build, llvm::Value* workspace, llvm::Value* q, llvm::Value* row_bytes,
             llvm::Value* rows) override {
    build.ir().CreateCall(pack_q_, {q, row_bytes, rows, build.at(workspace, shape_.q_pairs)});
  }

  void begin_step(HostBuilder& build, const StepTile& tile) override {
    tile_ = tile;
    configure_tiles(build);
  }

  bool loads() const override { return true; }

  void load_k(HostBuilder& build) override { pack(build, pack_k_, tile_.k, {buffer(build, shape_.k_tiles)}); }
  void load_v(HostBuilder& build) override {
    pack(build, pack_v_, tile_.v, {buffer(build, shape_.v_tiles), buffer(build, shape_.v_pairs)});
  }

  int granule() const override { return kGranule; }

  void scores(HostBuilder& build, const StepPanel& panel) override {
    llvm::IRBuilder<>& ir = build.ir();
    llvm::Value* q =
        build.at(buffer(build, shape_.q_pairs), ir.CreateMul(panel.row, build.i64(shape_.q_rows * 2)));
    llvm::Value* k =
        build.at(buffer(build, shape_.k_tiles), ir.CreateMul(panel.low, build.i64(shape_.q_rows * 2)));
    ir.CreateCall(qk_, {q, k, panel.kept, panel.s});
  }

  void output(HostBuilder& build, const StepPanel& panel) override {
    llvm::IRBuilder<>& ir = build.ir();
    // No probability for rows past the kept ones, up to the end of the last tile.
    llvm::Value* end = ir.CreateAnd(ir.CreateAdd(panel.kept, build.i64(kGranule - 1)), build.i64(-kGranule));
    llvm::Value* p = panel.s;
    if (panel.paired) {
      llvm::Value* pairs = ir.CreateLShr(ir.CreateAdd(panel.kept, build.i64(1)), 1);
      zero_rows(build, shape_, p, pairs, ir.CreateLShr(end, 1));
    } else {
      zero_rows(build, shape_, panel.s, panel.kept, end);
      p = buffer(build, shape_.p_pairs);
      ir.CreateCall(pack_p_, {panel.s, end, p});
    }
    llvm::Value* v =
        build.at(buffer(build, shape_.v_tiles), ir.CreateMul(panel.low, build.i64(shape_.o_columns * 2)));
    llvm::Value* o = build.float_at(panel.o, ir.CreateMul(panel.row, build.i64(shape_.o_columns)));
    ir.CreateCall(pv_, {p, v, panel.kept, o});
  }

  void end_step(HostBuilder& build) override { release_tiles(build); }

  llvm::Value* finish(HostBuilder& build, llvm::Value* workspace, llvm::Value* o) override {
    llvm::Value* rows = build.at(workspace, shape_.o_rows);
    build.ir().CreateCall(unpack_o_, {o, rows});
    return rows;
  }

 private:
  void pack(HostBuilder& build, llvm::Function* function, const HeadView& head,
            const std::vector<llvm::Value*>& to) const {
    llvm::IRBuilder<>& ir = build.ir();
    llvm::Value* row_bytes = ir.CreateMul(head.row_stride, build.i64(2));
    llvm::Value* first = build.at(head.data, ir.CreateMul(tile_.first_kv, row_bytes));
    std::vector<llvm::Value*> operands = {first, row_bytes, tile_.rows};
    operands.insert(operands.end(), to.begin(), to.end());
    ir.CreateCall(function, operands);
  }

  llvm::Value* buffer(HostBuilder& build, std::size_t offset) const {
    return build.at(tile_.workspace, offset);
  }

  const HostShape& shape_;
  llvm::Function *pack_q_, *pack_p_, *pack_k_, *pack_v_, *qk_, *pv_, *unpack_o_;
  StepTile tile_{};
};

}  // namespace

std::unique_ptr<HostProducts> amx_products(const HostModule& host) {
  return std::make_unique<AmxProducts>(host);
}

}  // namespace fa
