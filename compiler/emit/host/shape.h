// Every number the host kernel is built around: register blocking, panels and where each buffer lies in a
// thread's workspace. One sum, so that emission and the runtime cannot disagree.
#pragma once

#include <cstddef>
#include <string>

#include "compiler/emit/host/host.h"
#include "compiler/schedule/host/host_blocking.h"

namespace fa {

struct HostShape : HostBlocking {
  int tile_q = 0;
  int tile_kv = 0;
  int head_dim = 0;
  int head_dim_v = 0;
  // Products of pairs go by words: a float, or two bf16 that are neighbours along what is summed over. So a word of K and Q has
  // two columns, a word of P and V two kv rows.
  int numbers = 1;      // in a word
  int q_words = 0;      // in a row of Q or K
  int dv_vecs = 0;      // vectors across head_dim_v, the last one possibly ragged
  int dv_padded = 0;    // lanes * dv_vecs
  bool copy_k = false;  // K is converted into the workspace, tile by tile
  bool copy_v = false;  // V is converted, paired, or padded because head_dim_v is no multiple of `lanes`
  int o_columns = 0;    // numbers the accumulated output has for each query row

  // Products by AMX, of bf16: its tiles take 32 numbers of what is summed over, and make blocks of 32 x 32.
  int q_rows = 0;      // head_dim in whole tiles
  int kv_columns = 0;  // tile_kv in whole tiles

  // Byte offsets in the workspace, each 64-byte aligned.
  std::size_t q = 0;        // [panels][q_words][panel] words; none with tiles
  std::size_t o = 0;        // [panels][panel][dv_padded]; with tiles [panels][o_columns][panel]
  std::size_t o_rows = 0;   // [panels][panel][dv_padded] when a q tile ends; without tiles the same as o
  std::size_t row_max = 0;  // [panels][panel], base 2
  std::size_t row_sum = 0;  // [panels][panel]
  std::size_t rescale = 0;  // [panel]: what the accumulated output shrinks by; tiles read none
  std::size_t s = 0;        // [tile_kv + qk_rows][panel]: scores, then probabilities
  std::size_t keep = 0;     // [tile_kv][panel_vecs] words of kept lanes, 16 bits each
  std::size_t spans = 0;    // [panel_vecs] first and last + 1 of the kv rows a vector keeps some of, as i64
  std::size_t k = 0;        // [tile_kv][head_dim]
  std::size_t v = 0;        // [tile_kv / numbers][dv_padded] words
  // With tiles; p_pairs also with pairs.
  std::size_t q_pairs = 0;  // [panels][q_rows / 2][panel] pairs
  std::size_t k_tiles = 0;  // [kv_columns / 16][q_rows / 32] tiles of K, [16][32] bf16 each
  std::size_t v_tiles = 0;  // [kv_columns / 32][o_columns / 16] tiles of V^T, [16][32] bf16 each
  std::size_t p_pairs = 0;  // [kv_columns / 2][panel] pairs of probabilities that were floats in s
  std::size_t v_pairs = 0;  // [16][16] pairs on their way into V^T
  std::size_t bytes = 0;
};

HostShape host_shape(const CheckedSpec& spec, const Plan& plan, const HostCpu& cpu, HostProduct product);
/// Of the forward pass: the fastest product that the CPU has for the spec's dtype.
HostShape host_shape(const CheckedSpec& spec, const Plan& plan, const HostCpu& cpu);

/// How it multiplies, for people: "AMX tiles: bf16 times bf16, summed in f32; panels of 32 rows".
std::string describe_products(const HostShape& shape);

}  // namespace fa
