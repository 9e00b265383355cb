#include "runtime/host_walk.h"

#include <algorithm>
#include <limits>

namespace fa {
namespace {

int ceil_div(int a, int b) { return (a + b - 1) / b; }

int tile_of(const HostKernel& kernel, const SummaryShape& shape) {
  return static_cast<int>(shape.of_query ? kernel.info.tile_q : kernel.info.tile_kv);
}

int length_of(const ForwardParams& params, const SummaryShape& shape) {
  return shape.of_query ? params.q_len : params.kv_len;
}

/// Where a level begins in a row of pairs.
std::size_t level_offset(const SpanCounts& spans, int level) {
  std::size_t offset = 0;
  for (int below = 0; below < level; ++below)
    offset += static_cast<std::size_t>(spans[static_cast<std::size_t>(below)]);
  return offset;
}

}  // namespace

SpanCounts span_counts(int tiles) {
  SpanCounts counts{};
  for (int& count : counts) {
    count = tiles;
    tiles = ceil_div(tiles, 32);
  }
  return counts;
}

std::size_t HostSummaries::row_of(const SummaryShape& shape, int b, int h) const {
  const auto heads = static_cast<std::size_t>(shape.of_head ? params_->num_q_heads : 1);
  return static_cast<std::size_t>(shape.of_batch ? b : 0) * heads +
         static_cast<std::size_t>(shape.of_head ? h : 0);
}

void HostSummaries::prepare(const HostKernel& kernel, const ForwardParams& params) {
  kernel_ = &kernel;
  params_ = &params;
  items_ = 0;
  layouts_.clear();
  rows_.clear();
  std::size_t pairs = 0;
  for (const HostKernel::LoadedSummary& summary : kernel.summaries) {
    const SummaryShape& shape = summary.shape;
    Layout layout;
    layout.spans = span_counts(ceil_div(length_of(params, shape), tile_of(kernel, shape)));
    layout.row_pairs = level_offset(layout.spans, kWalkLevels);
    layout.rows = static_cast<std::size_t>(shape.of_batch ? params.batch : 1) *
                  static_cast<std::size_t>(shape.of_head ? params.num_q_heads : 1);
    layout.items_a_row = static_cast<std::size_t>(layout.spans.back());
    layout.first = pairs;
    pairs += layout.rows * layout.row_pairs;
    items_ += layout.rows * layout.items_a_row;
    layouts_.push_back(layout);
  }
  if (pairs > pairs_.size()) pairs_.resize(pairs);
  for (int b = 0; b < params.batch; ++b)
    for (int h = 0; h < params.num_q_heads; ++h)
      for (std::size_t j = 0; j < layouts_.size(); ++j)
        rows_.push_back(pairs_.data() + layouts_[j].first +
                        row_of(kernel.summaries[j].shape, b, h) * layouts_[j].row_pairs);
}

void HostSummaries::fill(std::size_t item) const {
  std::size_t j = 0;
  while (item >= layouts_[j].rows * layouts_[j].items_a_row)
    item -= layouts_[j].rows * layouts_[j].items_a_row, ++j;
  const Layout& layout = layouts_[j];
  const HostKernel::LoadedSummary& summary = kernel_->summaries[j];
  const std::size_t row = item / layout.items_a_row;
  const auto heads = static_cast<std::size_t>(summary.shape.of_head ? params_->num_q_heads : 1);
  const auto b = static_cast<std::int32_t>(row / heads);
  const auto h = static_cast<std::int32_t>(row % heads);
  const int tile = tile_of(*kernel_, summary.shape);
  const int length = length_of(*params_, summary.shape);
  SummaryPair* const pairs = pairs_.data() + layout.first + row * layout.row_pairs;

  // The item's spans of every level, from the tiles up.
  auto first = static_cast<int>(item % layout.items_a_row);
  int count = 1;
  std::array<int, kWalkLevels> begins{}, ends{};
  for (int level = kWalkLevels - 1; level >= 0; --level) {
    const auto at = static_cast<std::size_t>(level);
    begins[at] = first;
    ends[at] = std::min(first + count, layout.spans[at]);
    first *= 32, count *= 32;
  }
  for (int i = begins[0]; i < ends[0]; ++i)
    summary.fill(params_, b, h, i * tile, std::min((i + 1) * tile, length) - 1, pairs + i);
  for (int level = 1; level < kWalkLevels; ++level) {
    const SummaryPair* const below = pairs + level_offset(layout.spans, level - 1);
    SummaryPair* const made = pairs + level_offset(layout.spans, level);
    const auto at = static_cast<std::size_t>(level);
    for (int i = begins[at]; i < ends[at]; ++i) {
      made[i] = {std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min()};
      for (int inner = i * 32; inner < std::min((i + 1) * 32, layout.spans[at - 1]); ++inner)
        made[i] = {std::min(made[i].lo, below[inner].lo), std::max(made[i].hi, below[inner].hi)};
    }
  }
}

const SummaryPair* const* HostSummaries::rows(int b, int h) const {
  return rows_.data() + (static_cast<std::size_t>(b) * static_cast<std::size_t>(params_->num_q_heads) +
                         static_cast<std::size_t>(h)) *
                            layouts_.size();
}

TileWalk::TileWalk(const HostKernel& kernel, const ForwardParams& params, const HostSummaries& summaries,
                   int b, int h, int q_tile)
    : kernel_(kernel),
      params_(params),
      rows_(summaries.rows(b, h)),
      spans_(span_counts(ceil_div(params.kv_len, static_cast<int>(kernel.info.tile_kv)))),
      b_(b),
      h_(h),
      q_tile_(q_tile),
      q_lo_(q_tile * static_cast<int>(kernel.info.tile_q)),
      q_hi_(std::min(q_lo_ + static_cast<int>(kernel.info.tile_q), params.q_len) - 1) {}

TileWalk::Class TileWalk::ask(int level, int span) const {
  if (kernel_.tile_class == nullptr) return kernel_.info.is_masked != 0 ? Class::partial : Class::full;
  const auto tile = static_cast<int>(kernel_.info.tile_kv);
  const int kv_lo = first_tile(level, span) * tile;
  const int kv_hi = std::min(first_tile(level, span + 1) * tile, params_.kv_len) - 1;
  const auto index = static_cast<std::int64_t>(level_offset(spans_, level)) + span;
  return static_cast<Class>(
      kernel_.tile_class(&params_, rows_, b_, h_, q_lo_, q_hi_, kv_lo, kv_hi, q_tile_, index));
}

int TileWalk::count() const {
  int tiles = 0;
  each([&](int, bool) { ++tiles; });
  return tiles;
}

}  // namespace fa
