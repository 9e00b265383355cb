#include <algorithm>

#include "compiler/spec/rounding.h"
#include "runtime/host/backward.h"
#include "runtime/host/size.h"

namespace fa {
namespace {

// Items enough for the cores of most machines, but none of so few rows that adding up its dK and dV, which it
// has for all keys, takes longer than a few per cent of its work.
constexpr int kItemsWanted = 32;
constexpr int kRowsOfAPart = 512;
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kMostSums = std::size_t{256}
                                  << 20;  // bytes of captured gradients' sums, by batch entry

}  // namespace

HostBackwardLayout::HostBackwardLayout(const HostBackwardKernel& kernel, const BackwardCall& call)
    : size_(call.params.forward.call) {
  q_tiles_ = ceil_div(size_.q_len, static_cast<int>(kernel.tiles.info.tile_q));
  kv_tiles_ = ceil_div(size_.kv_len, static_cast<int>(kernel.tiles.info.tile_kv));
  cut(std::int64_t{size_.batch} * size_.num_kv_heads);
  if (size_.batch > 1 && sums_bytes(kernel, call) > kMostSums) {
    takes_all_batches_ = true;
    cut(size_.num_kv_heads);
  }
  d_k_floats_ = to_size(size_.kv_len) * kernel.info.d_columns;
  d_v_floats_ = to_size(size_.kv_len) * kernel.info.dv_columns;

  const auto place = [&](std::size_t bytes) {
    const std::size_t at = bytes_;
    bytes_ += round_up(bytes, kAlignment);
    return at;
  };
  if (parts_ > 1)
    place(to_size(size_.batch) * to_size(size_.num_kv_heads) * to_size(parts_) * d_kv_floats() *
          sizeof(float));
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    if (call.gradients[i] == nullptr) continue;
    sums_[i] = find_sums(kernel.info.traits[i]);
    sums_[i].offset = place(sums_[i].copies * to_size(call.params.elements[i]) * sizeof(double));
  }
}

/// Into parts, where there are few heads.
void HostBackwardLayout::cut(std::int64_t heads) {
  const std::int64_t rows = std::int64_t{size_.group_size} * size_.q_len;
  const std::int64_t wanted = ceil_div(kItemsWanted, heads);
  const std::int64_t most = std::min(rows / kRowsOfAPart, std::int64_t{size_.group_size} * q_tiles_);
  parts_ = static_cast<int>(std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(most, 1)));
  items_ = to_size(heads) * to_size(parts_);
}

std::size_t HostBackwardLayout::sums_bytes(const HostBackwardKernel& kernel, const BackwardCall& call) const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < sums_.size(); ++i)
    if (call.gradients[i] != nullptr)
      bytes += find_sums(kernel.info.traits[i]).copies * to_size(call.params.elements[i]) * sizeof(double);
  return bytes;
}

HostBackwardLayout::Sums HostBackwardLayout::find_sums(std::uint32_t traits) const {
  const auto has = [&](HostGradientTraits trait) { return (traits & trait) != 0; };
  const bool by_batch = size_.batch == 1 || has(kGradientOfBatch);
  Sums sums;
  sums.of_batch = !by_batch && !takes_all_batches_;
  sums.of_head = size_.num_kv_heads > 1 && !has(kGradientOfHead);
  // Parts differ in rows, and in heads where a group has several.
  sums.of_part = parts_ > 1 && !(has(kGradientOfRow) && (size_.group_size == 1 || has(kGradientOfHead)));
  sums.is_stored = has(kGradientIsOnce) && by_batch && !sums.of_head && !sums.of_part &&
                   (size_.num_q_heads == 1 || has(kGradientOfHead));
  if (sums.is_stored) return sums;
  sums.copies = 1;
  if (sums.of_batch) sums.copies *= to_size(size_.batch);
  if (sums.of_head) sums.copies *= to_size(size_.num_kv_heads);
  if (sums.of_part) sums.copies *= to_size(parts_);
  return sums;
}

std::size_t HostBackwardLayout::copy_of(const Sums& sums, int b, int kv_head, int part) const {
  std::size_t copy = sums.of_batch ? to_size(b) : 0;
  if (sums.of_head) copy = copy * to_size(size_.num_kv_heads) + to_size(kv_head);
  if (sums.of_part) copy = copy * to_size(parts_) + to_size(part);
  return copy;
}

}  // namespace fa
