// AMX: eight tile registers of 16 rows by 64 bytes, and a product of tiles of bf16 that is added to a tile of
// floats (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, TDPBF16PS):
//
//   c[m][n] += sum over k of a[m][2k] b[k][2n] + a[m][2k + 1] b[k][2n + 1]        m, n, k < 16
//
// so A lies as its rows do, and B as pairs of neighbours along k. The functions here multiply blocks of 2 x 2
// tiles: amx.cpp has the products, amx_pack.cpp what brings their operands into the two forms.
#pragma once

#include "compiler/emit/host/builder.h"

namespace fa {

constexpr int kAcross = 32;  // numbers a tile takes of what is summed over, and a block is wide and high
constexpr int kTileRowBytes = 64;  // where K and V lie tile by tile, a row follows the one before

/// Shapes the tile registers, all as 16 rows of 64 bytes. Until `release_tiles` the thread's state is larger
/// by their 8 KiB.
void configure_tiles(HostBuilder& build);
void release_tiles(HostBuilder& build);

// A panel is as wide as a block, so what a mask keeps of it is a range of kv rows and nothing more.

/// void(q pairs of the panel, k tiles, i64 rows, s): S^T = K Q^T of `rows` kv rows, rounded up to whole tiles.
llvm::Function* emit_amx_qk(const HostModule& host);
/// Between configure_tiles and release_tiles: a product that nobody reads. AMX's unit falls asleep a thousand cycles after its
/// last one, and wakes as slowly.
void stay_awake(HostBuilder& build);

/// void(p pairs, v tiles, i64 rows, o of the panel): O^T += V^T P. P is 0 between `rows` and the end of the last tile.
llvm::Function* emit_amx_pv(const HostModule& host);

/// void(q's first row, i64 stride in bytes, i64 rows, q pairs): a tile's panels; rows past the end repeat the
/// last one.
llvm::Function* emit_amx_pack_q(const HostModule& host);
/// void(k's first row, i64 stride in bytes, i64 rows, k tiles): a copy, 0 past head_dim.
llvm::Function* emit_pack_k(const HostModule& host);
/// void(v's first row, i64 stride in bytes, i64 rows, v tiles, v pairs): V^T, 0 from `rows` to the end of
/// the last tile.
llvm::Function* emit_pack_v(const HostModule& host);
/// void(o, rows): [panels][o_columns][panel] to [panels][panel][dv_padded].
llvm::Function* emit_unpack_o(const HostModule& host);

}  // namespace fa
