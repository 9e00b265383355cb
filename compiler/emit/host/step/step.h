// One kv tile against panels of query rows, as every schedule of the host has it: the fused kernel's (host.cpp) and
// the baselines' (baseline/). A schedule decides which tiles meet in which order, and where O and each row's maximum
// and sum are in between. Included by .cpp files after compiler/ir/llvm.h.
#pragma once

#include "compiler/emit/host/parts.h"
#include "compiler/emit/host/products/products.h"

namespace fa {

/// The functions that a step calls.
struct StepParts {
  std::unique_ptr<HostProducts> products;
  llvm::Function *mask = nullptr, *dropout = nullptr;
  llvm::Function* softmax[2] = {};  // [masked]
};

/// A kv tile of a head: addresses and i32.
struct StepPlace {
  llvm::Value *params, *workspace, *b, *h, *first_kv;
};

/// A tile of query rows: the first, i32, and where what is kept of all of them begins.
struct StepRows {
  llvm::Value *first_q, *o, *row_max, *row_sum;
};

StepRows rows_in_workspace(HostBuilder& build, const HostShape& shape, llvm::Value* workspace,
                           llvm::Value* first_q);

/// The rows of the tile that there are, i64.
llvm::Value* count_rows(const HostModule& host, HostBuilder& build, llvm::Value* params,
                        llvm::Value* first_q);
/// Packs the rows of Q from `first_q` on.
void pack_rows(const HostModule& host, HostBuilder& build, HostProducts& products, const StepPlace& place,
               llvm::Value* first_q);
/// Calls `finish` (emit_finish) on the rows of the tile that there are. `place` needs no kv tile.
void finish_rows(const HostModule& host, HostBuilder& build, llvm::Function* finish, HostProducts& products,
                 const StepPlace& place, const StepRows& rows);
/// Calls body(first row in the tile, i32) for each panel of query rows that there is.
void each_panel(const HostModule& host, HostBuilder& build, llvm::Value* params, llvm::Value* first_q,
                const std::function<void(llvm::Value*)>& body);

class TileStep {
 public:
  TileStep(const HostModule& host, const StepParts& parts, HostBuilder& build, const StepPlace& place);

  /// Begins and ends the products' step. K and V are not brought yet.
  void begin() const;
  void end() const { parts_.products->end_step(build_); }

  /// The panel from `row` (i32) of the tile of query rows on, against all kv rows of the tile, all of which products take.
  StepPanel whole(const StepRows& rows, llvm::Value* row) const;
  /// Evaluates the mask over the panel, and returns what emit_mask does.
  llvm::Value* mask(const StepRows& rows, llvm::Value* row) const;
  /// Scores, the online softmax, dropout and O.
  void attend(const StepRows& rows, const StepPanel& panel, bool masked) const;
  /// Drops some of the panel's probabilities, where the call asks for it.
  void drop(const StepRows& rows, const StepPanel& panel) const;

  // What the functions of a softmax are called with.
  llvm::Value* buffer(std::size_t offset) const { return build_.at(place_.workspace, offset); }
  llvm::Value* keep(const StepPanel& panel) const;
  llvm::Value* q_row(const StepRows& rows, const StepPanel& panel) const;
  llvm::Value* kv_row(const StepPanel& panel) const;
  llvm::Value* narrow(llvm::Value* number) const { return build_.ir().CreateTrunc(number, build_.i32()); }

 private:
  /// With one softmax over all of the panel's kv rows.
  void attend_at_once(const StepRows& rows, const StepPanel& panel, bool masked) const;

  const HostModule& host_;
  const StepParts& parts_;
  HostBuilder& build_;
  StepPlace place_;
  StepTile tile_{};
  llvm::Value *rows_ = nullptr, *drops_ = nullptr;  // i32: kv rows of the tile that there are
};

}  // namespace fa
