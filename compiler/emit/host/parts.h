// The functions the host kernel is made of, one emitter each. host.cpp puts them together.
#pragma once

#include "compiler/analysis/tiles/tile_class.h"
#include "compiler/emit/host/builder.h"

namespace fa {

class HookInliner;

/// void(o, row_max, row_sum, float, float): a q tile begins, with an output of 0 and that maximum and sum in each row.
llvm::Function* emit_reset(const HostModule& host);
/// void(first row, i64 stride in bytes, i64 rows, to): packs the transpose of a tile's rows, such as Q^T, as
/// floats; rows past the end repeat the last one. `width`: numbers in a row, of type `dtype`. Words of pairs
/// pass as f32: they are moved and not converted.
llvm::Function* emit_pack(const HostModule& host, const char* name, DType dtype, int width);
/// void(from, i64 stride in bytes, i64 rows, to): rows of K or V as floats, `width` of them padded to
/// `padded` by zeros.
llvm::Function* emit_copy(const HostModule& host, const char* name, int width, int padded);
/// void(q panel, k, i64 k stride in bytes, i64 rows, s, spans, i64 low): S^T = K Q^T of `rows` kv rows
/// from row `low` of the tile on; `depth`: words in a row of either. Writes up to qk_rows - 1 rows past
/// the last. `masked`: only what `spans` says is kept, and little more; neither it nor `low` is read
/// otherwise.
llvm::Function* emit_qk(const HostModule& host, const char* name, int depth, bool masked);
/// void(p, v, i64 v stride in words, i64 rows of words, o, rescale, spans, i64 low): O = rescale * O + P^T V
/// for `vecs` vectors of a row. `masked` as above.
llvm::Function* emit_pv(const HostModule& host, int vecs, bool masked);

/// i64(params, keep, i32 b, i32 h, i32 first q, i32 first kv, i32 rows, spans): evaluates mask_mod over a
/// panel x rows, writes the kept lanes and for each vector the span of kv rows that it keeps something of,
/// and returns that of all: first | end << 32, or 0 where nothing is kept.
llvm::Function* emit_mask(const HostModule& host);
/// With SoftmaxArgs: from scores to probabilities in place, by the online softmax in base 2; as pairs where
/// pairs_probabilities. `masked`: of the lanes in `keep` only, which is not read otherwise. With tiles it multiplies the sums
/// at `o` where a maximum rises by much; otherwise it leaves at `rescale` what they shrink by.
llvm::Function* emit_softmax(const HostModule& host, bool masked);
/// The fused softmax rounds probabilities to bf16 pairs as it finds them: where the product takes pairs and nothing is dropped
/// in between.
inline bool pairs_probabilities(const HostModule& host) {
  return host.shape.numbers == 2 && !host.spec.has_dropout;
}
/// With LogitsArgs: the softmax's first half, which leaves logits in base 2 in the place of scores (-inf where masked; raw scores
/// where logits are plain) and the rows' maxima so far.
llvm::Function* emit_logits(const HostModule& host, bool masked);
/// With ProbabilitiesArgs: the other half, by the rows' maxima over all keys; adds to their sums.
llvm::Function* emit_probabilities(const HostModule& host);
/// void(params, p, i32 b, i32 h, i32 first q, i32 first kv, i32 rows): drops and scales probabilities in
/// place.
llvm::Function* emit_dropout(const HostModule& host);
/// With FinishArgs: normalises, rounds and stores o and lse.
llvm::Function* emit_finish(const HostModule& host);

/// The maximum and sum of a row's softmax before its first key: none, or the sink.
std::pair<llvm::Value*, llvm::Value*> first_softmax(const HostModule& host, HostBuilder& build,
                                                    llvm::Value* params, llvm::Value* b, llvm::Value* h);

/// What the runtime finds tiles' classes by: kHostClassSymbol, kHostKeepsSymbol, the summaries; nothing
/// without a class.
void emit_classes(const HostModule& host, const TileClasses& classes);

/// Whether the logit in base 2 is the raw score times the call's scale_log2.
inline bool is_plain(const Logits& logits) { return !logits.general && !logits.multiplier; }
/// The logits in base 2 of a panel's raw scores (q . k) with the kv row `kv_idx`, where they are not plain.
Wide base2_logits(const HostModule& host, HostBuilder& build, HookInliner& hooks, const Wide& score,
                  llvm::Value* kv_idx);
/// The lanes of vector `part` that `keep` (of emit_mask) has of a kv row, as booleans.
llvm::Value* load_keep(HostBuilder& build, const HostModule& host, llvm::Value* keep, llvm::Value* row,
                       int part);

/// The query row of each lane of a panel, clamped to the last one.
Wide panel_rows(HostBuilder& build, const HostModule& host, llvm::Value* params, llvm::Value* first_q);

}  // namespace fa
