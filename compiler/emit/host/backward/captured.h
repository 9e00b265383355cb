// The gradients of what hooks capture: each adjoint's value, times the gradient by the logit, is added in
// double to the element that the adjoint says. Included by .cpp files after compiler/ir/llvm.h.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "compiler/emit/host/backward/parts.h"
#include "compiler/emit/host/vector/widen.h"

namespace fa {

/// The number of an adjoint's gradient (kMaxGradients).
int gradient_number(const Adjoint& adjoint);

/// The adjoints of one hook in the body of one function, which runs down the kv rows of a panel. What goes to
/// an element of the query row, of the distance, or to one of all rows, is added up in vectors until the loop
/// ends; the rest goes to memory at once.
class CapturedSums {
 public:
  /// At the function's entry. `item`: a HostBackwardItem. `first_q`: the panel's first row.
  CapturedSums(const BackwardModule& backward, HostBuilder& build, const std::vector<Adjoint>& adjoints,
               llvm::Value* params, llvm::Value* item, llvm::Value* first_q);

  /// Before the loop, over `rows` (i64) kv rows from `first_kv` on. Returns the values that it carries.
  HostBuilder::Values start(llvm::Value* first_kv, llvm::Value* rows);
  /// In the loop: gives on the panel's gradients by the logits, a vector each. Returns the next of `sums`.
  HostBuilder::Values add(HookInliner& hooks, const Wide& score, llvm::Value* kv_idx,
                          const HostBuilder::Values& d_logits, const HostBuilder::Values& sums);
  /// After the loop.
  void finish(HookInliner& hooks, llvm::Value* params, llvm::Value* b, llvm::Value* h,
              const HostBuilder::Values& sums);
  /// When the function is complete: puts calls of derived functions in place.
  void inline_calls();
  /// For the sink, which all rows share: gives on the scalar `d_logit`.
  void add_scalar(HookInliner& hooks, llvm::Value* d_logit);

 private:
  /// Sums of a panel on the way to memory: [iterations][panel], [kv rows][panel], or by distance.
  struct Buffer {
    llvm::Value* data = nullptr;
    int floats = 0;
  };
  void keep_by_key(const Buffer& buffer, llvm::Value* kv_idx, const HostBuilder::Values& values);
  void finish_keys(HookInliner& hooks, const Adjoint& adjoint, const Buffer& buffer);
  /// Whether the launch has the gradient stored where it belongs (HostBackwardItem::stored).
  llvm::Value* is_stored(const Adjoint& adjoint);
  void add_by_distance(const Buffer& buffer, llvm::Value* kv_idx, const HostBuilder::Values& values);
  void add_to_panel(llvm::Value* panel, const HostBuilder::Values& values);
  /// The panel's floats of an iteration.
  llvm::Value* panel_of(const Adjoint& adjoint, const Buffer& buffer, const HostBuilder::Values& loops);
  void finish_distances(HookInliner& hooks, const Adjoint& adjoint, const Buffer& buffer, llvm::Value* params,
                        llvm::Value* b, llvm::Value* h);
  Wide value_of(HookInliner& hooks, const Derived& derived, const Wide& score, llvm::Value* kv_idx,
                const HostBuilder::Values& loops);
  Wide element_of(HookInliner& hooks, const Adjoint& adjoint, llvm::Value* kv_idx,
                  const HostBuilder::Values& loops);
  llvm::Value* extent(HookInliner& hooks, const Adjoint& adjoint, std::size_t dimension);
  /// Runs `body` for each iteration of the reductions around the adjoint's read.
  void iterate(HookInliner& hooks, const Adjoint& adjoint, HostBuilder::Values& loops,
               const std::function<void()>& body);
  HostBuilder::Values products(HookInliner& hooks, const Wide& value, const HostBuilder::Values& d_logits);
  void add_to(const Adjoint& adjoint, const Wide& element, const HostBuilder::Values& values);
  void add_one(const Adjoint& adjoint, llvm::Value* element, llvm::Value* value);
  llvm::Value* total(const HostBuilder::Values& values);
  llvm::Value* sums_of(const Adjoint& adjoint);

  const BackwardModule& backward_;
  HostBuilder& build_;
  const std::vector<Adjoint>& adjoints_;
  llvm::Value *item_, *first_q_;
  llvm::Value* q_rows_ = nullptr;  // of the panel that there are
  llvm::Value *first_kv_ = nullptr, *kv_rows_ = nullptr;
  llvm::Value *elements_ = nullptr, *values_ = nullptr;  // a panel's, on the way to memory
  std::map<int, llvm::Value*> sums_;                     // by the gradient's number
  std::map<const Adjoint*, Buffer> buffers_;             // of those that have room
  std::vector<llvm::CallInst*> calls_;                   // to be put in place
};

}  // namespace fa
