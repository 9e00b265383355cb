// The two matrix products of a step, and what each way of multiplying needs around them. host.cpp knows
// nothing but this: vectors of floats (products.cpp), vectors of pairs (pair_products.cpp) and tiles of AMX
// (amx_products.cpp) differ in how Q, K, V and O lie in the workspace.
#pragma once

#include <memory>

#include "compiler/emit/host/builder.h"

namespace fa {

/// A head's first byte and its row stride, in elements.
struct HeadView {
  llvm::Value* data;
  llvm::Value* row_stride;
};

/// The kv tile of a step.
struct StepTile {
  llvm::Value* workspace;
  HeadView k, v;          // of the whole head, as the caller's tensors lie
  llvm::Value* first_kv;  // i64
  llvm::Value* rows;      // i64: kv rows of the tile that there are
};

/// A panel's share of it.
struct StepPanel {
  bool masked;
  llvm::Value* row;         // i64: the panel's first row in the q tile
  llvm::Value *low, *kept;  // i64: kv rows low..low + kept of the tile
  llvm::Value *spans, *s;   // as the masks and the softmax know them
  llvm::Value* o;           // the q tile's sums of O, of all its panels
  bool paired = false;      // s has pairs of probabilities
};

/// Tiles that the mask keeps all of, and others: what a launch may find.
struct TileKinds {
  bool full, partial;
};

class HostProducts {
 public:
  virtual ~HostProducts() = default;
  /// Packs the q tile's rows, of which there are `rows` (i64), `row_bytes` (i64) apart from `q` on.
  virtual void begin(HostBuilder&, llvm::Value* workspace, llvm::Value* q, llvm::Value* row_bytes,
                     llvm::Value* rows) = 0;
  virtual void begin_step(HostBuilder&, const StepTile&) = 0;
  /// Brings the tile's rows of K and V to where the products read them, if they are to be brought.
  virtual bool loads() const = 0;
  virtual void load_k(HostBuilder&) {}
  virtual void load_v(HostBuilder&) {}
  void load(HostBuilder& build) {
    load_k(build);
    load_v(build);
  }
  /// The kv rows that a panel sees begin at a multiple of this.
  virtual int granule() const { return 1; }
  /// S^T = K Q^T, and O = rescale O + P^T V; by tiles O += P^T V.
  virtual void scores(HostBuilder&, const StepPanel&) = 0;
  virtual void output(HostBuilder&, const StepPanel&) = 0;
  virtual void end_step(HostBuilder&) {}
  /// O as [panels][panel][dv_padded]: where it is, or brought to shape.o_rows.
  virtual llvm::Value* finish(HostBuilder&, llvm::Value* /*workspace*/, llvm::Value* o) { return o; }
};

/// The products as this shape has them; adds the functions they call to the module.
std::unique_ptr<HostProducts> host_products(const HostModule& host, TileKinds tiles);
std::unique_ptr<HostProducts> pair_products(const HostModule& host, TileKinds tiles);
std::unique_ptr<HostProducts> amx_products(const HostModule& host);

/// The address of row `first_kv` (i64) of a head. Each of its numbers has `bytes` bytes.
llvm::Value* first_row(HostBuilder& build, const HeadView& head, llvm::Value* first_kv, int bytes);

}  // namespace fa
