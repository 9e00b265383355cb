#include "runtime/host/order.h"

#include <algorithm>

#include "compiler/spec/rounding.h"
#include "runtime/host/pool.h"
#include "runtime/host/size.h"

namespace fa {
namespace {

constexpr std::size_t kClassesAnItem = 4096;  // some 0.1 ms: enough to wake a thread for

}  // namespace

void HostOrder::prepare(const HostKernel& kernel, const ForwardParams& params, const HostTileMap& map,
                        int threads) {
  kernel_ = &kernel;
  params_ = &params;
  map_ = &map;
  q_tiles_ = ceil_div(to_size(params.call.q_len), kernel.info.tile_q);
  items_ = to_size(params.call.batch) * to_size(params.call.num_q_heads) * q_tiles_;
  const bool has_class = kernel.tile_class != nullptr || kernel.info.has_tile_map != 0;
  is_sorted_ = has_class && threads > 1 && items_ > to_size(threads);
  if (!is_sorted_) return;

  count_tiles(threads);
  order_.clear();
  for (std::size_t item = 0; item < items_; ++item) {
    const HostItem what = unsorted(item);
    const std::size_t head = (kernel.info.class_of_batch != 0 ? to_size(what.b) : 0) * counted_heads_ +
                             (kernel.info.class_of_head != 0 ? to_size(what.h) : 0);
    order_.push_back({.tiles = counts_[head * q_tiles_ + to_size(what.q_tile)], .item = item});
  }
  std::sort(order_.begin(), order_.end(), [](const Work& a, const Work& b) {
    return a.tiles != b.tiles ? a.tiles > b.tiles : a.item < b.item;
  });
}

HostItem HostOrder::at(std::size_t position) const {
  return unsorted(is_sorted_ ? order_[position].item : position);
}

HostItem HostOrder::unsorted(std::size_t item) const {
  const std::size_t head = item / q_tiles_;
  const std::size_t heads = to_size(params_->call.num_q_heads);
  return {.b = static_cast<int>(head / heads),
          .h = static_cast<int>(head % heads),
          .q_tile = static_cast<int>(q_tiles_ - 1 - item % q_tiles_)};
}

void HostOrder::count_tiles(int threads) {
  counted_heads_ = kernel_->info.class_of_head != 0 ? to_size(params_->call.num_q_heads) : 1;
  counts_.resize((kernel_->info.class_of_batch != 0 ? to_size(params_->call.batch) : 1) * counted_heads_ *
                 q_tiles_);
  counts_an_item_ =
      std::max<std::size_t>(1, kClassesAnItem / (to_size(params_->call.kv_len) / kernel_->info.tile_kv + 1));
  run_items(ceil_div(counts_.size(), counts_an_item_), threads, 0,
            [this](std::size_t position, void*) { count_some(position); });
}

void HostOrder::count_some(std::size_t position) {
  const std::size_t first = position * counts_an_item_;
  for (std::size_t i = first; i < std::min(first + counts_an_item_, counts_.size()); ++i) {
    const std::size_t head = i / q_tiles_;
    counts_[i] = TileWalk(*kernel_, *params_, *map_, static_cast<int>(head / counted_heads_),
                          static_cast<int>(head % counted_heads_), static_cast<int>(i % q_tiles_))
                     .count();
  }
}

}  // namespace fa
