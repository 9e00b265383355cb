#include "runtime/host/walk.h"

namespace fa {

static_assert(kTilesPerWord == 32);  // a word is a span of the second level

SpanCounts span_counts(int tiles) {
  SpanCounts counts{};
  for (int& count : counts) {
    count = tiles;
    tiles = count_tiles(tiles, 32);
  }
  return counts;
}

TileWalk::TileWalk(const HostKernel& kernel, const ForwardParams& params, const HostTileMap& map, int b,
                   int h, int q_tile)
    : kernel_(kernel),
      params_(params),
      words_(kernel.info.has_tile_map != 0 ? map.row(b, h, q_tile) : nullptr),
      spans_(span_counts(count_tiles(params.call.kv_len, static_cast<int>(kernel.info.tile_kv)))),
      b_(b),
      h_(h),
      q_lo_(q_tile * static_cast<int>(kernel.info.tile_q)),
      q_hi_(std::min(q_lo_ + static_cast<int>(kernel.info.tile_q), params.call.q_len) - 1) {}

TileWalk::Class TileWalk::ask(int level, int span) const {
  if (kernel_.tile_class == nullptr) return kernel_.info.is_masked != 0 ? Class::partial : Class::full;
  const auto tile = static_cast<int>(kernel_.info.tile_kv);
  const int kv_lo = first_tile(level, span) * tile;
  const int kv_hi = std::min(first_tile(level, span + 1) * tile, params_.call.kv_len) - 1;
  return static_cast<Class>(kernel_.tile_class(&params_, nullptr, b_, h_, q_lo_, q_hi_, kv_lo, kv_hi));
}

int TileWalk::count() const {
  int tiles = 0;
  each([&](int, bool) { ++tiles; });
  return tiles;
}

}  // namespace fa
