#include "runtime/cuda/launch_abi.h"

#include <fmt/format.h>

#include "templates/backward_params.h"
#include "templates/common/tiles/tile_map.h"
#include "templates/params.h"

namespace fa {
namespace {

/// Raise it where a field of ForwardParams or BackwardParams, a bit of a tile map or a field of a pass keeps its place and
/// changes its meaning.
constexpr int kVersion = 7;

template <class Params, class Field>
std::string at(const char* name, const Params& params, const Field& field) {
  const auto offset = reinterpret_cast<const char*>(&field) - reinterpret_cast<const char*>(&params);
  return fmt::format(" {}@{}", name, offset);
}

/// Names every field: one that is added or removed does not compile until it is named here.
std::string fields() {
  static const ForwardParams p = {};
  const auto& [q, k, v, o, lse, q_strides, k_strides, v_strides, o_strides, call, tile_map, head_shift,
               entry_shift] = p;
  const auto& [batch, num_q_heads, num_kv_heads, group_size, q_len, kv_len, scale, scale_log2, drop_threshold,
               keep_scale, seed, params, tensors] = call;
#define FA_AT(field) at(#field, p, field)
  return FA_AT(q) + FA_AT(k) + FA_AT(v) + FA_AT(o) + FA_AT(lse) + FA_AT(q_strides) + FA_AT(k_strides) +
         FA_AT(v_strides) + FA_AT(o_strides) + FA_AT(batch) + FA_AT(num_q_heads) + FA_AT(num_kv_heads) +
         FA_AT(group_size) + FA_AT(q_len) + FA_AT(kv_len) + FA_AT(scale) + FA_AT(scale_log2) +
         FA_AT(drop_threshold) + FA_AT(keep_scale) + FA_AT(seed) + FA_AT(params) + FA_AT(tensors) +
         FA_AT(tile_map) + FA_AT(head_shift) + FA_AT(entry_shift);
#undef FA_AT
}

std::string backward_fields() {
  static const BackwardParams p = {};
  const auto& [forward, d_o, d_lse, d_q, d_k, d_v, d_o_strides, d_q_strides, d_k_strides, d_v_strides,
               row_stats, d_q_sums, head_counts, gradients, exact_sums, elements] = p;
#define FA_AT(field) at(#field, p, field)
  return FA_AT(forward) + FA_AT(d_o) + FA_AT(d_lse) + FA_AT(d_q) + FA_AT(d_k) + FA_AT(d_v) +
         FA_AT(d_o_strides) + FA_AT(d_q_strides) + FA_AT(d_k_strides) + FA_AT(d_v_strides) +
         FA_AT(row_stats) + FA_AT(d_q_sums) + FA_AT(head_counts) + FA_AT(gradients) + FA_AT(exact_sums) +
         FA_AT(elements);
#undef FA_AT
}

}  // namespace

std::string launch_abi() {
  static const std::string text = fmt::format(
      "params {}, {} bytes:{}; tile map: rounds of {} tiles, at most {} rows; backward, {} bytes:{}; sums of "
      "{}",
      kVersion, sizeof(ForwardParams), fields(), kRoundTiles, kMostRoundRows, sizeof(BackwardParams),
      backward_fields(), sizeof(ExactSum));
  return text;
}

}  // namespace fa
