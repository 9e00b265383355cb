// The functions that the host's backward kernel is made of, one emitter each. backward.cpp puts them
// together. Included by .cpp files after compiler/ir/llvm.h.
#pragma once

#include "compiler/derive/derive.h"
#include "compiler/emit/host/backward/shape.h"
#include "compiler/emit/host/builder.h"
#include "compiler/ir/lower/part.h"

namespace fa {

/// What the pieces share while they emit.
struct BackwardModule {
  const HostModule& host;
  const Derivatives& derivatives;
  PartLowering& lowering;  // of extents and ranges, which the derivatives leave as expressions
  BackwardShape shape;
};

template <class T>
struct BackwardEntryArgs {
  T params, workspace, item, b, h, first_q;
};

template <class T>
struct BackwardStepArgs {
  T params, workspace, item, b, h, first_q, first_kv, full;
};

template <class T>
struct BackwardStoreArgs {
  T params, d_k, d_v, count, b, kv_h, first_kv, rows;
};

/// From S^T and dP^T of a panel and `rows` kv rows to what multiplies dO and Q, in place.
template <class T>
struct ElementsArgs {
  T params, item, scores, d_probs, kept_scale, keep, shift, shift_rest, d_sum, b, h, first_q, first_kv, rows;
};

/// C += A B: `rows` rows of C, summed over `depth` rows of B, which are `stride` floats apart.
template <class T>
struct AccumulateArgs {
  T a, b, stride, c, rows, depth;
};

/// How A lies in memory, in floats from row to row of the result and from step to step of the sum.
struct AccumulatedLeft {
  int row, depth;
};

/// `vecs` vectors of each row of C, whose rows are `c_stride` floats apart.
llvm::Function* emit_accumulate(const BackwardModule& backward, const char* name, AccumulatedLeft left,
                                int vecs, int c_stride);

/// With BackwardEntryArgs: fills shift, shift_rest and d_sum for the tile's rows from o, lse, dlse and the dO rows in the
/// workspace, and adds up the gradients of what the sink captures.
llvm::Function* emit_row_sums(const BackwardModule& backward);

/// With ElementsArgs. `masked`: of the lanes in `keep` only, which is not read otherwise.
llvm::Function* emit_elements(const BackwardModule& backward, bool masked);

/// The entries that store: dQ of a tile of query rows, and dK and dV of some kv rows.
void emit_backward_finish(const BackwardModule& backward);
void emit_backward_store(const BackwardModule& backward);

}  // namespace fa
