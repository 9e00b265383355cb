// The two products by vectors, as calls of their micro-kernels (gemm.cpp). Products of floats and of pairs share
// them: what a word holds is the shape's.
#pragma once

#include <map>

#include "compiler/emit/host/products/products.h"

namespace fa {

class MicroKernels {
 public:
  /// Adds the functions to the module.
  MicroKernels(const HostModule& host, TileKinds tiles);

  /// S^T = K Q^T of a panel. `q`: the q tile's packed words. `k`: the kv tile's first row; `k_row_bytes`: i64.
  void scores(HostBuilder& build, const StepPanel& panel, llvm::Value* q, llvm::Value* k,
              llvm::Value* k_row_bytes) const;
  /// O = rescale O + P^T V. `p`: the panel's probabilities, of `panel.kept` kv rows, as words. `v`: the kv tile's
  /// first row of words, its row_stride in words.
  void output(HostBuilder& build, const StepPanel& panel, llvm::Value* p, HeadView v,
              llvm::Value* workspace) const;

 private:
  struct Functions {
    llvm::Function* qk = nullptr;
    std::map<int, llvm::Function*> pv{};  // by vectors of head_dim_v
  };

  std::vector<int> calls() const;

  const HostShape& shape_;
  Functions functions_[2];  // of full and of partial tiles
};

}  // namespace fa
